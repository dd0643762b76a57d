"""Who is turned away from the admin port before a token is looked at, and what each token is good for."""

import http.client
import json
import os
import pathlib

import pytest

from harness import APP, BODY, Instance, command

pytestmark = pytest.mark.sanitizer


def ask(instance, method: str, path: str, body: bytes | None = None, token: str | None = "", **headers):
    """Status, headers, parsed body. Header names are written with _ for -; `token=None` sends none."""
    sent = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    if token is not None:
        sent["Authorization"] = f"Bearer {token or instance.admin.token}"
    connection = http.client.HTTPConnection("127.0.0.1", instance.admin_port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
        if body is not None:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    return answer.status, answer.headers, json.loads(text) if text[:1] == b"{" else text


def refused(answer, status: int, *words: str) -> None:
    """An error as designed, with this status and these words, and nothing for other origins."""
    got, headers, body = answer
    assert got == status, answer
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message"}
    for word in words:
        assert word in body["error"]["message"], body
    assert not [name for name in headers if name.lower().startswith("access-control-")]


# Names: a page whose name leads to this machine does not get in (DNS rebinding)

OPEN_PATHS = ["/healthz", "/readyz", "/metrics"]
PATHS = [*OPEN_PATHS, "/v1/status", "/v1/apps", "/v1/nothing", "/"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", [None, "wrong", ""])
def test_a_name_that_is_not_ours_is_refused_before_the_token(sandbox, path, token):
    refused(ask(sandbox, "GET", path, token=token, Host="evil.example"), 421, "evil.example", "--host")


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:8090", "127.0.0.1.evil.example", "localhost.evil.example", "evil-localhost",
    "10.0.0.1",
    "169.254.169.254", "0.0.0.0", "127.0.0.2", "[::2]", "[::1", "::1", "localhost:", "localhost:x", "localhost:99999",
    "localhost:80:80", "127.0.0.1@evil.example", "evil.example#localhost", "localhost/", "x" * 8000,
])  # fmt: skip
def test_other_names_are_refused(sandbox, host):
    refused(ask(sandbox, "GET", "/v1/status", Host=host), 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
@pytest.mark.parametrize("port", ["", ":8090", ":1"])
def test_our_names_are_good_with_any_port(sandbox, host, port):
    assert ask(sandbox, "GET", "/v1/status", Host=host + port)[0] == 200


def test_names_of_the_certificate_are_good():
    instance = Instance()
    made = command(
        "init", "--directory", str(instance.directory), "--host", "push.example.com", "--host", "*.example.net",
        "--json",
        "--provider-port", "0", "--channels-port", "0", "--device-port", "0", "--admin-port", "0",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    instance.facts = json.loads(made.stdout)
    instance.start()
    try:
        for host, status in [("push.example.com", 200), ("PUSH.example.com:8090", 200), ("a.example.net", 200),
                             ("a.b.example.net", 421), ("example.net", 421), ("other.example.com", 421)]:  # fmt: skip
            assert ask(instance, "GET", "/v1/status", Host=host)[0] == status, host
    finally:
        instance.stop()
        instance.discard()


# Origins: a page elsewhere cannot make a browser ask (cross-site request forgery)


@pytest.mark.parametrize("method, path, body", [
    ("GET", "/v1/status", None), ("GET", "/healthz", None), ("GET", "/metrics", None),
    ("POST", "/v1/drain", None), ("DELETE", "/v1/drain", None), ("POST", "/v1/apps", b"{}"),
])  # fmt: skip
@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://localhost.evil.example"},
    {"Origin": "http://localhost:1"}, {"Origin": ""}, {"Origin": "file://"}, {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "?"},
    {"Sec_Fetch_Site": "cross-site", "Origin": "http://localhost:8090"},
])  # fmt: skip
def test_other_origins_are_refused_before_the_token(sandbox, method, path, body, headers):
    refused(ask(sandbox, method, path, body, token=None, Host="localhost:8090", **headers), 403, "origin")
    kind = "application/json" if body else None
    refused(ask(sandbox, method, path, body, Host="localhost:8090", Content_Type=kind, **headers), 403, "origin")
    assert sandbox.admin.get("/v1/status")["draining"] is False


