"""What somebody does by hand to the files of a store, while a gateway runs or before one starts."""

import contextlib
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from delivery import push
from harness import APP, command
from instance import wait_ready
from storefiles import SETTINGS, Waiting, logged, refused_start


def start_another(instance, *words: str) -> str:
    """Starts a second gateway on the same settings, which must not serve; what it said."""
    ports = [word for door in ("provider", "channels", "device", "admin") for word in ("--set", f"{door}.port=0")]
    done = command("serve", "--config", instance.facts["config"], *ports, *words)
    assert done.returncode == 1 and not done.stdout, done
    return done.stderr


# Two gateways


@pytest.mark.sanitizer
def test_a_second_gateway_does_not_start_though_the_lock_was_deleted(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    database = instance.directory / "data" / "carillon.db"
    database.with_name("carillon.db-lock").unlink()
    for _ in range(2):
        assert f"{database}: another process uses it" in start_another(instance)
    push(instance, token, 1)
    instance.restart(crash=True)
    assert len(instance.admin.queue(token)) == 1


def test_a_second_gateway_does_not_start_on_another_name_of_the_store(fresh):
    instance = fresh()
    elsewhere = instance.directory / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "carillon.db").symlink_to(instance.directory / "data" / "carillon.db")
    assert "another process uses it" in start_another(instance, "--set", "store=sqlite:elsewhere/carillon.db")


# A store that is not there


def test_a_store_that_has_gone_is_not_begun_anew(fresh):
    waiting = Waiting(fresh(SETTINGS))
    assert set(waiting.push(5)) == {200}
    waiting.instance.kill()
    aside = waiting.data / "aside"
    waiting.file().rename(aside)
    said = refused_start(waiting.instance)
    assert f"{waiting.file()}: it is not there any more" in said and "carillon.db-lock" in said
    assert not waiting.file().exists()
    aside.rename(waiting.file())
    waiting.instance.start()
    waiting.check()


def test_an_empty_folder_is_told(fresh):
    instance = fresh()
    assert not any("a new store" in line for line in instance.standard_error)
    instance.stop()
    (instance.directory / "data").rename(instance.directory / "unmounted")
    (instance.directory / "data").mkdir(mode=0o700)
    instance.start()
    logged(instance, "a new store was begun")


# Files that are cut


@contextlib.contextmanager
def reader(waiting):
    """Reads the store as it is now, so that what comes is in the log alone."""
    with contextlib.closing(sqlite3.connect(f"file:{waiting.file()}?mode=ro", uri=True)) as database:
        database.execute("begin")
        database.execute("select count(*) from pushes").fetchall()
        yield


@pytest.mark.sanitizer
@pytest.mark.parametrize("left", [0, 0.5], ids=["all", "half"])
@pytest.mark.parametrize("suffix", ["", "-wal"], ids=["database", "log"])
def test_a_store_that_is_cut_while_it_runs_takes_nothing_more(fresh, suffix, left):
    waiting = Waiting(fresh(SETTINGS))
    instance = waiting.instance
    # What was there before is in the database.
    instance.restart()
    with reader(waiting):
        for _ in range(6):
            assert waiting.push() == [200]
        os.truncate(waiting.file(suffix), int(waiting.file(suffix).stat().st_size * left))
    assert wait_ready(instance, ready=False) == ["store"]
    line = logged(instance, "store cannot write")
    assert f"{waiting.file(suffix)}: it has become shorter" in line and "restore a backup" in line
    assert waiting.push() == [503]
    if suffix == "-wal":
        # What is left of the log is one moment of the store.
        instance.restart()
        held = waiting.held()
        assert held == list(range(len(held))) and waiting.deliver() == held


def test_a_log_that_another_program_has_copied_into_the_database_is_whole(fresh):
    waiting = Waiting(fresh(SETTINGS))
    for _ in range(3):
        assert set(waiting.push(3)) == {200}
        with contextlib.closing(sqlite3.connect(waiting.file())) as database:
            assert database.execute("pragma wal_checkpoint(truncate)").fetchone()[0] == 0
        assert waiting.push() == [200]
    assert not any("store cannot write" in line for line in waiting.instance.standard_error)
    waiting.instance.restart(crash=True)
    waiting.check()


@pytest.mark.parametrize("statements", [
    ["pragma wal_checkpoint(truncate)"] * 2, ["pragma wal_checkpoint(truncate)", "vacuum"],
    ["pragma wal_checkpoint(truncate)", "begin", "select count(*) from pushes"],
], ids=["checkpoints", "vacuum", "reader"])  # fmt: skip
def test_another_program_at_work_on_the_store_costs_no_push(fresh, statements):
    waiting = Waiting(fresh(SETTINGS))
    working = threading.Event()

    def work():
        while not working.is_set():
            with contextlib.closing(sqlite3.connect(waiting.file(), isolation_level=None, timeout=1)) as database:
                for statement in statements:
                    with contextlib.suppress(sqlite3.OperationalError):
                        database.execute(statement).fetchall()
                time.sleep(0.02)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        for _ in range(60):
            assert set(waiting.push(5)) == {200}
        working.set()
        done.result()
    assert not any("store cannot write" in line for line in waiting.instance.standard_error)


# What is no file


@pytest.mark.parametrize("name", ["carillon.db", "deliveries.db"])
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_named_with_the_way_out(fresh, name, kind):
    instance = fresh({"log.deliveries": "all"})
    instance.stop()
    path = instance.directory / "data" / name
    path.rename(path.with_name("aside"))
    path.mkdir(mode=0o700) if kind == "folder" else os.mkfifo(path, mode=0o600)
    said = refused_start(instance)
    assert str(path) in said and kind in said and "move it away" in said, said
    path.rmdir() if kind == "folder" else path.unlink()
    path.with_name("aside").rename(path)
    instance.start()
