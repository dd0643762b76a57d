"""What the admin API lists and makes: exact fields, every path's refusals, filters and pages."""

import hashlib
import http.client
import json
import os
import re
import uuid

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from delivery import leave, live, push, push_all, received
from harness import APP, BODY, FOREIGN_APP, FOREIGN_TEAM, NEVER_ISSUED, OTHER_APP, TEAM, Keys, Sandbox

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
FIELDS = {
    "apps": {"bundle", "team", "broadcast", "topics"},
    "keys": {"keyID", "team", "environment", "topics", "createdAt", "revokedAt"},
    "devices": {
        "id", "name", "keyType", "connected", "awake", "connectedAt", "lastSeenAt", "certificateNotAfter"
    },
    "registrations": {"token", "device", "topic", "enabled", "stored", "createdAt", "revokedAt"},
    "notifications": {
        "apnsID", "uniqueID", "tokenPrefix", "device", "topic", "pushType", "priority", "expiration", "collapseID",
        "size", "state", "cause", "acceptedAt", "changes",
    },
}  # fmt: skip
#: What names an item of each list.
NAMES = {"apps": "bundle", "keys": "keyID", "devices": "id", "registrations": "token", "notifications": "apnsID"}


@pytest.fixture(scope="module")
def world():
    """A gateway of its own, so that everything it lists was made here."""
    with Sandbox() as instance:
        for n in range(7):
            instance.admin.add_app(f"com.example.paged{n}", "PAGEDTEAM1")
            instance.admin.make_key("PAGEDTEAM1", topics=[f"com.example.paged{n}"])
        courier, (token, other) = live(instance, APP, OTHER_APP)
        push_all(instance, token, *range(5))
        received(courier, 5)
        leave(instance, courier)
        instance.phone, instance.token, instance.other = courier.identity, token, other
        instance.answers = push_all(instance, token, *range(5, 12), collapse=None, priority=5)
        push(instance, other, 1, topic=OTHER_APP, collapse="c", expiration=int(instance.now()) + 600)
        for n in range(3):
            instance.enrol(f"tablet {n}", key_type="rsa" if n == 1 else "ec")
            instance.register(OTHER_APP)
        instance.admin.wait_for_state(instance.answers[-1].apns_id, "stored-offline")
        yield instance


def raw(instance, method: str, path: str, body: bytes | None = None, **headers: str):
    connection = http.client.HTTPConnection("127.0.0.1", instance.admin_port, timeout=10)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


# Refusals


PATHS = [
    ("GET", "/v1/status"), ("GET", "/v1/apps"), ("POST", "/v1/apps"), ("GET", f"/v1/apps/{APP}"),
    ("DELETE", f"/v1/apps/{APP}"), ("GET", "/v1/keys"), ("POST", "/v1/keys"), ("DELETE", "/v1/keys/ABC123DEFG"),
    ("GET", "/v1/devices"), ("POST", "/v1/devices"), ("GET", "/v1/devices/0123456789abcdef"),
    ("DELETE", "/v1/devices/0123456789abcdef"), ("GET", "/v1/registrations"), ("POST", "/v1/registrations"),
    ("DELETE", f"/v1/registrations/{NEVER_ISSUED}"), ("GET", "/v1/notifications"),
    ("GET", f"/v1/queues/{NEVER_ISSUED}"), ("POST", "/v1/drain"), ("DELETE", "/v1/drain"),
    ("POST", "/v1/test/clock"), ("POST", "/v1/test/store"), ("POST", "/v1/test/answer"), ("GET", "/v1/no/such"),
]  # fmt: skip


@pytest.mark.parametrize("method, path", PATHS)
def test_401_before_anything_else(world, method, path):
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}):
        status, got, body = raw(world, method, path, b"{nonsense" if method == "POST" else None, **headers)
        assert status == 401
        assert got["Content-Type"].startswith("application/json")
        error = json.loads(body)
        assert set(error) == {"error"} and set(error["error"]) == {"code", "message"}
        assert all(isinstance(text, str) and text for text in error["error"].values())


