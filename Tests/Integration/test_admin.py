"""The operators' HTTP API as docs/operations.md tells it: paths, fields, statuses, paging, metrics."""

import http.client
import re

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from harness import APP, BODY, FOREIGN_APP, FOREIGN_TEAM, Keys

pytestmark = pytest.mark.sanitizer

TEAM = "TEAMALPHA1"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
#: Metrics that must be there from the start, without the `carillon_`.
METRICS = [
    "provider_requests_total", "provider_request_seconds_count", "provider_connections",
    "provider_token_verifications_total", "notifications_accepted_total", "notifications_delivered_total",
    "notifications_discarded_total", "notifications_stored", "notifications_stored_oldest_seconds", "queue_limit",
    "delivery_seconds_count", "device_sessions", "device_handshakes_total", "device_redeliveries_total",
    "registrations", "store_commit_seconds_count", "store_batch_size_count", "store_queue_depth",
    "certificate_expires_in_seconds", "build_info",
]  # fmt: skip


def error_of(answer: tuple[int, dict]) -> tuple[int, bool]:
    """The status and whether the body is an error as designed."""
    status, body = answer
    return status, set(body) == {"error"} and {"code", "message"} <= set(body["error"])


@pytest.mark.parametrize("path", ["/v1/status", "/v1/apps", "/v1/nothing", "/v1/drain"])
@pytest.mark.parametrize("token", [None, "wrong"])
def test_without_the_token_everything_is_401(sandbox, path, token):
    assert error_of(sandbox.admin.request("GET", path, token=token)) == (401, True)


@pytest.mark.parametrize("method, path, body, status", [
    ("GET", "/v1/nothing", None, 404),
    ("GET", "/v1/apps/com.example.none", None, 404),
    ("DELETE", "/v1/apps/com.example.none", None, 404),
    ("DELETE", "/v1/keys/NOSUCHKEY1", None, 404),
    ("GET", "/v1/devices/0123456789abcdef", None, 404),
    ("DELETE", "/v1/registrations/" + "ab" * 32, None, 404),
    ("GET", "/v1/queues/" + "ab" * 32, None, 404),
    ("POST", "/v1/apps", {"bundle": APP, "team": TEAM}, 409),
    ("POST", "/v1/apps", {"bundle": APP, "team": FOREIGN_TEAM}, 409),
    ("POST", "/v1/apps", {"bundle": "com.example.new", "team": "short"}, 400),
    ("POST", "/v1/apps", {"bundle": f"{APP}.voip", "team": TEAM}, 400),
    ("POST", "/v1/apps", {"bundle": "bad bundle", "team": TEAM}, 400),
    ("POST", "/v1/apps", {"bundle": "com.example.new"}, 400),
    ("POST", "/v1/apps", [], 400),
    ("POST", "/v1/keys", {"team": TEAM, "environment": "moon", "topics": []}, 400),
    ("POST", "/v1/keys", {"team": "lower", "environment": "all", "topics": []}, 400),
    ("POST", "/v1/keys", {"team": TEAM, "environment": "all", "topics": [], "publicKey": "x", "keyID": "A"}, 400),
    ("POST", "/v1/devices", {"name": "x", "keyType": "dsa"}, 400),
    ("POST", "/v1/devices", {"name": "x", "csr": "nonsense"}, 400),
    ("POST", "/v1/registrations", {"topic": "com.example.none", "state": "active"}, 400),
    ("POST", "/v1/registrations", {"topic": APP, "state": "happy"}, 400),
    ("POST", "/v1/registrations", {"topic": APP, "state": "active", "token": "xyz"}, 400),
    ("GET", "/v1/apps?limit=0", None, 400),
    ("GET", "/v1/apps?limit=1001", None, 400),
    ("GET", "/v1/apps?limit=many", None, 400),
])  # fmt: skip
def test_refusals(sandbox, method, path, body, status):
    assert error_of(sandbox.admin.request(method, path, body)) == (status, True)


