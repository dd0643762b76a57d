"""Lessons of other gateways, T23 to T30: provider tokens. The number names the report that the test comes from."""

import base64

import pytest

from harness import ABSENT, FOREIGN_APP
from keys import base64url, compact

INVALID = "InvalidProviderToken"


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


def judged(sandbox, token, jwt: str) -> str | None:
    """The reason, nil for a push that was accepted."""
    return sandbox.push(token, {"authorization": f"bearer {jwt}"}).reason


def with_time(sandbox, text: str) -> str:
    """A good token but for `iat`, which is this JSON."""
    head = base64url(compact({"alg": "ES256", "kid": sandbox.keys.key_id}))
    body = base64url(b'{"iss":"%s","iat":%s}' % (sandbox.keys.team.encode(), text.encode()))
    return f"{head}.{body}.{base64url(sandbox.keys.raw_signature(f'{head}.{body}'.encode()))}"


def lints(sandbox, lint: str) -> float:
    return sandbox.admin.metric("provider_lints_total", lint=lint)


def test_t23_iat_as_a_string_is_taken_and_told(sandbox, token):
    before = lints(sandbox, "iat_is_text")
    assert judged(sandbox, token, sandbox.keys.token(claims={"iat": str(int(sandbox.now()))})) is None
    assert lints(sandbox, "iat_is_text") == before + 1
    assert "iat is a string" in sandbox.tail()
    for other in ([int(sandbox.now())], {"at": 1}, True, None, "soon", ""):
        assert judged(sandbox, token, sandbox.keys.token(claims={"iat": other})) == INVALID, other


def test_t23_kid_among_the_claims_is_refused_and_told(sandbox, token):
    before = lints(sandbox, "kid_in_claims")
    jwt = sandbox.keys.token(header={"kid": ABSENT}, claims={"kid": sandbox.keys.key_id})
    assert judged(sandbox, token, jwt) == INVALID
    assert lints(sandbox, "kid_in_claims") == before + 1


@pytest.mark.parametrize("unit", [1000, 1_000_000_000], ids=["milliseconds", "nanoseconds"])
def test_t24_iat_in_another_unit_is_refused_and_told(sandbox, token, unit):
    before = lints(sandbox, "iat_in_milliseconds")
    jwt = sandbox.keys.token(claims={"iat": int(sandbox.now()) * unit})
    assert judged(sandbox, token, jwt) == INVALID
    assert lints(sandbox, "iat_in_milliseconds") == before + 1
    assert "iat looks like milliseconds" in sandbox.tail()


def test_t24_no_iat_is_refused_a_fraction_is_cut_off_and_an_old_one_has_expired(sandbox, token):
    before = lints(sandbox, "iat_missing")
    assert judged(sandbox, token, sandbox.keys.token(claims={"iat": ABSENT})) == INVALID
    assert judged(sandbox, token, sandbox.keys.token(claims={"iat": {}})) == INVALID
    assert lints(sandbox, "iat_missing") == before + 2
    assert judged(sandbox, token, with_time(sandbox, f"{int(sandbox.now())}.75")) is None
    assert judged(sandbox, token, with_time(sandbox, "-5")) == "ExpiredProviderToken"


def test_t25_clocks_that_are_off(fresh):
    """The gateway's clock is held, so that each second counts."""
    instance = fresh()
    instance.admin.hold_clock(True)
    token, now = instance.register(), instance.now()

    def age(seconds: float) -> str | None:
        return judged(instance, token, instance.keys.token(claims={"iat": int(now) - seconds}))

    for seconds in (0, 30, -30, 300, -300, 59, 59 * 60 + 59, -59 * 60 - 59):
        assert age(seconds) is None, seconds
    assert age(3602) == "ExpiredProviderToken"
    assert age(-3602) == INVALID
    # Each was seen once, and the histogram tells which way the clocks are off.
    assert instance.admin.metric("provider_token_age_seconds_count") == 10
    assert instance.admin.metric("provider_token_age_seconds_bucket", le="-30.0") == 4
    assert instance.admin.metric("provider_token_age_seconds_bucket", le="3600.0") >= 8


def test_t27_padded_base64_is_refused_although_the_signature_covers_it(sandbox, token):
    assert judged(sandbox, token, sandbox.keys.padded_token()) == INVALID


def test_t28_signatures(sandbox, token):
    keys = sandbox.keys
    # A leading zero comes once in 128 signatures; a signature of it must be as long as any other.
    for number in range(2000):
        jwt = keys.token(header={"x": number})
        raw = base64.urlsafe_b64decode(jwt.rsplit(".", 1)[1] + "==")
        if 0 in (raw[0], raw[32]):
            break
    assert 0 in (raw[0], raw[32])
    assert judged(sandbox, token, jwt) is None
    for change in (lambda raw: raw[:-1], lambda raw: raw + b"\0", lambda raw: bytes(64), lambda raw: b"\xff" * 64):
        jwt = keys.token(sign=lambda text, change=change: change(keys.raw_signature(text)))
        assert judged(sandbox, token, jwt) == INVALID
    assert judged(sandbox, token, keys.token(header={"alg": "none"}, sign=lambda text: b"")) == INVALID
    assert judged(sandbox, token, keys.token(header={"alg": "HS256"}, sign=keys.hmac_signature)) == INVALID


@pytest.mark.parametrize("scheme", ["bearer ", "Bearer ", "BEARER "])
def test_t29_the_scheme_has_any_case(sandbox, token, scheme):
    assert sandbox.push(token, {"authorization": scheme + sandbox.keys.token()}).status == 200


@pytest.mark.parametrize("value", ["", "bearer", "bearer ", "bearer{}", "bearer:{}", "{}", "basic {}"])
def test_t29_what_is_no_bearer_token_is_missing(sandbox, token, value):
    answer = sandbox.push(token, {"authorization": value.format(sandbox.keys.token())})
    assert (answer.status, answer.reason) == (403, "MissingProviderToken")


def test_t29_two_authorization_headers(sandbox, token):
    with sandbox.client() as client:
        headers = sandbox.headers(token, extra=[("authorization", sandbox.bearer)])
        answer = client.request(headers, b"{}")
    assert (answer.status, answer.reason) == (400, "DuplicateHeaders")


def test_t30_a_second_team_on_a_connection(sandbox, fresh):
    def second(instance) -> str | None:
        own, foreign = instance.register(), instance.register(FOREIGN_APP)
        with instance.client() as client:
            assert instance.push_on(client, own).status == 200
            changes = {"authorization": instance.foreign_keys.bearer(), "apns-topic": FOREIGN_APP}
            return instance.push_on(client, foreign, changes).reason

    assert second(sandbox) == INVALID
    assert second(fresh({"provider.severalTeams": "on"})) is None