@pytest.mark.parametrize("path", [path for method, path in PATHS if method == "POST" and path != "/v1/drain"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"7", b'"x"', b"\xff\xfe", b"[" * 5000])
def test_400_for_a_body_that_makes_no_sense(world, path, body):
    status, _, text = raw(world, "POST", path, body, Authorization=f"Bearer {world.admin.token}")
    assert status == 400, text
    assert set(json.loads(text)["error"]) == {"code", "message"}


@pytest.mark.parametrize("path, body, status", [
    ("/v1/apps", {"bundle": APP, "team": TEAM, "broadcast": True}, 409),
    ("/v1/apps", {"bundle": APP, "team": FOREIGN_TEAM}, 409),
    ("/v1/apps", {"bundle": "", "team": TEAM}, 400),
    ("/v1/apps", {"bundle": "com.example.x" * 30, "team": TEAM}, 400),
    ("/v1/apps", {"bundle": "com.example.x", "team": "teamalpha1"}, 400),
    ("/v1/apps", {"bundle": "com.example.x", "team": TEAM, "broadcast": "yes"}, 400),
    ("/v1/apps", {"bundle": "com.example.x.push-type.liveactivity", "team": TEAM}, 400),
    ("/v1/apps", {"bundle": "com.example.x.complication", "team": TEAM}, 400),
    ("/v1/keys", {"team": TEAM, "environment": "all", "topics": "x"}, 400),
    ("/v1/keys", {"team": TEAM, "environment": "Development", "topics": []}, 400),
    ("/v1/devices", {"name": "x", "keyType": "EC"}, 400),
    ("/v1/devices", {"name": "a\u001b[2Jb", "keyType": "ec"}, 400),
    ("/v1/devices", {"name": "a\nb", "keyType": "ec"}, 400),
    ("/v1/devices", {"keyType": "ec"}, 400),
    ("/v1/registrations", {"topic": APP, "state": "gone"}, 400),
    ("/v1/registrations", {"topic": APP, "token": "abc", "state": "active"}, 400),
    ("/v1/registrations", {"topic": APP, "token": "", "state": "active"}, 400),
    ("/v1/registrations", {"state": "active"}, 400),
])  # fmt: skip
def test_what_cannot_be_made(world, path, body, status):
    got, answer = world.admin.request("POST", path, body)
    assert got == status, answer
    assert set(answer["error"]) == {"code", "message"}


def test_what_exists_is_409(world):
    key = Keys(None, "ONCEONLY01", TEAM)
    world.admin.import_key(TEAM, key.key_id, key.public_pem)
    body = {"team": TEAM, "environment": "all", "topics": [], "publicKey": key.public_pem, "keyID": key.key_id}
    assert world.admin.request("POST", "/v1/keys", body)[0] == 409
    body = {"topic": APP, "token": world.token, "state": "active"}
    assert world.admin.request("POST", "/v1/registrations", body)[0] == 409
    unknown = {"topic": APP, "device": "0123456789abcdef", "state": "active"}
    assert world.admin.request("POST", "/v1/registrations", unknown)[0] in (400, 404)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("limit", ["0", "-1", "1001", "many", "1.5", "", "99999999999999999999"])
def test_400_for_a_bad_limit(world, name, limit):
    status, answer = world.admin.request("GET", f"/v1/{name}?limit={limit}")
    assert status == 400 and set(answer["error"]) == {"code", "message"}


@pytest.mark.parametrize("name", FIELDS)
def test_a_bad_place_to_go_on_from_is_no_crash(world, name):
    for after in ("x", "-1", "99999999999999999999", "%00", "' or 1=1"):
        status, _ = world.admin.request("GET", f"/v1/{name}?after={after.replace(' ', '%20')}")
        assert status in (200, 400)