def test_a_body_that_is_no_json(sandbox):
    connection = http.client.HTTPConnection("127.0.0.1", sandbox.admin_port, timeout=10)
    headers = {"Authorization": f"Bearer {sandbox.admin.token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/apps", "{nonsense", headers)
    assert connection.getresponse().status == 400


def test_health_and_readiness_need_no_token(sandbox):
    for path in ("/healthz", "/readyz", "/metrics"):
        assert sandbox.admin.request("GET", path, token=None)[0] == 200


def test_status(sandbox):
    status = sandbox.admin.get("/v1/status")
    assert set(status) == {
        "version", "environment", "startedAt", "draining", "sessions", "queued", "queuedOldestSeconds",
        "acceptedPerSecond", "deliveredPerSecond", "deliverySecondsP50", "deliverySecondsP99", "storeLagSeconds",
        "certificateSecondsLeft", "authoritySecondsLeft",
    }  # fmt: skip
    assert status["environment"] == "development" and status["draining"] is False
    assert TIME.fullmatch(status["startedAt"])
    assert status["certificateSecondsLeft"] > 0


def test_an_app_has_its_topics(sandbox):
    app = sandbox.admin.get(f"/v1/apps/{APP}")
    assert (app["bundle"], app["team"], app["broadcast"]) == (APP, TEAM, False)
    assert {APP, f"{APP}.voip", f"{APP}.complication", f"{APP}.push-type.liveactivity"} <= set(app["topics"])


def test_a_topic_of_another_app_is_no_bundle(sandbox):
    sandbox.admin.add_app("com.example.deep", TEAM)
    status, _ = sandbox.admin.request("POST", "/v1/apps", {"bundle": "com.example.deep.voip", "team": TEAM})
    assert status in (400, 409)
    sandbox.admin.delete("/v1/apps/com.example.deep")
    assert sandbox.admin.request("GET", "/v1/apps/com.example.deep")[0] == 404


def test_keys(sandbox):
    made = sandbox.admin.make_key(TEAM, "development", [APP])
    assert re.fullmatch(r"[A-Z0-9]{10}", made["keyID"])
    assert "PRIVATE KEY" in made["privateKey"]
    (item,) = [key for key in sandbox.admin.get("/v1/keys", limit=1000)["items"] if key["keyID"] == made["keyID"]]
    assert set(item) == {"keyID", "team", "environment", "topics", "createdAt", "revokedAt"}
    assert (item["team"], item["environment"], item["topics"]) == (TEAM, "development", [APP])
    assert TIME.fullmatch(item["createdAt"]) and item["revokedAt"] is None
    sandbox.admin.revoke_key(made["keyID"])
    (item,) = [key for key in sandbox.admin.get("/v1/keys", limit=1000)["items"] if key["keyID"] == made["keyID"]]
    assert TIME.fullmatch(item["revokedAt"])


def test_an_imported_key_works(sandbox):
    keys = Keys(None, "IMPORTED01", TEAM)
    assert isinstance(keys.private, ec.EllipticCurvePrivateKey)
    answer = sandbox.admin.import_key(TEAM, keys.key_id, keys.public_pem)
    assert answer["keyID"] == "IMPORTED01" and not answer.get("privateKey")
    assert sandbox.push(sandbox.register(), {"authorization": keys.bearer()}).status == 200


def test_a_device_and_its_session(sandbox):
    identity = sandbox.enrol("shown")
    device = sandbox.admin.get(f"/v1/devices/{identity.id}")
    assert set(device) == {
        "id", "name", "keyType", "connected", "awake", "connectedAt", "lastSeenAt", "certificateNotAfter"
    }  # fmt: skip
    assert (device["name"], device["keyType"], device["connected"]) == ("shown", "ec", False)
    courier, _ = sandbox.online(APP, identity=identity)
    with courier:
        device = sandbox.admin.get(f"/v1/devices/{identity.id}")
        assert device["connected"] is True and device["awake"] is True
        assert TIME.fullmatch(device["connectedAt"])
        courier.set_state(2)
        courier.keep_alive()
        assert sandbox.admin.get(f"/v1/devices/{identity.id}")["awake"] is False


