"""`carillon backup` of a gateway at work, `carillon restore` elsewhere, and the store's versions."""

import contextlib
import hashlib
import io
import json
import pathlib
import shutil
import sqlite3
import tarfile
import threading
import time

import pytest

from delivery import leave, live, number, push, received
from harness import APP, OTHER_APP, Sandbox, command
from test_command_line import assert_refused, serve


def backup(instance, *words: str, status: int = 0):
    """Makes a backup beside the instance; its path and the command's JSON."""
    path = instance.directory.parent / "backup.tar"
    url = f"http://127.0.0.1:{instance.admin_port}"
    done = command("backup", str(path), "--config", instance.facts["config"], "--admin", url, "--json", *words)
    assert done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}"
    return path, json.loads(done.stdout if status == 0 else done.stderr)


def restore(path: pathlib.Path, directory: pathlib.Path):
    return command("restore", str(path), "--directory", str(directory), "--json")


def move_to(instance: Sandbox, directory: pathlib.Path) -> None:
    """The same facts, another directory: its next start is that of the restored instance."""
    shutil.rmtree(instance.directory)
    directory.rename(instance.directory)


def rewrite(path: pathlib.Path, change, twice: str = "") -> None:
    """Unpacks a backup, lets `change` do something to its files, and packs it again with good sums, one file twice."""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}
    files.pop("SHA256SUMS")
    change(files)
    packed = list(files.items()) + ([(twice, files[twice])] if twice else [])
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in packed)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in [*packed, ("SHA256SUMS", sums.encode())]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


# Backup and restore


@pytest.mark.sanitizer
def test_what_waited_at_the_backup_waits_after_the_restore(fresh):
    instance = fresh()
    identity, (token, other) = instance.offline(APP, OTHER_APP)
    for n in (1, 2, 3):
        push(instance, token, n)
    push(instance, token, 4, priority=5)
    path, made = backup(instance)
    assert made["file"] == str(path) and made["pushes"] == 4 and made["devices"] == 1 and made["left"] == []
    assert made["bytes"] == path.stat().st_size and path.stat().st_mode & 0o777 == 0o600
    # Delivered since: it comes again. Accepted since: it is gone.
    courier, _ = live(instance, APP, identity=identity)
    assert received(courier, 4) == [1, 2, 3, 4]
    leave(instance, courier)
    push(instance, token, 5)
    instance.stop()

    again = instance.directory.parent / "again"
    done = restore(path, again)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pushes"] == 4
    move_to(instance, again)
    instance.start()
    courier, tokens = live(instance, APP, identity=identity)
    assert tokens == [token]
    messages = [courier.expect_notify() for _ in range(4)]
    assert [number(message) for message in messages] == [1, 2, 3, 4]
    push(instance, token, 6)
    assert received(courier, 1) == [6]
    assert instance.push(other, {"apns-topic": OTHER_APP}).status == 200
    for name, mode in (("pki", 0o700), ("data/carillon.db", 0o600), ("pki/ca.key", 0o600), ("admin.token", 0o600)):
        assert (instance.directory / name).stat().st_mode & 0o777 == mode, name


def test_a_backup_under_load_is_one_moment(fresh):
    """Pushes are accepted one after the other meanwhile: what is in the backup are the first so many, none missing."""
    instance = fresh({"queue.limit": "100000"})
    identity, (token,) = instance.offline(APP)
    body = b'{"n":%d,"x":"' + b"x" * 2000 + b'"}'
    stop = threading.Event()
    accepted: list[int] = []

    def load() -> None:
        with instance.client() as client:
            n = 0
            while not stop.is_set():
                streams = [client.start(instance.headers(token), body % (n + k)) for k in range(20)]
                client.wait(*streams)
                assert {stream.status for stream in streams} == {200}
                n += 20
                accepted.append(n)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        while not accepted or accepted[-1] < 2000:
            time.sleep(0.05)
        before = accepted[-1]
        path, made = backup(instance)
        during = accepted[-1] - before
    finally:
        stop.set()
        thread.join()
    assert during > 0, "nothing was accepted meanwhile"
    assert before <= made["pushes"] <= accepted[-1]
    instance.stop()
    again = instance.directory.parent / "again"
    assert restore(path, again).returncode == 0
    with contextlib.closing(sqlite3.connect(again / "data" / "carillon.db")) as database, database:
        payloads = [row[0] for row in database.execute("select payload from pushes order by number")]
    found = sorted(int(payload[5 : payload.index(b",")]) for payload in payloads)
    # The last transaction holds some of the last 20, which were in flight together.
    whole = [n for n in found if n < len(found) - 20]
    assert whole == list(range(len(whole))) and len(found) == made["pushes"]


