"""A disk that is full, and one that may only be read: real ones, on a file system of the test's own."""

import contextlib
import pathlib
import subprocess
import time

import pytest

from delivery import live, number
from harness import APP, OTHER_APP
from instance import wait_ready
from ledger import Ledger
from load import Load
from storefiles import SETTINGS, Waiting, logged, refused_start

#: How long the disk is full under load.
FULL_SECONDS = 30


@contextlib.contextmanager
def small_disk(folder: pathlib.Path, size: str):
    """A file system in memory; skips where nobody may mount one."""
    folder.mkdir(mode=0o700)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "carillon-test", folder], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount a file system: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "24m") as folder:
        yield folder


def settings_on(disk: pathlib.Path, **more: str) -> dict[str, str]:
    return SETTINGS | {"store": f"sqlite:{disk}/carillon.db"} | more


def fill(disk: pathlib.Path) -> pathlib.Path:
    """A file that takes all the room there is."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    filler.chmod(0o600)
    return filler


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_a_disk_that_is_full_for_half_a_minute_loses_nothing(fresh, disk):
    """Under load: 503 for what needs storing, sessions stay, and it goes on by itself."""
    instance = fresh(settings_on(disk, **{"delivery.backlog": "100000", "threads": "2"}))
    ledger = Ledger()
    load = Load(instance, ledger, devices=12, topics=(APP, OTHER_APP), seed=7)
    for device in load.devices[::2]:
        load.come(device)
    staying, (token,) = live(instance)
    load.run(2)
    filler = fill(disk)
    begin = time.monotonic()
    assert wait_for_503(load, instance) == ["store"]
    while time.monotonic() < begin + FULL_SECONDS:
        load.run(1)
        push_to_live(instance, staying, token)
    refused = ledger.counts["answered 503"]
    filler.unlink()
    wait_ready(instance)
    load.run(2)
    push_to_live(instance, staying, token)
    assert ledger.counts["answered 503"] - refused < 500, "it goes on refusing"
    staying.close()
    load.settle()
    load.collect()
    print(ledger.summary(instance.now()))
    assert refused > 20
    assert set(ledger.counts) & {"answered 500", "answered 400"} == set()
    ledger.check(instance.now())
    load.close()
    assert "store writes again" in logged(instance, "store writes again")


def wait_for_503(load: Load, instance) -> list[str]:
    """Loads on until the gateway says that it is not ready."""
    for _ in range(200):
        load.run(0.1)
        status, body = instance.admin.request("GET", "/readyz", token=None)
        if status == 503:
            return body["reasons"]
    raise AssertionError("the disk is full, and the gateway is ready")


def push_to_live(instance, courier, token: str) -> None:
    """A session that stays gets its pushes, and its acknowledgement is all the durability they need."""
    with instance.client() as client:
        stream = client.start(instance.headers(token), b'{"n":1}')
        assert number(courier.expect_notify()) == 1
        client.wait(stream)
    assert stream.status == 200


@pytest.mark.sanitizer
def test_a_disk_that_is_full_refuses_and_takes_again(fresh, disk):
    """The same, short."""
    waiting = Waiting(fresh(settings_on(disk)))
    instance = waiting.instance
    assert set(waiting.push(5)) == {200}
    for _ in range(2):
        filler = fill(disk)
        while 503 not in waiting.push(20, 4000):
            pass
        assert wait_ready(instance, ready=False) == ["store"]
        assert "disk is full" in logged(instance, "store cannot write")
        filler.unlink()
        wait_ready(instance)
        assert waiting.push() == [200]
        instance.standard_error.clear()
    instance.restart(crash=True)
    waiting.check()


def test_a_start_on_a_full_disk_says_so(fresh, disk):
    waiting = Waiting(fresh(settings_on(disk)))
    assert set(waiting.push(5)) == {200}
    waiting.instance.kill()
    (disk / "carillon.db-shm").unlink()
    filler = fill(disk)
    said = refused_start(waiting.instance)
    assert str(disk) in said and "free disk space, then start again" in said and "by itself" not in said
    filler.unlink()
    waiting.instance.start()
    waiting.check()


@pytest.mark.parametrize("stopped", ["stopped", "crashed"])
def test_a_start_on_a_disk_that_may_only_be_read_says_so(fresh, disk, stopped):
    waiting = Waiting(fresh(settings_on(disk)))
    assert set(waiting.push(5)) == {200}
    waiting.instance.stop() if stopped == "stopped" else waiting.instance.kill()
    remount(disk, "ro")
    said = refused_start(waiting.instance)
    assert f"{disk}/carillon.db" in said and "Read-only file system" in said and "writable" in said
    remount(disk, "rw")
    waiting.instance.start()
    waiting.check()


def remount(disk: pathlib.Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)
