"""Instructions and allocations, counted by valgrind's callgrind."""

import os
import re
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ALLOCATORS = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign"}
PATIENCE_SECONDS = 20
NAME = re.compile(r"\((\d+)\)(?: (.*))?")


class Unheard(Exception):
    """Now and then, once in some hundred times, valgrind does not hear a command, and hears no other after it. The
    gateway is lost then, and what was to be counted is counted again with another."""


@dataclass
class Profile:
    """What ran between two moments."""

    instructions: int = 0
    #: Calls of the allocator by the library that made them.
    allocations: Counter = field(default_factory=Counter)

    def __sub__(self, other: "Profile") -> "Profile":
        allocations = Counter(self.allocations)
        allocations.subtract(other.allocations)
        return Profile(self.instructions - other.instructions, allocations)


class Callgrind:
    """A gateway's launcher, and what it counted."""

    def __init__(self, folder: Path):
        self.file = folder / "callgrind.out"
        self.dumps = 0

    @property
    def launcher(self) -> list[str]:
        return ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={self.file}"]

    def start(self, pid: int) -> None:
        """Counts from here on; before, the program runs several times faster."""
        self._control("-i", "on", str(pid))

    def profile(self, pid: int, work) -> Profile:
        """What happens during `work()`."""
        self._control("-z", str(pid))
        work()
        self._control("-d", str(pid))
        self.dumps += 1
        return parse(Path(f"{self.file}.{self.dumps}"))

    @staticmethod
    def _control(*arguments: str) -> None:
        """Tells the program's valgrind to do something."""
        teller = subprocess.Popen(
            ["callgrind_control", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = teller.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            # The program that it started, and that holds the gateway, goes too.
            os.killpg(teller.pid, signal.SIGKILL)
            teller.wait()
            raise Unheard(" ".join(arguments)) from None
        if status != 0:
            raise RuntimeError(f"callgrind_control {' '.join(arguments)} failed: has the gateway ended?")


def parse(path: Path) -> Profile:
    """Reads a dump: the format is described in valgrind's manual, "Callgrind Format Specification"."""
    profile = Profile()
    names: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}
    current = {"ob": "", "fn": ""}
    callee = {"ob": "", "fn": ""}
    for line in path.open():
        key, _, value = line.rstrip("\n").partition("=")
        match key:
            case "ob" | "fn":
                current[key] = resolve(names[key], value)
                callee["ob"] = current["ob"]
            case "cob" | "cfn":
                callee[key[1:]] = resolve(names[key[1:]], value)
            case "calls":
                if callee["fn"] in ALLOCATORS and current["fn"] not in ALLOCATORS and "malloc" not in current["ob"]:
                    profile.allocations[Path(current["ob"]).name.split(".so")[0]] += int(value.split()[0])
                callee["ob"] = current["ob"]
            case _ if line.startswith("totals:"):
                profile.instructions += int(line.split()[1])
    return profile


def resolve(known: dict[str, str], value: str) -> str:
    """Names are written once, as `(7) name`, and later as `(7)`."""
    number, name = NAME.fullmatch(value).groups()
    if name is not None:
        known[number] = name
    return known[number]
