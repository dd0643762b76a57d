"""Every field of every body and query of the admin API, with every kind of value that it must not have."""

import pytest

from harness import APP, TEAM

pytestmark = pytest.mark.sanitizer

KINDS = {
    "text": ["", "x"], "number": [0, 1, -1, 2**53, -(2**63), 2**64 - 1], "fraction": [1.5, 1e300],
    "flag": [True, False],
    "list": [[], [1], ["x"], [[]]], "object": [{}, {"a": 1}],
}  # fmt: skip
#: For each body: a good one, and of each field the kinds that it may have.
BODIES = {
    "/v1/apps": (
        {"bundle": "com.example.typed", "team": TEAM, "broadcast": True, "topics": []},
        {"bundle": "text", "team": "text", "broadcast": "flag", "topics": "list"},
    ),
    "/v1/keys": (
        {"team": TEAM, "environment": "all", "topics": [APP], "publicKey": "", "keyID": "TYPEDKEY01"},
        {"team": "text", "environment": "text", "topics": "list", "publicKey": "text", "keyID": "text"},
    ),
    "/v1/devices": (
        {"name": "typed", "keyType": "ec", "csr": ""}, {"name": "text", "keyType": "text", "csr": "text"},
    ),
    "/v1/registrations": (
        {"topic": APP, "device": "", "token": "ab" * 32, "state": "active"},
        {"topic": "text", "device": "text", "token": "text", "state": "text"},
    ),
    "/v1/test/clock": ({"advance": "0s"}, {"advance": "text", "hold": "flag"}),
    "/v1/test/store": ({"hold": False, "fail": 0}, {"hold": "flag", "fail": "number"}),
    "/v1/test/answer": (
        {"reason": "InternalServerError", "status": 500, "times": 0},
        {"status": "number", "reason": "text", "times": "number"},
    ),
}  # fmt: skip
WRONG = [
    (path, field, value)
    for path, (_, fields) in BODIES.items()
    for field, right in fields.items()
    for kind, values in KINDS.items()
    for value in values
    if kind != right
]
SHOWN = {True: "true", False: "false"}


def described(value) -> str:
    """What a refusal calls a value."""
    if isinstance(value, bool):
        return SHOWN[value]
    return {str: "text", list: "a list", dict: "an object"}.get(type(value), "")


def counts(instance) -> list[int]:
    """How many of everything there are."""
    return [len(instance.admin.get(f"/v1/{name}", limit=1000)["items"]) for name in ("apps", "keys", "devices")]


@pytest.fixture(autouse=True)
def nothing_made(sandbox):
    before = counts(sandbox)
    yield
    assert counts(sandbox) == before


@pytest.mark.parametrize("path, field, value", WRONG)
def test_a_field_of_the_wrong_type_is_named(sandbox, path, field, value):
    status, answer = sandbox.admin.request("POST", path, BODIES[path][0] | {field: value})
    assert status == 400 and answer["error"]["code"] == "bad_request", answer
    message = answer["error"]["message"]
    assert message.startswith(f"{field} must be ") and described(value) in message, message


@pytest.mark.parametrize("path, field", [(path, field) for path, (_, fields) in BODIES.items() for field in fields])
def test_a_misspelt_field_is_named_with_what_was_meant(sandbox, path, field):
    status, answer = sandbox.admin.request("POST", path, BODIES[path][0] | {field + "s": "x"})
    assert status == 400 and f"unknown field '{field}s'" in answer["error"]["message"]
    assert f"did you mean {field}?" in answer["error"]["message"]


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("name", ["", "x", "__proto__", "a\u0000b", "\u202e", "n" * 100_000])
def test_an_unknown_field_is_named(sandbox, path, name):
    status, answer = sandbox.admin.request("POST", path, BODIES[path][0] | {name: 1})
    assert status == 400 and f"unknown field '{name[:100]}'" in answer["error"]["message"]
    assert len(answer["error"]["message"]) < 500


@pytest.mark.parametrize("path, field", [
    ("/v1/apps", "bundle"), ("/v1/apps", "team"), ("/v1/keys", "team"), ("/v1/devices", "name"),
    ("/v1/registrations", "topic"), ("/v1/test/clock", "advance"), ("/v1/test/answer", "reason"),
])  # fmt: skip
@pytest.mark.parametrize("is_null", [True, False])
def test_a_missing_field_is_named(sandbox, path, field, is_null):
    body = BODIES[path][0] | {field: None}
    if not is_null:
        del body[field]
    status, answer = sandbox.admin.request("POST", path, body)
    assert status == 400 and answer["error"]["message"].startswith(f"{field} is missing"), answer


def test_an_item_of_a_list_is_named_by_its_place(sandbox):
    for path, field in (("/v1/apps", "topics"), ("/v1/keys", "topics")):
        for value, shown in ((1, "1"), (None, "null"), ([], "a list"), (True, "true")):
            status, answer = sandbox.admin.request("POST", path, BODIES[path][0] | {field: ["x", value]})
            assert status == 400 and answer["error"]["message"] == f"{field}[1] must be text, not {shown}"
        status, answer = sandbox.admin.request("POST", path, BODIES[path][0] | {field: ["x"] * 401})
        assert status == 400 and answer["error"]["message"].startswith(f"{field} must have at most ")


@pytest.mark.parametrize("path", [
    "/v1/apps?limit=x", "/v1/apps?limit=", "/v1/apps?limit=1.5", "/v1/apps?limit=+1", "/v1/apps?limit=0x10",
    "/v1/apps?limit=99999999999999999999", "/v1/keys?limit=-1", "/v1/devices?limit=0", "/v1/registrations?limit=1001",
    "/v1/notifications?limit=ten", "/v1/notifications?after=x", "/v1/notifications?state=lost",
    "/v1/notifications?follow=yes", "/v1/notifications?follow=", "/v1/notifications?follow=1",
])  # fmt: skip
def test_a_field_of_a_query_is_named(sandbox, path):
    field = path.split("?")[1].split("=")[0]
    status, answer = sandbox.admin.request("GET", path)
    assert status == 400 and answer["error"]["message"].startswith(f"{field} "), answer


def test_whether_payloads_are_shown_is_true_or_false(sandbox):
    token = sandbox.register()
    try:
        for value in ("yes", "1", "TRUE", ""):
            status, answer = sandbox.admin.request("GET", f"/v1/queues/{token}?payload={value}")
            assert status == 400 and answer["error"]["message"].startswith("payload must be true or false")
        assert sandbox.admin.request("GET", f"/v1/queues/{token}?payload=false")[0] == 200
    finally:
        sandbox.admin.revoke(token)
