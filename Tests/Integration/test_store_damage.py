"""A store that is not what it was: files that are damaged, replaced, deleted, or another program's."""

import contextlib
import os
import random
import shutil
import sqlite3
import struct
import subprocess

import pytest

from delivery import push, received
from harness import APP, TEAM
from instance import REPOSITORY, wait_ready
from storefiles import SETTINGS, Waiting, logged, number_of, refused_start

PAGE = 4096
RECOVER = "restore a backup"


@pytest.fixture
def waiting(fresh):
    """Thirty pushes in a database without a log, and a gateway that is stopped."""
    waiting = Waiting(fresh(SETTINGS))
    for size in (0, 1000, 4000):
        assert set(waiting.push(10, size)) == {200}
    waiting.instance.stop()
    assert not waiting.file("-wal").exists()
    return waiting


@pytest.fixture
def crashed(fresh):
    """The same, but all that was ever committed is in the log."""
    waiting = Waiting(fresh(SETTINGS))
    for size in (0, 1000, 4000):
        assert set(waiting.push(10, size)) == {200}
    waiting.save()
    return waiting


def sql(waiting, *statements: str) -> list:
    """Runs statements in the database, and closes it; the rows of the last."""
    with contextlib.closing(sqlite3.connect(waiting.file())) as database:
        rows = []
        for statement in statements:
            rows = database.execute(statement).fetchall()
        database.commit()
    return rows


def overwrite(waiting, at: int, data: bytes, suffix: str = "") -> None:
    with waiting.file(suffix).open("r+b") as file:
        file.seek(at)
        file.write(data)


def first_page_of(waiting, table: str) -> int:
    return sql(waiting, f"select rootpage from sqlite_schema where name = '{table}'")[0][0]


# A start is refused


def noise(count: int) -> bytes:
    return random.Random(1).randbytes(count)


def break_header(waiting) -> None:
    overwrite(waiting, 0, noise(100))


def break_root_page(waiting) -> None:
    overwrite(waiting, (first_page_of(waiting, "pushes") - 1) * PAGE, noise(200))


def break_leaf_page(waiting) -> None:
    (page,) = sql(waiting, "select pageno from dbstat where name = 'pushes' and pagetype = 'leaf' limit 1")[0]
    overwrite(waiting, (page - 1) * PAGE, noise(200))


def break_schema(waiting) -> None:
    overwrite(waiting, 100, noise(PAGE - 100))