# Lists


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", FIELDS)
def test_every_item_has_its_fields(world, name):
    page = world.admin.get(f"/v1/{name}")
    assert set(page) == {"items", "next"} and page["next"] is None and page["items"]
    for item in page["items"]:
        assert set(item) == FIELDS[name]
        for field, value in item.items():
            if field.endswith("At") or field == "certificateNotAfter":
                assert value is None or TIME.fullmatch(value), f"{field}: {value}"


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_are_the_whole_list_in_its_order(world, name, limit):
    whole = world.admin.get(f"/v1/{name}", limit=1000)["items"]
    seen, after = [], None
    for _ in range(len(whole) + 1):
        page = world.admin.get(f"/v1/{name}", limit=limit, after=after)
        assert len(page["items"]) <= limit
        seen += page["items"]
        after = page["next"]
        if after is None:
            break
    assert [item[NAMES[name]] for item in seen] == [item[NAMES[name]] for item in whole]
    assert len({item[NAMES[name]] for item in whole}) == len(whole)


def test_a_queue_has_pages_too(world):
    whole = world.admin.get(f"/v1/queues/{world.token}")["items"]
    assert [item["apnsID"] for item in whole] == [answer.apns_id for answer in world.answers]
    first = world.admin.get(f"/v1/queues/{world.token}", limit=4)
    second = world.admin.get(f"/v1/queues/{world.token}", limit=4, after=first["next"])
    items = first["items"] + second["items"]
    assert second["next"] is None
    assert [item["apnsID"] for item in items] == [item["apnsID"] for item in whole]


def test_a_queue_shows_payloads_only_when_asked(world):
    (item,) = world.admin.get(f"/v1/queues/{world.other}")["items"]
    assert set(item) == {"id", "apnsID", "size", "priority", "expiration", "collapseID", "ageSeconds"}
    assert (item["collapseID"], item["size"], item["priority"]) == ("c", 7, 10)
    assert item["expiration"] is not None and 0 <= item["ageSeconds"] < 60
    (item,) = world.admin.get(f"/v1/queues/{world.other}", payload="true")["items"]
    assert item["payload"] == "eyJuIjoxfQ=="
    (item,) = world.admin.get(f"/v1/queues/{world.other}", payload="false")["items"]
    assert "payload" not in item


def test_registrations_by_device_and_topic(world):
    def tokens(**query) -> set:
        return {item["token"] for item in world.admin.get("/v1/registrations", **query)["items"]}

    assert tokens(device=world.phone.id) == {world.token, world.other}
    assert tokens(device=world.phone.id, topic=OTHER_APP) == {world.other}
    assert world.other in tokens(topic=OTHER_APP) and world.token not in tokens(topic=OTHER_APP)
    assert tokens(device="fedcba9876543210") == tokens(topic=FOREIGN_APP) == set()
    item = world.admin.registration(world.token)
    assert (item["stored"], item["enabled"], item["revokedAt"]) == (7, False, None)


@pytest.mark.sanitizer
def test_notifications_by_every_filter(world):
    def found(**query) -> list[str]:
        return [item["apnsID"] for item in world.admin.get("/v1/notifications", limit=1000, **query)["items"]]

    answer = world.answers[3]
    assert found(apnsID=answer.apns_id) == found(uniqueID=answer.header("apns-unique-id")) == [answer.apns_id]
    assert len(found(token=world.token)) == 12 and len(found(topic=OTHER_APP)) == 1
    assert set(found(token=world.token, state="stored-offline")) == {answer.apns_id for answer in world.answers}
    assert len(found(token=world.token, state="delivered")) == 5
    assert found(apnsID=answer.apns_id, topic=OTHER_APP) == found(apnsID=str(uuid.uuid4())) == []
    assert len(found(token=NEVER_ISSUED)) == 0