@pytest.mark.parametrize("headers", [
    {"Origin": "http://localhost:8090"}, {"Origin": "HTTP://LocalHost:8090"}, {"Sec_Fetch_Site": "same-origin"},
    {"Sec_Fetch_Site": "none"}, {"Sec_Fetch_Site": "same-origin", "Origin": "http://localhost:8090"}, {},
])  # fmt: skip
def test_our_own_origin_is_good(sandbox, headers):
    assert ask(sandbox, "GET", "/v1/status", Host="localhost:8090", **headers)[0] == 200


def test_nobody_else_is_told_that_he_may_ask(sandbox):
    for method in ("OPTIONS", "GET", "POST"):
        headers = ask(
            sandbox, method, "/v1/status", Host="localhost:8090", Origin="http://evil.example",
            Access_Control_Request_Method="POST", Access_Control_Request_Headers="authorization",
        )[1]  # fmt: skip
        assert not [name for name in headers if name.lower().startswith("access-control-")]


@pytest.mark.parametrize("kind", [
    "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
    "application/json, text/plain", "text/plain; application/json",
])  # fmt: skip
def test_a_body_that_is_said_to_be_something_else_is_refused(sandbox, kind):
    body = json.dumps({"bundle": "com.example.forged", "team": "TEAMALPHA1"}).encode()
    refused(ask(sandbox, "POST", "/v1/apps", body, Content_Type=kind), 415, "application/json")
    assert sandbox.admin.request("GET", "/v1/apps/com.example.forged")[0] == 404


def test_json_may_name_its_characters_or_say_nothing(sandbox):
    body = json.dumps({"bundle": APP, "team": "TEAMALPHA1"}).encode()
    for kind in (None, "application/json", "Application/JSON; charset=utf-8", "application/json ;charset=utf-8"):
        assert ask(sandbox, "POST", "/v1/apps", body, Content_Type=kind)[0] == 409
    assert ask(sandbox, "POST", "/v1/apps")[0] == 400


# Tokens


def rotate(instance, *arguments: str) -> dict:
    done = command("admin", *arguments, "--config", instance.facts["config"], "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_rotated_token_is_good_at_once_and_the_old_one_is_void(fresh):
    instance = fresh()
    seen = {instance.admin.token}
    for _ in range(3):
        old = instance.admin.token
        made = rotate(instance, "rotate-token")
        assert set(made) == {"adminToken", "file"} and made["adminToken"] not in seen
        assert instance.admin.request("GET", "/v1/status", token=old)[0] == 401
        assert instance.admin.request("GET", "/v1/status", token=made["adminToken"])[0] == 200
        seen.add(made["adminToken"])
        instance.admin.token = made["adminToken"]
        file = pathlib.Path(made["file"])
        assert file.read_text() == made["adminToken"] + "\n"
        assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in instance.directory.glob("admin*")) == ["admin.token"]
    instance.restart()
    instance.admin.token = made["adminToken"]
    assert instance.admin.request("GET", "/v1/status")[0] == 200
    listing = command(
        "status", "--admin", f"http://127.0.0.1:{instance.admin_port}", "--config", instance.facts["config"]
    )
    assert listing.returncode == 0, listing.stderr


def test_a_rotated_token_needs_no_gateway_and_keeps_the_owner(fresh):
    instance = fresh()
    instance.stop()
    file = instance.directory / "admin.token"
    if os.geteuid() == 0:
        os.chown(file, 65534, -1)
    owner = file.stat().st_uid
    rotate(instance, "rotate-token")
    assert file.stat().st_uid == owner
    if os.geteuid() == 0:
        os.chown(file, 0, -1)
    instance.start()
    assert instance.admin.request("GET", "/v1/status")[0] == 401
    instance.admin.token = file.read_text().strip()
    assert instance.admin.request("GET", "/v1/status")[0] == 200


def test_a_token_file_that_is_gone_admits_nobody(fresh):
    instance = fresh()
    file = instance.directory / "admin.token"
    text = file.read_text()
    for content in (None, "", "\n", "short\n"):
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_text(content)
        for token in (None, "", "short", instance.admin.token):
            assert instance.admin.request("GET", "/v1/status", token=token)[0] == 401
        assert instance.admin.request("GET", "/healthz", token=None)[0] == 200
    file.write_text(text)
    assert instance.admin.request("GET", "/v1/status")[0] == 200


@pytest.fixture(scope="module")
def reader(sandbox):
    made = rotate(sandbox, "create-readonly-token")
    assert set(made) == {"readOnlyToken", "file"}
    assert pathlib.Path(made["file"]).name == "admin.readonly.token"
    assert pathlib.Path(made["file"]).stat().st_mode & 0o777 == 0o600
    return made["readOnlyToken"]


