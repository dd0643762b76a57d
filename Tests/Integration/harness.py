"""What the tests stand on: a gateway with apps and keys, a provider, a device, and the rules every answer obeys."""

import json
import re
import shutil
import time

import pytest

from admin import Admin
from courier import Courier, Identity, Message, topic_hash
from h2_client import H2Client, Stream
from instance import Instance, command, running
from keys import ABSENT, Keys

__all__ = [
    "ABSENT", "APP", "BODY", "FOREIGN_APP", "FOREIGN_TEAM", "NEVER_ISSUED", "OTHER_APP", "Admin", "Courier", "H2Client",
    "Identity", "Instance", "Keys", "Message", "Sandbox", "Stream", "check_shape", "command", "needs", "running",
    "topic_hash",
]  # fmt: skip

TEAM, FOREIGN_TEAM = "TEAMALPHA1", "TEAMBRAVO2"
APP, OTHER_APP, FOREIGN_APP = "com.example.app", "com.example.other", "com.example.foreign"
BODY = b'{"aps":{"alert":"hi"}}'
NEVER_ISSUED = "0123456789abcdef" * 4
UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def needs(*programs: str):
    """Skips a test where one of these is not installed."""
    missing = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(missing), reason=f"scripts/setup --tests installs {', '.join(missing)}")


def check_shape(answer: Stream, environment: str = "development") -> None:
    """What holds for every answer, whatever the question."""
    assert answer.finished, "no answer"
    assert answer.headers, f"reset with {answer.reset} instead of an answer"
    assert answer.header_blocks == 1, "trailers"
    assert all(name == name.lower() for name in answer.names), answer.names
    assert len(set(answer.names)) == len(answer.names), f"repeated header: {answer.names}"
    assert UUID.fullmatch(answer.apns_id or ""), f"apns-id: {answer.apns_id}"
    expected = {":status", "apns-id"}
    if answer.status == 200:
        if environment == "development":
            expected.add("apns-unique-id")
            unique = answer.header("apns-unique-id") or ""
            assert UUID.fullmatch(unique) and unique == unique.lower(), f"apns-unique-id: {unique!r}"
        assert answer.headers_ended_stream, "a 200 ends with its HEADERS"
        assert not answer.data_frames, "a 200 has no body"
    else:
        check_error_body(answer)
    assert set(answer.names) == expected, f"headers are {answer.names}"


def check_error_body(answer: Stream) -> None:
    """One DATA frame that ends the stream and holds the whole JSON object, as Pushy and aioapns need it."""
    assert not answer.headers_ended_stream, "an error has a body"
    assert len(answer.data_frames) == 1, f"{len(answer.data_frames)} DATA frames"
    data, ended = answer.data_frames[0]
    assert ended, "the one DATA frame ends the stream"
    error = json.loads(data)
    keys = {"reason", "timestamp"} if answer.status == 410 else {"reason"}
    assert set(error) == keys, f"{answer.status} with {error}"
    assert isinstance(error["reason"], str) and error["reason"]
    assert answer.status != 410 or type(error["timestamp"]) is int
    assert data == json.dumps(error, separators=(",", ":")).encode(), "not compact"


class Sandbox(Instance):
    """An instance with two teams, three apps and their keys."""

    def start(self) -> None:
        super().start()
        self.facts.setdefault("teams", {})
        if not self.facts["teams"]:
            for bundle, team in ((APP, TEAM), (OTHER_APP, TEAM), (FOREIGN_APP, FOREIGN_TEAM)):
                self.admin.add_app(bundle, team)
            for team in (TEAM, FOREIGN_TEAM):
                self.facts["teams"][team] = self.admin.make_key(team)
        self.keys = self._keys(TEAM)
        self.foreign_keys = self._keys(FOREIGN_TEAM)
        # One provider token for all that do not care, as a provider would; a moved clock makes it a new one.
        self._bearer: tuple[float, str] | None = None

    def _keys(self, team: str) -> Keys:
        made = self.facts["teams"][team]
        return Keys(made["privateKey"], made["keyID"], team, self.now)

    def new_keys(self, environment: str = "all", topics: list[str] = ()) -> Keys:
        """One more key of the first team."""
        made = self.admin.make_key(TEAM, environment, topics)
        return Keys(made["privateKey"], made["keyID"], TEAM, self.now)

    @property
    def bearer(self) -> str:
        now = self.now()
        if self._bearer is None or abs(now - self._bearer[0]) > 1200:
            self._bearer = (now, self.keys.bearer())
        return self._bearer[1]

    # Provider

    def client(self, **context) -> H2Client:
        """A provider's connection; `alpn` and `version` as for the context."""
        return H2Client(self.provider_port, self.context(**context))

    def headers(self, token: str, changes: dict | None = None, extra=()) -> list[tuple[str, str]]:
        """The base request's header list. In `changes` a value of None removes a field; `extra` goes to the end."""
        fields = {
            ":method": "POST",
            ":scheme": "https",
            ":path": f"/3/device/{token}",
            ":authority": f"localhost:{self.provider_port}",
            "authorization": self.bearer,
            "apns-topic": APP,
            "apns-push-type": "alert",
        } | (changes or {})
        return [(name, value) for name, value in fields.items() if value is not None] + list(extra)

    def push_on(self, client: H2Client, token: str, changes: dict | None = None, body: bytes = BODY) -> Stream:
        """One push on this connection; its answer obeys the general rules."""
        answer = client.request(self.headers(token, changes), body)
        check_shape(answer, self.environment)
        return answer

    def push(self, token: str, changes: dict | None = None, body: bytes = BODY) -> Stream:
        """One push on a connection of its own, as the base request demands."""
        with self.client() as client:
            return self.push_on(client, token, changes, body)

    # Device

    def register(self, topic: str = APP, **more: str) -> str:
        return self.admin.register(topic, **more)

    def enrol(self, name: str = "phone", key_type: str = "ec") -> Identity:
        return Identity(self.admin, name, key_type)

    def courier(self, identity: Identity, **context) -> Courier:
        """A device's connection; `alpn` and `version` as for the context."""
        return Courier(self.device_port, identity, self.now, **context)

    def online(self, *topics: str, identity: Identity | None = None) -> tuple[Courier, list[str]]:
        """A connected device that has these topics enabled, and its tokens for them."""
        courier = self.courier(identity or self.enrol())
        answer = courier.connect()
        assert answer.item(1) == b"\0", f"ConnectAck status {answer.item(1)}"
        tokens = [courier.token(topic) for topic in topics]
        courier.filter(enabled=topics)
        return courier, tokens

    def offline(self, *topics: str) -> tuple[Identity, list[str]]:
        """A device that got its tokens and then went away."""
        identity = self.enrol()
        courier, tokens = self.online(*topics, identity=identity)
        courier.close()
        self.wait_disconnected(identity)
        return identity, tokens

    def wait_disconnected(self, identity: Identity) -> None:
        """The gateway has seen that the device is gone."""
        deadline = time.monotonic() + 10
        while self.admin.get(f"/v1/devices/{identity.id}")["connected"]:
            assert time.monotonic() < deadline, "still connected 10 s after the device closed"
            time.sleep(0.02)