def test_a_backup_does_not_replace_a_file_unless_told(fresh):
    instance = fresh()
    path, _ = backup(instance)
    first = path.read_bytes()
    _, error = backup(instance, status=1)
    assert error["error"]["code"] == "exists" and path.read_bytes() == first
    instance.admin.add_device("one more")
    _, made = backup(instance, "--replace")
    assert made["devices"] == 1 and path.read_bytes() != first
    assert {entry.name for entry in path.parent.iterdir()} == {"instance", "backup.tar"}
    assert not list((instance.directory / "data").glob("*.backup*")), "the gateway's copy stays"


def test_a_name_that_no_backup_can_hold_is_said(fresh):
    instance = fresh()
    key = instance.directory / "keys" / f"{'k' * 110}.p8"
    key.write_text("key")
    key.chmod(0o600)
    path, error = backup(instance, status=1)
    assert "rename it" in error["error"]["message"]
    assert not list(path.parent.glob("backup.tar*")) and not list((instance.directory / "data").glob("*.backup*"))


def test_a_backup_while_nothing_can_be_written_holds_what_was(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    push(instance, token, 1)
    instance.admin.hold_store(True)
    assert backup(instance)[1]["pushes"] == 1
    instance.admin.hold_store(False)


def test_a_store_in_memory_has_no_backup(fresh):
    instance = fresh({"store": "memory:"})
    _, error = backup(instance, status=1)
    assert "memory" in error["error"]["message"]


def test_a_backup_needs_a_gateway(fresh):
    instance = fresh()
    instance.stop()
    path, error = backup(instance, status=1)
    assert error["error"]["code"] == "unreachable" and not path.exists()


def test_a_backup_that_nobody_fetched_makes_way_for_the_next(fresh):
    instance = fresh()
    first = instance.admin.post("/v1/backups")
    assert instance.admin.request("DELETE", "/v1/backups/0123")[0] == 404
    deadline = time.monotonic() + 20
    while instance.admin.get(f"/v1/backups/{first['id']}")["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    second = instance.admin.post("/v1/backups")
    assert instance.admin.request("GET", f"/v1/backups/{first['id']}")[0] == 404
    while instance.admin.get(f"/v1/backups/{second['id']}")["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert pathlib.Path(second["file"]).exists()
    instance.admin.delete(f"/v1/backups/{second['id']}")
    assert not pathlib.Path(second["file"]).exists()


# What is no backup


@pytest.fixture(scope="module")
def good_backup(tmp_path_factory):
    """A backup with a device and a push in it."""
    folder = tmp_path_factory.mktemp("backup")
    with Sandbox() as instance:
        _, (token,) = instance.offline(APP)
        push(instance, token, 1)
        path, _ = backup(instance)
        shutil.copy(path, folder / "good.tar")
    return folder / "good.tar"


def refuse(path: pathlib.Path, directory: pathlib.Path, *words: str) -> None:
    """The restore is refused, and nothing of it is left."""
    done = restore(path, directory)
    assert done.returncode == 1, done.stdout
    message = json.loads(done.stderr)["error"]["message"]
    for word in words:
        assert word in message, message
    left = [entry for entry in directory.rglob("*") if entry.is_file()] if directory.exists() else []
    assert left == []


def test_a_backup_that_was_cut_off_is_refused_wherever(good_backup, tmp_path):
    data = good_backup.read_bytes()
    cut = tmp_path / "cut.tar"
    for place in [0, 1, 511, 512, 513, 5_000, len(data) // 2, len(data) - 2048, len(data) - 1025]:
        cut.write_bytes(data[:place])
        refuse(cut, tmp_path / "again", "no backup of carillon")


def test_a_backup_with_another_byte_is_refused_wherever(good_backup, tmp_path):
    data = bytearray(good_backup.read_bytes())
    with tarfile.open(good_backup) as archive:
        places = [place for member in archive for place in (member.offset, member.offset_data)]
        places += [member.offset_data + member.size - 1 for member in archive]
    changed = tmp_path / "changed.tar"
    for place in places:
        data[place] ^= 1
        changed.write_bytes(data)
        refuse(changed, tmp_path / "again")
        data[place] ^= 1


def test_a_backup_writes_nowhere_else(good_backup, tmp_path):
    for name in ("../outside", "/outside", "pki/../../outside", "carillon.conf/../x"):
        path = tmp_path / "hostile.tar"
        shutil.copy(good_backup, path)
        rewrite(path, lambda files: files.update({name: b"x"}))
        refuse(path, tmp_path / "folder" / "again", "no backup of carillon")
    assert not (tmp_path / "outside").exists()
    for name in ("carillon.conf", "carillon.db"):
        shutil.copy(good_backup, path)
        rewrite(path, lambda files: None, twice=name)
        refuse(path, tmp_path / "again", "no backup of carillon")
    # A file in the way of one that is written last, and in a folder that no instance has.
    rewrite(path, lambda files: files.update({"carillon.conf/x": b"x"}))
    refuse(path, tmp_path / "again")
    assert restore(good_backup, tmp_path / "again").returncode == 0


def test_a_backup_whose_store_is_damaged_or_newer_is_refused(good_backup, tmp_path):
    def damage(files: dict) -> None:
        store = bytearray(files["carillon.db"])
        store[4096:8192] = b"\xa5" * 4096
        files["carillon.db"] = bytes(store)

    def age(files: dict) -> None:
        store = bytearray(files["carillon.db"])
        store[60:64] = (99).to_bytes(4, "big")
        files["carillon.db"] = bytes(store)

    def add_trigger(files: dict) -> None:
        store = tmp_path / "store"
        store.write_bytes(files["carillon.db"])
        with contextlib.closing(sqlite3.connect(store)) as database, database:
            database.execute("pragma journal_mode = delete")
            database.execute("create trigger evil after insert on pushes begin delete from pushes; end")
        files["carillon.db"] = store.read_bytes()

    for change, said in ((damage, "damaged"), (age, "it has version 99"), (add_trigger, "triggers")):
        path = tmp_path / "bad.tar"
        shutil.copy(good_backup, path)
        rewrite(path, change)
        refuse(path, tmp_path / "again", said)


def test_a_restore_leaves_an_instance_alone(good_backup, tmp_path):
    again = tmp_path / "again"
    assert restore(good_backup, again).returncode == 0
    before = {entry: entry.stat().st_mtime_ns for entry in again.rglob("*") if entry.is_file()}
    done = restore(good_backup, again)
    assert done.returncode == 1 and "already holds an instance" in done.stderr
    assert before == {entry: entry.stat().st_mtime_ns for entry in again.rglob("*") if entry.is_file()}


# Versions of the store


def make_old(instance) -> None:
    """The store as the first version left it."""
    with contextlib.closing(sqlite3.connect(instance.directory / "data" / "carillon.db")) as database, database:
        database.execute("alter table devices drop column signer")
        database.execute("create table settings(name text primary key, value blob not null) strict, without rowid")
        database.execute("pragma user_version = 1")


def test_an_older_store_is_upgraded_by_the_start_and_kept(fresh):
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    push(instance, token, 1)
    instance.stop()
    make_old(instance)
    instance.start()
    copies = list((instance.directory / "data").glob("carillon.db.before-*"))
    assert len(copies) == 1 and copies[0].stat().st_mode & 0o777 == 0o600
    with contextlib.closing(sqlite3.connect(f"file:{copies[0]}?mode=ro", uri=True)) as database, database:
        assert database.execute("pragma user_version").fetchone() == (1,)
        assert database.execute("select count(*) from pushes").fetchone() == (1,)
    courier, tokens = live(instance, APP, identity=identity)
    assert tokens == [token] and received(courier, 1) == [1]
    courier.close()
    # Whoever was there before authorities were told apart depends on the one that there was.
    items = {item["name"]: item for item in instance.admin.get("/v1/certificates")["items"]}
    assert items["authority"]["devices"] == 1
    instance.restart()


def test_a_newer_store_is_refused_and_the_way_back_is_told(fresh):
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    push(instance, token, 1)
    instance.stop()
    make_old(instance)
    instance.start()
    instance.stop()
    data = instance.directory / "data"
    (copy,) = data.glob("carillon.db.before-*")
    # As the newer program would have called it.
    copy = copy.rename(data / "carillon.db.before-99")
    store = data / "carillon.db"
    with contextlib.closing(sqlite3.connect(store)) as database, database:
        database.execute("pragma user_version = 99")
    newer = store.read_bytes()
    assert_refused(serve(instance), "it has version 99", "install the version", f"mv {copy} {store}")
    assert store.read_bytes() == newer, "it was touched"
    kept = copy.read_bytes()
    copy.unlink()
    assert_refused(serve(instance), "it has version 99", "install the version", "carillon restore")
    store.write_bytes(kept)
    instance.start()
    courier, tokens = live(instance, APP, identity=identity)
    assert tokens == [token] and received(courier, 1) == [1]