@pytest.mark.parametrize("path", [
    "/v1/status", "/v1/apps", f"/v1/apps/{APP}", "/v1/keys", "/v1/devices", "/v1/registrations", "/v1/notifications",
    "/metrics",
])  # fmt: skip
def test_the_read_only_token_reads(sandbox, reader, path):
    assert sandbox.admin.request("GET", path, token=reader)[0] == 200
    assert sandbox.admin.request("HEAD", path, token=reader)[0] == 200


@pytest.mark.parametrize("method, path, body", [
    ("POST", "/v1/apps", {"bundle": "com.example.read", "team": "TEAMALPHA1"}), ("DELETE", f"/v1/apps/{APP}", None),
    ("POST", "/v1/keys", {"team": "TEAMALPHA1"}), ("DELETE", "/v1/keys/ABC123DEFG", None),
    ("POST", "/v1/devices", {"name": "x"}), ("DELETE", "/v1/devices/0123456789abcdef", None),
    ("POST", "/v1/registrations", {"topic": APP}), ("DELETE", f"/v1/registrations/{'ab' * 32}", None),
    ("POST", "/v1/drain", None), ("DELETE", "/v1/drain", None), ("POST", "/v1/test/clock", {"advance": "1s"}),
    ("POST", "/v1/test/store", {"hold": True}), ("PUT", "/v1/apps", None), ("PATCH", "/v1/apps", None),
    ("POST", "/v1/nothing", None),
])  # fmt: skip
def test_the_read_only_token_changes_nothing(sandbox, reader, method, path, body):
    status, answer = sandbox.admin.request(method, path, body, token=reader)
    assert status == 403 and answer["error"]["code"] == "forbidden"
    assert sandbox.admin.get(f"/v1/apps/{APP}")["bundle"] == APP
    assert sandbox.admin.get("/v1/status")["draining"] is False


def test_the_read_only_token_shows_no_payload(sandbox, reader):
    _, (token,) = sandbox.offline(APP)
    assert sandbox.push(token, body=BODY).status == 200
    for value in ("true", "false", "1", "TRUE", ""):
        assert sandbox.admin.request("GET", f"/v1/queues/{token}?payload={value}", token=reader)[0] == 403
    assert sandbox.admin.request("GET", f"/v1/queues/{token}?%70ayload=true", token=reader)[0] == 403
    status, page = sandbox.admin.request("GET", f"/v1/queues/{token}", token=reader)
    assert status == 200 and len(page["items"]) == 1 and "payload" not in page["items"][0]


def test_the_read_only_token_follows_the_log(sandbox, reader):
    connection = http.client.HTTPConnection("127.0.0.1", sandbox.admin_port, timeout=20)
    connection.request("GET", "/v1/notifications?follow=true", headers={"Authorization": f"Bearer {reader}"})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
    connection.close()


def test_a_read_only_token_is_made_once_and_void_when_replaced(sandbox, reader):
    done = command("admin", "create-readonly-token", "--config", sandbox.facts["config"])
    assert done.returncode == 1 and "--replace" in done.stderr
    file = sandbox.directory / "admin.readonly.token"
    before = file.read_text()
    new = rotate(sandbox, "create-readonly-token", "--replace")["readOnlyToken"]
    assert sandbox.admin.request("GET", "/v1/status", token=reader)[0] == 401
    assert sandbox.admin.request("GET", "/v1/status", token=new)[0] == 200
    file.unlink()
    assert sandbox.admin.request("GET", "/v1/status", token=new)[0] == 401
    assert sandbox.admin.request("GET", "/v1/status")[0] == 200
    file.write_text(before)
    file.chmod(0o600)


@pytest.mark.parametrize("value", [
    "", "Bearer", "Basic {token}", "{token}", "Bearer  {token}", "Bearer {token}x", "Bearer x{token}", "Bearer {short}",
    "Bearer {token},Bearer {token}", "Bearer {upper}", "Bearer " + "a" * 20_000,
])  # fmt: skip
def test_what_is_not_the_token_is_401(sandbox, value):
    token = sandbox.admin.token
    value = value.format(token=token, short=token[:-1], upper=token.upper() + "A")
    assert ask(sandbox, "GET", "/v1/status", token=None, Authorization=value)[0] == 401
