"""Software that knows nothing of Carillon, unmodified: aioapns, pypush, httpx, curl, nghttp, h2load."""

import asyncio
import re
import ssl
import subprocess
import time
import uuid

import httpx
import pypush.apns.lifecycle
import pypush.apns.transport
import pytest
from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsDevelopmentClientProtocol

from harness import APP, BODY, NEVER_ISSUED

COUNT = 300


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


def run(*arguments: str, seconds: float = 30) -> str:
    """The output of a foreign program that must succeed."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{arguments[0]}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def url(sandbox, token: str) -> str:
    return f"https://localhost:{sandbox.provider_port}/3/device/{token}"


def header_arguments(sandbox, flag: str = "-H") -> list[str]:
    """The base request's headers for a command line."""
    fields = {"authorization": sandbox.bearer, "apns-topic": APP, "apns-push-type": "alert"}
    return [part for name, value in fields.items() for part in (flag, f"{name}: {value}")]


# aioapns and pypush


def stranger(sandbox, monkeypatch) -> APNs:
    """aioapns with its development host replaced from outside; its default context offers no ALPN."""
    monkeypatch.setattr(APNsDevelopmentClientProtocol, "APNS_SERVER", "localhost")
    monkeypatch.setattr(APNsDevelopmentClientProtocol, "APNS_PORT", sandbox.provider_port)
    return APNs(
        key=sandbox.keys.pem,
        key_id=sandbox.keys.key_id,
        team_id=sandbox.keys.team,
        topic=APP,
        use_sandbox=True,
        max_connections=1,
        ssl_context=ssl.create_default_context(cafile=sandbox.facts["ca"]),
    )


async def send_all(client: APNs, token: str, count: int) -> list:
    """This many notifications at once; the answers."""
    requests = [
        NotificationRequest(
            device_token=token,
            message={"aps": {"alert": "hi"}, "n": number},
            notification_id=str(uuid.uuid4()),
            push_type=PushType.ALERT,
        )
        for number in range(count)
    ]
    try:
        return await asyncio.gather(*(client.send_notification(request) for request in requests))
    finally:
        client.pool.close()


def through_aioapns(sandbox, monkeypatch, token: str, count: int) -> list:
    """The answers to this many notifications; the client wants to be made inside the loop."""

    async def body() -> list:
        return await asyncio.wait_for(send_all(stranger(sandbox, monkeypatch), token, count), 30)

    return asyncio.run(body())


async def receive(connection, token: bytes, count: int, listening: asyncio.Event) -> set[bytes]:
    """What pypush gets and acknowledges, until it has this many."""
    payloads = set()
    async with connection.notification_stream(APP, token) as stream:
        listening.set()
        while len(payloads) < count:
            notification = await stream.receive()
            await connection.ack(notification)
            payloads.add(notification.payload)
        await asyncio.sleep(0.3)
    return payloads


async def through_both(sandbox, client: APNs, identity) -> str:
    """aioapns on one side, pypush on the other; the device token that was used."""
    create = pypush.apns.lifecycle.create_apns_connection
    async with create(identity.certificate, identity.key, courier="127.0.0.1") as connection:
        minted = await connection.mint_scoped_token(APP)
        listening = asyncio.Event()
        receiver = asyncio.create_task(receive(connection, minted, COUNT, listening))
        await listening.wait()
        answers = await send_all(client, minted.hex(), COUNT)
        assert [answer.status for answer in answers] == ["200"] * COUNT
        assert len(await asyncio.wait_for(receiver, 20)) == COUNT
    return minted.hex()


@pytest.mark.sanitizer
def test_aioapns_sends_300_at_once_to_pypush(sandbox, monkeypatch):
    monkeypatch.setattr(pypush.apns.transport, "COURIER_PORT", sandbox.device_port)
    identity = sandbox.enrol("pypush", key_type="rsa")
    before = sandbox.admin.metric("notifications_delivered_total")

    async def body() -> str:
        return await asyncio.wait_for(through_both(sandbox, stranger(sandbox, monkeypatch), identity), 45)

    token = asyncio.run(body())
    assert sandbox.admin.queue(token) == []
    assert sandbox.admin.metric("notifications_delivered_total") - before == COUNT


