"""Where it was measured, and with which versions."""

import os
import platform
import subprocess
from pathlib import Path

from bench import PEERS

PEER_NAMES = ["nghttpd", "mosquitto", "nats", "nchan"]
LIBRARIES = {"OpenSSL": "libssl3", "nghttp2": "libnghttp2-14", "SQLite": "libsqlite3-0", "jemalloc": "libjemalloc2"}


def describe(carillon: Path) -> dict[str, str]:
    """What a reader needs to judge the numbers; nothing that names the machine."""
    found = {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory_gigabytes():.0f} GB",
        "system": f"{distribution()}, Linux {platform.release().split('-')[0]}",
        "Carillon": first_line([str(carillon), "version"]),
    }
    for name, package in LIBRARIES.items():
        found[name] = first_line(["dpkg-query", "-W", "-f", "${Version}", package])
    for name in PEER_NAMES:
        found[name] = first_line([str(PEERS), "version", name])
    return found


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_gigabytes() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3


def distribution() -> str:
    return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")


def first_line(command: list[str]) -> str:
    """What a program says of itself; a program that is not there is not a reason to fail."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        return "not installed"
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines and done.returncode == 0 else "not installed"
