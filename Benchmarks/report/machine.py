"""Where it was measured, and with which versions."""

import os
import platform
import subprocess
from pathlib import Path

from bench import PEERS

PEER_NAMES = {"nghttpd": "nghttpd", "mosquitto": "mosquitto", "NATS": "nats", "nchan": "nchan"}
LIBRARIES = {"OpenSSL": "libssl3", "nghttp2": "libnghttp2-14", "SQLite": "libsqlite3-0", "jemalloc": "libjemalloc2"}


def describe(carillon: Path) -> dict[str, str]:
    """What a reader needs to judge the numbers; nothing that names the machine."""
    found = {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory_gigabytes():.0f} GB",
        "system": f"{distribution()}, Linux {platform.release().split('-')[0]}",
        "Carillon": said([str(carillon), "version"]),
        "compiler": said(["swift", "--version"]).split(" (")[0],
    }
    for name, package in LIBRARIES.items():
        found[name] = said(["dpkg-query", "-W", "-f", "${Version}", package])
    for name, peer in PEER_NAMES.items():
        found[name] = said([str(PEERS), "version", peer])
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


def said(command: list[str]) -> str:
    """What a program says of itself; a program that is not there is not a reason to fail."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        return "not installed"
    lines = done.stdout.strip().splitlines()
    return ", ".join(lines) if lines and done.returncode == 0 else "not installed"