@pytest.mark.sanitizer
def test_pypush_gets_what_waited_while_it_was_away(sandbox, monkeypatch):
    monkeypatch.setattr(pypush.apns.transport, "COURIER_PORT", sandbox.device_port)
    identity = sandbox.enrol("pypush-away", key_type="rsa")
    create = pypush.apns.lifecycle.create_apns_connection

    async def mint() -> tuple[bytes, bytes]:
        async with create(identity.certificate, identity.key, courier="127.0.0.1") as connection:
            return await connection.base_token, await connection.mint_scoped_token(APP)

    async def come_back(base: bytes, token: bytes) -> set[bytes]:
        async with create(identity.certificate, identity.key, token=base, courier="127.0.0.1") as connection:
            assert await connection.base_token == base
            return await receive(connection, token, 20, asyncio.Event())

    base, token = asyncio.run(mint())
    sandbox.wait_disconnected(identity)
    for number in range(20):
        assert sandbox.push(token.hex(), body=b'{"n":%d}' % number).status == 200
    payloads = asyncio.run(asyncio.wait_for(come_back(base, token), 20))
    assert payloads == {b'{"n":%d}' % number for number in range(20)}
    assert sandbox.admin.queue(token.hex()) == []


def test_aioapns_understands_every_refusal(sandbox, monkeypatch):
    answers = through_aioapns(sandbox, monkeypatch, NEVER_ISSUED, 100)
    assert {(answer.status, answer.description) for answer in answers} == {("400", "BadDeviceToken")}


def test_aioapns_reads_the_timestamp_of_a_410(sandbox, monkeypatch):
    (answer,) = through_aioapns(sandbox, monkeypatch, sandbox.register(state="unregistered"), 1)
    assert (answer.status, answer.description) == ("410", "Unregistered")
    assert abs(int(answer.timestamp) / 1000 - time.time()) < 60


# httpx: h2 as it comes


@pytest.mark.sanitizer
def test_httpx_over_http_2(sandbox, token):
    with httpx.Client(http2=True, verify=ssl.create_default_context(cafile=sandbox.facts["ca"])) as client:
        headers = {"authorization": sandbox.bearer, "apns-topic": APP, "apns-push-type": "alert"}
        for _ in range(50):
            answer = client.post(url(sandbox, token), headers=headers, json={"aps": {"alert": "hi"}})
            assert (answer.status_code, answer.http_version, answer.content) == (200, "HTTP/2", b"")
            assert uuid.UUID(answer.headers["apns-id"])
        answer = client.post(url(sandbox, NEVER_ISSUED), headers=headers, content=BODY)
        assert (answer.status_code, answer.json()) == (400, {"reason": "BadDeviceToken"})


# Command lines


def test_curl(sandbox, token):
    arguments = ["curl", "--silent", "--show-error", "--http2", "--cacert", sandbox.facts["ca"]]
    arguments += [*header_arguments(sandbox), "--data-binary", BODY.decode()]
    arguments += ["--write-out", "%{http_code} %{http_version}"]
    assert run(*arguments, url(sandbox, token)) == "200 2"
    assert run(*arguments, url(sandbox, NEVER_ISSUED)) == '{"reason":"BadDeviceToken"}400 2'


def test_curl_with_prior_knowledge_of_nothing_but_the_certificate(sandbox):
    health = ["curl", "--silent", "--show-error", "--http2-prior-knowledge", "--cacert", sandbox.facts["ca"]]
    assert "MethodNotAllowed" in run(*health, "--request", "GET", url(sandbox, NEVER_ISSUED))


@pytest.fixture
def payload(tmp_path):
    file = tmp_path / "payload.json"
    file.write_bytes(BODY)
    return str(file)


def test_nghttp(sandbox, token, payload):
    output = run("nghttp", "-v", "-t", "10", "-d", payload, *header_arguments(sandbox), url(sandbox, token))
    assert ":status: 200" in re.sub(r"\x1b\[[0-9;]*m", "", output)


@pytest.mark.parametrize("size", ["4095", "4096", "4097", "0"])
def test_nghttp_with_another_header_table(sandbox, token, payload, size):
    arguments = ["nghttp", "-v", "-t", "10", "-m", "3", f"--header-table-size={size}", "-d", payload]
    output = re.sub(r"\x1b\[[0-9;]*m", "", run(*arguments, *header_arguments(sandbox), url(sandbox, token)))
    assert output.count(":status: 200") >= 1 and ":status: 4" not in output


def test_h2load(sandbox, token, payload):
    arguments = ["h2load", "-n", "100", "-c", "4", "-m", "10", "-d", payload, *header_arguments(sandbox)]
    output = run(*arguments, url(sandbox, token))
    assert "100 succeeded, 0 failed, 0 errored" in output, output
    assert "status codes: 100 2xx, 0 3xx, 0 4xx, 0 5xx" in output, output