def cut_short(waiting) -> None:
    os.truncate(waiting.file(), waiting.file().stat().st_size // 2 // PAGE * PAGE)


def cut_in_a_page(waiting) -> None:
    os.truncate(waiting.file(), 3 * PAGE + 1000)


def cut_to_nothing_but_a_header(waiting) -> None:
    os.truncate(waiting.file(), 50)


def write_text(waiting) -> None:
    waiting.file().write_text("This is not a database, it is a note to myself.\n" * 200)


DAMAGES = [
    break_header, break_root_page, break_leaf_page, break_schema, cut_short, cut_in_a_page,
    cut_to_nothing_but_a_header, write_text,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.replace("_", " "))
def test_a_damaged_database_is_refused_by_name_with_the_way_out(waiting, damage):
    damage(waiting)
    before = waiting.file().read_bytes()
    said = refused_start(waiting.instance)
    assert str(waiting.file()) in said and ".dump" in said and RECOVER in said
    assert waiting.file().read_bytes() == before, "what may still be saved was changed"


def test_a_database_of_another_program_is_refused_and_not_touched(waiting):
    waiting.file().unlink()
    sql(waiting, "create table theirs(a)", "insert into theirs values (1)")
    waiting.file().chmod(0o600)
    before = waiting.file().read_bytes()
    said = refused_start(waiting.instance)
    assert str(waiting.file()) in said and "not the database that was expected" in said
    assert waiting.file().read_bytes() == before


def test_a_database_of_a_newer_version_is_refused_and_not_touched(waiting):
    sql(waiting, "pragma user_version = 99")
    before = waiting.file().read_bytes()
    said = refused_start(waiting.instance)
    assert str(waiting.file()) in said and "version 99" in said
    assert waiting.file().read_bytes() == before


def test_rows_that_make_no_sense_are_refused(waiting):
    sql(waiting, "update pushes set priority = 77 where number = (select max(number) from pushes)")
    said = refused_start(waiting.instance)
    assert str(waiting.file()) in said and "of pushes" in said and "makes no sense" in said


def test_an_empty_file_where_the_store_was_begins_a_new_one(waiting):
    """It is what a start makes that is killed before its first write, so it cannot be refused."""
    waiting.file().write_bytes(b"")
    waiting.instance.facts["teams"] = {}
    waiting.instance.start()
    assert waiting.instance.admin.registration(waiting.token) is None


# The write-ahead log


def test_a_log_without_its_end_loses_nothing_but_that(crashed):
    """A power cut leaves it so: of what was never synced, any part is there."""
    with crashed.file("-wal").open("ab") as file:
        file.write(noise(3 * PAGE))
    crashed.instance.start()
    crashed.check()


@pytest.mark.parametrize("what", ["header", "text", "middle"])
def test_a_log_that_was_damaged_is_refused(crashed, what):
    """SQLite takes it for the log's end, and all pushes behind it would be gone without a word."""
    size = crashed.file("-wal").stat().st_size
    if what == "header":
        overwrite(crashed, 0, noise(32), "-wal")
    elif what == "text":
        crashed.file("-wal").write_text("not a log\n" * (size // 10))
    else:
        overwrite(crashed, 32 + (24 + PAGE) * 6 + 100, noise(200), "-wal")
    before = crashed.file("-wal").read_bytes()
    said = refused_start(crashed.instance)
    assert f"{crashed.file()}-wal" in said and RECOVER in said
    assert crashed.file("-wal").read_bytes() == before


# The ways out


def commands_of(title: str) -> str:
    """The commands that docs/operations.md gives under this title."""
    text = (REPOSITORY / "docs" / "operations.md").read_text()
    section = text.split(f"### {title}", 1)[1].split("\n### ", 1)[0]
    return section.split("```\n", 2)[1]


def test_what_can_be_read_is_saved_by_the_commands_of_the_manual(waiting):
    if not shutil.which("sqlite3"):
        pytest.skip("no sqlite3 to read a damaged store with")
    break_leaf_page(waiting)
    refused_start(waiting.instance)
    subprocess.run(["bash", "-ec", commands_of("A damaged store")], check=True, cwd=waiting.data)
    waiting.instance.start()
    held = waiting.held()
    assert held and set(held) <= waiting.accepted
    assert waiting.deliver() == held
    assert waiting.push() == [200]


# Damage that shows while it runs


@pytest.mark.sanitizer
def test_a_damaged_page_harms_only_what_lies_on_it(waiting):
    """Long payloads are on pages of their own, which nothing reads before they are sent."""
    data = waiting.file().read_bytes()
    # The part of a long row that is in its leaf ends with the number of the page that goes on.
    pointer = data.index(b"\0", data.index(b'{"n":25,"x":"x'))
    overwrite(waiting, pointer, struct.pack(">I", 0x00FFFFFF))
    instance = waiting.instance
    instance.start()
    courier, _ = instance.online(APP, identity=waiting.identity)
    with courier:
        arrived = []
        while len(arrived) < len(waiting.accepted) - 1:
            arrived.append(number_of(courier.expect_notify()))
        courier.expect_nothing(0.2)
    assert arrived == sorted(waiting.accepted - {25})
    logged(instance, "the store has lost a push")
    assert instance.admin.metric("store_lost_pushes_total") == 1
    assert instance.admin.metric("notifications_discarded_total", cause="undeliverable") == 1
    assert waiting.push() == [200]
    wait_ready(instance)


@pytest.mark.sanitizer
@pytest.mark.parametrize("what", ["database", "log", "replaced", "folder"])
def test_a_store_that_is_deleted_while_it_runs_takes_nothing_more(fresh, what):
    """F13: what is written to a file without a name is gone with the process."""
    waiting = Waiting(fresh(SETTINGS))
    instance = waiting.instance
    assert set(waiting.push(5)) == {200}
    aside = instance.directory / "aside"
    files = {"database": waiting.file(), "log": waiting.file("-wal"), "replaced": waiting.file()}
    moved = files.get(what, waiting.data)
    moved.rename(aside)
    if what == "replaced":
        shutil.copyfile(aside, moved)
    assert wait_ready(instance, ready=False) == ["store"]
    assert waiting.push(3) == [503] * 3
    line = logged(instance, "store cannot write")
    assert str(waiting.file()) in line and "do not stop carillon" in line
    assert instance.admin.metric("store_failing") == 1
    # The way back: the same file in its place.
    if what == "replaced":
        moved.unlink()
    aside.rename(moved)
    wait_ready(instance)
    assert waiting.push(3) == [200] * 3
    instance.restart(crash=True)
    waiting.check()


def test_what_was_refused_while_the_store_was_away_does_not_come_back_with_it(fresh):
    """Nor does it take the place of what it would have replaced, which was promised."""
    instance = fresh(SETTINGS)
    identity, (token,) = instance.offline(APP)
    push(instance, token, 1, collapse="score")
    instance.admin.make_key(TEAM)
    keys = len(instance.admin.get("/v1/keys")["items"])
    data, aside = instance.directory / "data", instance.directory / "aside"
    data.rename(aside)
    assert instance.push(token, {"apns-collapse-id": "score"}, b'{"n":2}').status == 503
    wait_ready(instance, ready=False)
    assert instance.push(token, {"apns-collapse-id": "score"}, b'{"n":3}').status == 503
    assert instance.admin.request("POST", "/v1/keys", {"team": TEAM, "environment": "all", "topics": []})[0] == 503
    aside.rename(data)
    wait_ready(instance)
    for crash in (False, True):
        instance.restart(crash=crash)
        assert len(instance.admin.get("/v1/keys")["items"]) == keys
        assert len(instance.admin.queue(token)) == 1
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        assert received(courier, 1) == [1]


def test_a_store_that_was_deleted_is_saved_from_the_process(fresh):
    """The other way, of docs/operations.md: copy what the process has open, and start with that."""
    waiting = Waiting(fresh(SETTINGS))
    instance = waiting.instance
    assert set(waiting.push(5)) == {200}
    for suffix in ("", "-wal", "-shm"):
        waiting.file(suffix).unlink()
    assert wait_ready(instance, ready=False) == ["store"]
    commands = commands_of("A deleted store").replace("$(pidof carillon)", str(instance.process.pid))
    subprocess.run(["bash", "-ec", commands], check=True, cwd=instance.directory)
    instance.restart(crash=True)
    waiting.check()
    assert waiting.push() == [200]


# The delivery log, which is not the queue


@pytest.mark.sanitizer
@pytest.mark.parametrize("how", ["text", "header", "foreign", "newer"])
def test_a_damaged_delivery_log_is_put_aside_and_the_gateway_starts(fresh, how):
    """F14."""
    instance = fresh({"log.deliveries": "all"})
    _, (token,) = instance.offline(APP)
    push(instance, token, 1)
    instance.stop()
    log = instance.directory / "data" / "deliveries.db"
    if how == "text":
        log.write_text("not a database\n" * 1000)
    elif how == "header":
        log.write_bytes(noise(200) + log.read_bytes()[200:])
    elif how == "newer":
        with contextlib.closing(sqlite3.connect(log)) as database:
            database.execute("pragma user_version = 99")
    else:
        log.unlink()
        with contextlib.closing(sqlite3.connect(log)) as database:
            database.execute("create table theirs(a)")
            database.commit()
        log.chmod(0o600)
    damaged = log.read_bytes()
    instance.start()
    assert "deliveries.db.damaged" in logged(instance, "the delivery log was put aside")
    assert instance.admin.metric("delivery_log_put_aside_total") == 1
    assert log.with_name("deliveries.db.damaged").read_bytes() == damaged
    assert len(instance.admin.queue(token)) == 1
    answer = push(instance, token, 2)
    instance.admin.wait_for_state(answer.apns_id, "stored-offline")
    instance.restart()
    assert instance.admin.notification(answer.apns_id)


def test_a_delivery_log_that_is_damaged_while_it_runs_is_put_aside(fresh):
    instance = fresh({"log.deliveries": "all"})
    _, (token,) = instance.offline(APP)
    with instance.client() as client:
        for _ in range(100):
            instance.push_on(client, token)
    instance.restart()
    log = instance.directory / "data" / "deliveries.db"
    with contextlib.closing(sqlite3.connect(log)) as database:
        root = database.execute("select rootpage from sqlite_schema where name = 'deliveries'").fetchone()[0]
        leaf = "select pageno from dbstat where name = 'deliveries' and pagetype = 'leaf'"
        pages = [root] + [row[0] for row in database.execute(leaf)]
    instance.stop()
    with log.open("r+b") as file:
        for page in pages[1:]:
            file.seek((page - 1) * PAGE)
            file.write(noise(PAGE))
    instance.start()
    instance.admin.request("GET", "/v1/notifications")
    logged(instance, "the delivery log was put aside")
    answer = push(instance, token, 2)
    instance.admin.wait_for_state(answer.apns_id, "stored-offline")
    assert instance.admin.metric("delivery_log_put_aside_total") == 1