def test_registrations(sandbox):
    identity, (token,) = sandbox.offline(APP)
    assert sandbox.push(token).status == 200
    (item,) = sandbox.admin.get("/v1/registrations", device=identity.id)["items"]
    assert set(item) == {"token", "device", "topic", "enabled", "stored", "createdAt", "revokedAt"}
    assert (item["token"], item["device"], item["topic"], item["stored"]) == (token, identity.id, APP, 1)
    assert item["enabled"] is False and item["revokedAt"] is None
    foreign = sandbox.register(FOREIGN_APP)
    items = sandbox.admin.get("/v1/registrations", topic=FOREIGN_APP)["items"]
    assert {item["topic"] for item in items} == {FOREIGN_APP}
    assert foreign in [item["token"] for item in items]


def test_a_queue(sandbox):
    _, (token,) = sandbox.offline(APP)
    answer = sandbox.push(token, {"apns-collapse-id": "c", "apns-priority": "5"})
    (item,) = sandbox.admin.queue(token)
    assert set(item) == {"id", "apnsID", "size", "priority", "expiration", "collapseID", "ageSeconds"}
    assert (item["apnsID"], item["size"], item["priority"]) == (answer.apns_id, len(BODY), 5)
    assert item["collapseID"] == "c" and item["ageSeconds"] >= 0
    (item,) = sandbox.admin.get(f"/v1/queues/{token}", payload="true")["items"]
    assert item["payload"] == "eyJhcHMiOnsiYWxlcnQiOiJoaSJ9fQ=="


def test_the_log(sandbox):
    _, (token,) = sandbox.offline(APP)
    answer = sandbox.push(token, {"apns-collapse-id": "c"})
    row = sandbox.admin.wait_for_state(answer.apns_id, "stored-offline")
    assert set(row) == {
        "apnsID", "uniqueID", "tokenPrefix", "device", "topic", "pushType", "priority", "expiration", "collapseID",
        "size", "state", "cause", "acceptedAt", "changes",
    }  # fmt: skip
    assert (row["pushType"], row["priority"], row["size"]) == ("alert", 10, len(BODY))
    assert TIME.fullmatch(row["acceptedAt"]) and all(TIME.fullmatch(change["at"]) for change in row["changes"])
    assert token not in str(row)


def test_paging(sandbox):
    tokens = {sandbox.register(FOREIGN_APP) for _ in range(7)}
    seen, after, pages = [], None, 0
    while pages == 0 or after is not None:
        page = sandbox.admin.get("/v1/registrations", topic=FOREIGN_APP, limit=3, after=after)
        assert len(page["items"]) <= 3
        seen += [item["token"] for item in page["items"]]
        after, pages = page["next"], pages + 1
        assert pages < 50
    assert len(seen) == len(set(seen)) and tokens <= set(seen)


def test_metrics_are_there_and_hold_no_secret(sandbox):
    token = sandbox.register()
    assert sandbox.push(token).status == 200
    text = sandbox.admin.get("/metrics")
    names = {sample for sample, _ in sandbox.admin.metrics()}
    assert not [name for name in METRICS if f"carillon_{name}" not in names]
    assert "process_resident_memory_bytes" in names
    for secret in (token, token[:8], APP, sandbox.keys.key_id):
        assert secret not in text
    assert sandbox.admin.metric("provider_requests_total", status="200", reason="") >= 1


def test_nothing_secret_is_logged(fresh):
    instance = fresh({"log.level": "debug"})
    courier, (token,) = instance.online(APP)
    with courier:
        assert instance.push(token, body=b'{"aps":{"alert":"topsecret"}}').status == 200
        courier.expect_notify()
    instance.stop()
    written = "".join(instance.standard_error)
    for secret in (token, "topsecret", instance.bearer.split()[1][:60], courier.base_token.hex()):
        assert secret not in written
    instance.start()
