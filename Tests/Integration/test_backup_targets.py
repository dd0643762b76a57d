"""Where a backup is written: nobody else's file is lost, whoever comes in between."""

import contextlib
import http.server
import os
import pathlib
import signal
import subprocess
import tarfile
import threading

import pytest

from harness import needs
from instance import binary, clean_environment, until


class Between(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a gateway's admin port, and does something before it tells that a copy is done."""

    def log_message(self, *_) -> None:
        """Says nothing."""

    def answer(self) -> None:
        instance = self.server.instance
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection("127.0.0.1", instance.admin_port, timeout=20)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body or None, {"Authorization": self.headers["Authorization"]})
            reply = connection.getresponse()
            status, content = reply.status, reply.read()
        if self.command == "GET" and b'"done"' in content:
            self.server.act()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = answer


@contextlib.contextmanager
def between(instance, act):
    """The URL of a gateway that does this while a backup is made."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
    server.instance, server.act = instance, act
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def start(instance, path, *words: str, admin: str | None = None, launcher=(), **options) -> subprocess.Popen:
    """Begins a backup."""
    url = admin or f"http://127.0.0.1:{instance.admin_port}"
    arguments = [binary(), "backup", str(path), "--config", instance.facts["config"], "--admin", url, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*launcher, *arguments], env=clean_environment(), **pipes, **options)


def backup(*arguments, **options) -> subprocess.CompletedProcess:
    """Makes one."""
    process = start(*arguments, **options)
    output, error = process.communicate(timeout=30)
    return subprocess.CompletedProcess(process.args, process.returncode, output, error)


def is_whole(path: pathlib.Path) -> bool:
    # Its last file, and the two empty blocks behind it.
    content = path.read_bytes()
    if b"SHA256SUMS" not in content or not content.endswith(bytes(1024)):
        return False
    with tarfile.open(path) as archive:
        return {"carillon.db", "SHA256SUMS"} <= set(archive.getnames())


def test_a_backup_whose_copy_was_taken_away_by_another_says_so(fresh):
    instance = fresh()
    path, other = (instance.directory.parent / name for name in ("backup.tar", "other.tar"))

    def make_another() -> None:
        done = backup(instance, other)
        assert done.returncode == 0, done.stderr

    with between(instance, make_another) as url:
        done = backup(instance, path, admin=url)
    assert done.returncode == 1 and "another backup has begun meanwhile" in done.stderr, done
    assert not path.exists() and is_whole(other)
    assert {entry.name for entry in path.parent.iterdir()} == {"instance", "other.tar"}
    assert not list((instance.directory / "data").glob("*.backup*"))


@needs("strace")
@pytest.mark.parametrize("words", [[], ["--replace"]], ids=["new", "replace"])
def test_of_two_backups_at_once_into_one_file_none_is_spoilt(fresh, words):
    """The first stops when it has written all and has yet to give it its name."""
    instance = fresh()
    path = instance.directory.parent / "backup.tar"
    stopping = ["strace", "-D", "-qqq", "-o", "/dev/null", "-e", "trace=fchmod", "-e", "inject=fchmod:signal=SIGSTOP"]
    first = start(instance, path, *words, launcher=stopping)
    until(lambda: any(is_whole(entry) for entry in path.parent.glob("backup.tar.*")), "a backup without its name")
    assert backup(instance, path, *words).returncode == 0
    second = path.read_bytes()
    # Again and again: whoever traces it may see the stop later than we do.
    until(lambda: first.send_signal(signal.SIGCONT) or first.poll() is not None, "its end")
    said = first.communicate()[1]
    if words:
        assert first.returncode == 0, said
    else:
        assert first.returncode == 1 and f"{path} has come meanwhile" in said and path.read_bytes() == second
    assert is_whole(path)
    assert {entry.name for entry in path.parent.iterdir()} == {"instance", "backup.tar"}


def test_a_file_of_the_operators_beside_it_stays(fresh):
    """Also one that has the name which the command would give to what it has not finished."""
    instance = fresh()
    path = instance.directory.parent / "backup.tar"

    def put_file() -> None:
        with open(f"{path}.{os.getpid()}", "w") as file:
            file.write("mine")

    done = backup(instance, path, preexec_fn=put_file)
    assert done.returncode == 0, done.stderr
    others = [entry for entry in path.parent.iterdir() if entry.name not in ("instance", "backup.tar")]
    assert [entry.read_text() for entry in others] == ["mine"] and is_whole(path)
