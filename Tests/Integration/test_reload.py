"""New settings and files without a restart: whoever is connected stays, whoever comes meets the new, and what is broken
changes nothing."""

import os
import pathlib
import signal
import ssl
import threading

import pytest

from authorities import Authority, pem_of, put_server, replace
from delivery import live
from harness import APP, BODY
from instance import until

DEVICES = 200


def reloads(instance, result: str = "done") -> float:
    return instance.admin.metric("reloads_total", result=result)


def hang_up(instance, result: str = "done") -> None:
    """SIGHUP, and the reload it brings."""
    before = reloads(instance, result)
    instance.process.send_signal(signal.SIGHUP)
    until(lambda: reloads(instance, result) > before, f"a reload that is {result}")


def served(instance) -> bytes:
    """The certificate that a new provider meets."""
    with instance.client() as client:
        return client.socket.getpeercert(binary_form=True)


def keep_trust(instance) -> None:
    """Clients go on with a copy of the authority, whatever becomes of the gateway's."""
    copy = instance.directory / "trusted.pem"
    copy.write_bytes((instance.directory / "pki" / "ca.pem").read_bytes())
    instance.facts["ca"] = str(copy)


def der(pem: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.decode())


def settings(instance, **lines: str) -> None:
    """Appends lines to the settings; the last for a key counts."""
    path = instance.directory / "carillon.conf"
    text = path.read_text() + "".join(f"{name.replace('_', '.')} = {value}\n" for name, value in lines.items())
    replace(path, text.encode(), 0o644)


def said(instance, *words: str) -> bool:
    """Whether one line of the log holds all of these."""
    return any(all(word in line for word in words) for line in instance.standard_error)


class Sender:
    """A provider that pushes without a pause on one connection, until it is told to end."""

    def __init__(self, instance, tokens: list[str]):
        self.statuses: list[int | None] = []
        self.closed = False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(instance, tokens))
        self._thread.start()

    def _run(self, instance, tokens) -> None:
        with instance.client() as client:
            while not self._ending.is_set() and not client.closed:
                for token in tokens:
                    self.statuses.append(client.request(instance.headers(token), BODY).status)
            self.closed = client.closed

    def end(self) -> None:
        self._ending.set()
        self._thread.join()


@pytest.mark.slow
def test_two_reloads_under_load_drop_nobody(fresh):
    instance = fresh()
    devices = [live(instance, APP) for _ in range(DEVICES)]
    tokens = [tokens[0] for _, tokens in devices]
    sender = Sender(instance, tokens[:10])
    try:
        for _ in range(2):
            pair = Authority.of(instance).server()
            put_server(instance, pair)
            hang_up(instance)
            until(lambda: served(instance) == der(pair[0]), "the new certificate")
            sent = len(sender.statuses)
            until(lambda: len(sender.statuses) > sent + 20, "pushes after the reload")
    finally:
        sender.end()
    assert not sender.closed and set(sender.statuses) == {200}
    for courier, tokens in devices:
        courier.keep_alive()
        assert not courier.closed
    assert instance.admin.metric("device_sessions") == DEVICES
    last, (token,) = devices[-1]
    assert instance.push(token).status == 200
    last.expect_notify()
    late, _ = live(instance, APP)
    assert late.socket.getpeercert(binary_form=True) == der(pair[0])
    for courier, _ in devices:
        courier.close()


@pytest.mark.sanitizer
def test_files_that_are_replaced_are_taken_without_a_signal(fresh):
    instance = fresh()
    courier, (token,) = live(instance, APP)
    for _ in range(2):
        pair = Authority.of(instance).server()
        put_server(instance, pair)
        until(lambda: served(instance) == der(pair[0]), "the new certificate")
    assert reloads(instance) >= 2 and reloads(instance, "failed") == 0
    assert instance.push(token).status == 200
    courier.expect_notify()


def test_a_folder_that_is_swapped_behind_a_link_is_taken(fresh, tmp_path):
    """As Kubernetes mounts a secret: the files are links through `..data`, which is a link that is replaced."""
    instance = fresh()

    def release(name: str) -> bytes:
        folder = tmp_path / name
        folder.mkdir()
        pair = Authority.of(instance).server()
        for file, content in zip(("tls.crt", "tls.key"), pair):
            replace(folder / file, content)
        (tmp_path / "..new").symlink_to(name)
        os.replace(tmp_path / "..new", tmp_path / "..data")
        return der(pair[0])

    first = release("..one")
    for file in ("tls.crt", "tls.key"):
        (tmp_path / file).symlink_to(f"..data/{file}")
    settings(instance, tls_certificate=str(tmp_path / "tls.crt"), tls_key=str(tmp_path / "tls.key"))
    until(lambda: served(instance) == first, "the certificate of the new path")
    second = release("..two")
    until(lambda: served(instance) == second, "the certificate behind the link")


