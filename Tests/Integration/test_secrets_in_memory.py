"""A secret whose life has ended is nowhere in the gateway's memory: the whole of it is searched."""

import base64
import json
import os
import re
import subprocess

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

import courier
from harness import APP, TEAM, command
from instance import binary, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may read another process's memory")


def memory(instance):
    """Every readable and writable part of the gateway's memory."""
    process = instance.process.pid
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as contents:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if not found:
                continue
            begin, end = (int(text, 16) for text in found.groups())
            try:
                contents.seek(begin)
                yield contents.read(end - begin)
            except (OSError, ValueError):
                continue  # It went while we looked.


def found(instance, patterns: dict[str, bytes]) -> dict[str, int]:
    """How often each pattern stands in memory, of those that do."""
    counts = dict.fromkeys(patterns, 0)
    for part in memory(instance):
        for name, pattern in patterns.items():
            counts[name] += part.count(pattern)
    return {name: count for name, count in counts.items() if count}


def assert_gone(instance, patterns: dict[str, bytes]) -> None:
    """Until none is found; what was sent goes a moment after its connection."""
    until(lambda: not found(instance, patterns), lambda: f"gone: {found(instance, patterns)}")


def test_nothing_is_looked_up_while_a_key_is_in_a_register():
    """The dynamic linker saves vector registers on the stack when a function is called for the first time."""
    done = subprocess.run(["readelf", "--dynamic", binary()], capture_output=True, text=True, check=True)
    assert re.search(r"FLAGS_1.*\bNOW\b", done.stdout)


def forms(pem: str) -> dict[str, bytes]:
    """How a private key may lie in memory: its text, its encoding, its number in either order of bytes."""
    lines = [line for line in pem.splitlines() if line and "-" not in line]
    key = serialization.load_pem_private_key(pem.encode(), None)
    numbers = key.private_numbers()
    if hasattr(numbers, "private_value"):
        raw = {"number": numbers.private_value.to_bytes(32)}
    else:
        # What stands last of an EC key is its public half.
        raw = {"encoding": base64.b64decode("".join(lines))[-48:]}
        raw |= {"prime": numbers.p.to_bytes((numbers.p.bit_length() + 7) // 8), "exponent": numbers.d.to_bytes(256)}
    patterns = {f"text {n}": line.encode() for n, line in enumerate(lines) if len(line) > 40}
    for name, value in raw.items():
        patterns |= {name: value, f"{name} reversed": value[::-1]}
        patterns[f"{name} in hex"] = value.hex().encode()
    return patterns


def test_the_search_finds_what_is_there(fresh):
    instance = fresh()
    key = (instance.directory / "pki/server.key").read_text()
    # The server's key is in use: its number is there, and only for as long as the gateway lives.
    assert "number reversed" in found(instance, forms(key))


@pytest.mark.parametrize("path, body", [
    ("/v1/keys", {"team": TEAM}), ("/v1/devices", {"name": "ec", "keyType": "ec"}),
    ("/v1/devices", {"name": "rsa", "keyType": "rsa"}),
])  # fmt: skip
def test_a_private_key_that_was_handed_out_is_gone(fresh, path, body):
    instance = fresh()
    for _ in range(1 if body.get("keyType") == "rsa" else 3):
        status, answer = instance.admin.request("POST", path, body)
        assert status == 201
        patterns = forms(answer["privateKey"])
        # OpenSSL's encoder of an EC key leaves the number in an octet string that it frees (docs/threat-model.md).
        patterns.pop("number", None)
        assert_gone(instance, patterns)


def test_a_token_that_was_replaced_is_gone(fresh):
    instance = fresh()
    old = instance.admin.token
    for _ in range(5):
        instance.admin.get("/v1/status")
        instance.admin.request("GET", "/v1/status", token=old + "x")
    done = command("admin", "rotate-token", "--config", instance.facts["config"], "--json")
    instance.admin.token = json.loads(done.stdout)["adminToken"]
    assert instance.admin.request("GET", "/v1/status", token=old)[0] == 401
    assert_gone(instance, {"old": old.encode()})
    # Nor is the one that is good kept: only what it can be compared with.
    instance.admin.get("/v1/status")
    assert_gone(instance, {"new": instance.admin.token.encode()})


def expanded(secret: bytes, label: bytes, count: int) -> bytes:
    """HKDF-Expand-Label of RFC 8446, section 7.1, with no context."""
    algorithm = hashes.SHA256() if len(secret) == 32 else hashes.SHA384()
    info = count.to_bytes(2) + bytes([6 + len(label)]) + b"tls13 " + label + b"\0"
    return HKDFExpand(algorithm, count, info).derive(secret)


def test_keys_of_a_session_that_has_ended_are_gone(fresh, monkeypatch, tmp_path):
    log, make = tmp_path / "keys", courier.unverified_context

    def logging(**options):
        context = make(**options)
        context.keylog_filename = str(log)
        return context

    monkeypatch.setattr(courier, "unverified_context", logging)
    # The secrets that they are made from may stay for a while in what OpenSSL has freed (docs/threat-model.md).
    instance = fresh({"device.tls.detach": "on"})
    session, (token,) = instance.online(APP)
    with session:
        assert instance.push(token).status == 200
        session.expect_notify()
        secrets = dict(line.split()[::2] for line in log.read_text().splitlines() if not line.startswith("#"))
        patterns = {
            f"{name} key of {count}": expanded(bytes.fromhex(secrets[name]), b"key", count)
            for name in ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
            for count in (16, 32)
        }
        # The search would find them: the session needs them.
        assert found(instance, patterns)
    instance.wait_disconnected(session.identity)
    assert_gone(instance, patterns)