def test_a_row_tells_what_was_asked_for(world):
    (row,) = world.admin.get("/v1/notifications", topic=OTHER_APP)["items"]
    assert (row["pushType"], row["priority"], row["collapseID"], row["size"]) == ("alert", 10, "c", 7)
    assert (row["state"], row["cause"], row["device"]) == ("stored-offline", None, world.phone.id)
    assert row["expiration"] is not None and row["tokenPrefix"] == world.other[:8]
    for change in row["changes"]:
        assert set(change) == {"at", "state", "cause"} and TIME.fullmatch(change["at"])
    assert [change["at"] for change in row["changes"]] == sorted(change["at"] for change in row["changes"])


# What is made


def test_a_device_made_by_the_gateway(world):
    for key_type, kind in (("ec", ec.EllipticCurvePrivateKey), ("rsa", rsa.RSAPrivateKey)):
        made = world.admin.add_device("made", key_type)
        assert set(made) == FIELDS["devices"] | {"certificate", "ca", "privateKey"}
        key = serialization.load_pem_private_key(made["privateKey"].encode(), None)
        assert isinstance(key, kind)
        certificate = x509.load_pem_x509_certificate(made["certificate"].encode())
        form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        assert certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)
        assert made["id"] == hashlib.sha256(key.public_key().public_bytes(*form)).hexdigest()[:16]
        assert x509.load_pem_x509_certificate(made["ca"].encode()).subject == certificate.issuer
        ends = certificate.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        assert (made["certificateNotAfter"], made["keyType"]) == (ends, key_type)
        assert (made["connected"], made["connectedAt"], made["lastSeenAt"]) == (False, None, None)
        assert "privateKey" not in world.admin.get(f"/v1/devices/{made['id']}")


def test_a_device_with_a_request_gets_no_key(world):
    device = world.enrol("own key")
    answer = world.admin.get(f"/v1/devices/{device.id}")
    assert answer["name"] == "own key"
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert device.id == hashlib.sha256(device.key.public_key().public_bytes(*form)).hexdigest()[:16]
    status, answer = world.admin.request("POST", "/v1/devices", {"name": "again", "csr": device._request("again")})
    assert status in (201, 409)


def test_a_device_is_seen(world):
    courier, _ = live(world, APP)
    shown = world.admin.get(f"/v1/devices/{courier.identity.id}")
    assert shown["connected"] is True and TIME.fullmatch(shown["connectedAt"])
    leave(world, courier)
    shown = world.admin.get(f"/v1/devices/{courier.identity.id}")
    assert shown["connected"] is False and TIME.fullmatch(shown["lastSeenAt"])


def test_apps_and_keys_and_registrations_that_were_made(world):
    app = world.admin.add_app("com.example.made", "MADETEAM01", broadcast=True)
    assert set(app) == FIELDS["apps"] and app["broadcast"] is True
    assert app == world.admin.get("/v1/apps/com.example.made")
    assert "com.example.made" in app["topics"] and "com.example.made.voip" in app["topics"]
    key = world.admin.make_key("MADETEAM01", "development", ["com.example.made"])
    assert set(key) - {"privateKey"} == FIELDS["keys"] and key["revokedAt"] is None
    serialization.load_pem_private_key(key["privateKey"].encode(), None)
    token = os.urandom(64).hex()
    made = world.admin.post("/v1/registrations", {"topic": "com.example.made", "token": token, "state": "active"})
    assert set(made) == FIELDS["registrations"] and (made["token"], made["stored"]) == (token, 0)
    keys = Keys(key["privateKey"], key["keyID"], "MADETEAM01", world.now)
    answer = world.push(token, {"apns-topic": "com.example.made", "authorization": keys.bearer()}, BODY)
    assert answer.status == 200
    world.admin.revoke(token)
    assert TIME.fullmatch(world.admin.registration(token)["revokedAt"])
    world.admin.delete("/v1/apps/com.example.made")
    assert world.admin.request("DELETE", "/v1/apps/com.example.made")[0] == 404