def test_settings_in_force_change_and_the_others_are_named(fresh):
    instance = fresh()
    token = instance.register(APP)
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        settings(instance, provider_tokenRate="1", provider_port="1", threads="7", log_level="debug")
        until(lambda: said(instance, "settings wait for a restart", "provider.port, threads"), "names of settings")
        until(lambda: 429 in {instance.push_on(client, token).status for _ in range(5)}, "a limit on the rate")
        settings(instance, provider_tokenRate="0")
        until(lambda: reloads(instance) == 2, "the second reload")
        until(lambda: {instance.push_on(client, token).status for _ in range(20)} == {200}, "no limit")
    first, _ = live(instance, APP)
    live(instance, APP, identity=first.identity)
    until(lambda: said(instance, '"debug"', "device session ends"), "a line of the new level")


@pytest.mark.parametrize("text", [b"", b"# To be continued.\n"], ids=["nothing", "a comment"])
def test_settings_that_were_emptied_are_not_taken(fresh, text):
    """An editor may empty a file before it writes it, and be looked at in between."""
    instance = fresh()
    path = instance.directory / "carillon.conf"
    settings(instance, log_level="debug")
    until(lambda: reloads(instance) == 1, "the first reload")
    before = path.read_bytes()
    path.write_bytes(text)
    until(lambda: said(instance, "reload failed", "sets nothing any more"), "the refusal")
    assert reloads(instance) == 1 and instance.admin.request("POST", "/v1/reload")[0] == 422
    path.write_bytes(before)
    until(lambda: reloads(instance) == 2, "the file as it was")
    # Where there is nothing from the start, nothing is missing.
    path.write_bytes(text)
    instance.restart()
    hang_up(instance)


def test_a_limit_on_connections_changes_for_those_who_come(fresh):
    instance = fresh()
    with instance.client() as early:
        early.ping()
        settings(instance, limits_connectionsPerAddress="1")
        until(lambda: reloads(instance) == 1, "a reload")
        with pytest.raises(OSError):
            instance.client()
        early.ping()
        settings(instance, limits_connectionsPerAddress="0")
        until(lambda: reloads(instance) == 2, "another")
        with instance.client() as late:
            late.ping()
        early.ping()


def make_pipe(path: pathlib.Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


BROKEN = {
    "no certificate": (lambda instance: replace(instance.directory / "pki/server.pem", b"nonsense"), "server.pem"),
    "another key": (
        lambda instance: replace(instance.directory / "pki/server.key", Authority.of(instance).server()[1]),
        "is not the key of the certificate",
    ),
    "expired": (lambda instance: put_server(instance, Authority.of(instance).server(days=-1)), "expired on"),
    "no authority": (lambda instance: (instance.directory / "pki/ca.pem").unlink(), "ca.pem is missing (tls.ca)"),
    "a pipe": (lambda instance: make_pipe(instance.directory / "pki/server.pem"), "is a pipe"),
    "an open key": (lambda instance: (instance.directory / "pki/server.key").chmod(0o644), "chmod 600"),
    "bad settings": (
        lambda instance: settings(instance, drain_timeout="soon", provider_prot="1"),
        "did you mean provider.port",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_changes_nothing(fresh, case):
    instance = fresh()
    keep_trust(instance)
    before = served(instance)
    pair = [(instance.directory / "pki" / name).read_bytes() for name in ("server.pem", "server.key")]
    spoil, words = BROKEN[case]
    courier, (token,) = live(instance, APP)
    spoil(instance)
    until(lambda: said(instance, "the old settings and files stay in force", words), words)
    assert reloads(instance, "failed") >= 1 and reloads(instance) == 0
    assert served(instance) == before
    assert instance.push(token).status == 200
    courier.expect_notify()
    if case not in ("no authority", "bad settings"):
        put_server(instance, pair)
        until(lambda: reloads(instance) == 1, "the repaired files")


def test_a_new_authority_is_taken_and_the_old_ones_devices_stay_until_they_leave(fresh):
    instance = fresh()
    keep_trust(instance)
    courier, (token,) = live(instance, APP)
    authority = Authority.new()
    pki = instance.directory / "pki"
    replace(pki / "ca.key", pem_of(authority.key))
    replace(pki / "ca.pem", authority.pem)
    until(lambda: reloads(instance) == 1, "a reload")
    assert instance.push(token).status == 200
    courier.expect_notify()
    stranger = instance.courier(courier.identity)
    assert stranger.connect().item(1) != b"\0", "a certificate of an authority that is gone"
    late, (other,) = live(instance, APP)
    assert instance.push(other).status == 200
    late.expect_notify()
