"""A disk that fails when a test says so: the control block of faults.c, which is loaded into the gateway."""

import errno
import mmap
import pathlib
import shutil
import struct
import subprocess

import pytest

#: Kinds of calls.
WRITE, SYNC, TRUNCATE, NAME, READ = 1, 2, 4, 8, 16
CHANGES = WRITE | SYNC | TRUNCATE | NAME
#: What a kill does to what was written and not synced: nothing, as `kill -9` does; or it is lost, all or every other.
STAYS, ALL_IS_LOST, HALF_IS_LOST = 0, 1, 2
FIELDS = ("calls", "kill_at", "fail_from", "fail_count", "error", "kinds", "power", "torn", "lie")
PATH_BYTES = 192


class Faults:
    """Files whose path contains `path` obey it. Its fields are those of the control block."""

    def __init__(self, folder: pathlib.Path, path: str = "carillon.db"):
        compiler = shutil.which("cc") or shutil.which("clang")
        if not compiler:
            pytest.skip("no C compiler to build the failing disk with")
        library = folder / "faults.so"
        if not library.exists():
            source = pathlib.Path(__file__).with_name("faults.c")
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source], check=True)
        control = folder / "faults.control"
        control.write_bytes(bytes(8 * len(FIELDS)) + path.encode().ljust(PATH_BYTES, b"\0"))
        with control.open("r+b") as file:
            self._block = mmap.mmap(file.fileno(), 0)
        #: What the gateway has to be started with.
        self.variables = {"LD_PRELOAD": str(library), "FAULTS_CONTROL": str(control)}
        self.set(kinds=CHANGES)

    def set(self, **fields: int) -> None:
        """Changes fields of the block; the gateway sees it at its next call."""
        for name, value in fields.items():
            struct.pack_into("q", self._block, 8 * FIELDS.index(name), value)

    @property
    def calls(self) -> int:
        """How many calls there have been since it was last set."""
        return struct.unpack_from("q", self._block, 0)[0]

    def kill_at(self, call: int, power: int = STAYS, torn: bool = False, kinds: int = CHANGES) -> None:
        """The process dies instead of its n-th call from now on."""
        self.set(calls=0, error=0, kill_at=call, power=power, torn=int(torn), kinds=kinds)

    def fail(self, kinds: int, first: int = 1, count: int = -1, error: int = errno.EIO) -> None:
        """So many calls fail, from the n-th from now on; a negative count: all."""
        self.set(calls=0, kill_at=0, fail_from=first, fail_count=count, error=error, kinds=kinds)

    def end(self) -> None:
        """The disk works again; calls are counted."""
        self.set(calls=0, kill_at=0, error=0, torn=0, lie=0, kinds=CHANGES)
