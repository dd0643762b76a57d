"""Provider tokens (docs/provider-api.md).

The code in a test's name, such as J4, is for finding it. J29 to J31 would need the binding of a connection to its
first key, J37 a client certificate.
"""

import pytest

from harness import ABSENT, APP, FOREIGN_APP, FOREIGN_TEAM, NEVER_ISSUED, OTHER_APP, Keys, Sandbox

pytestmark = pytest.mark.sanitizer

HOUR = 3600
MISSING, INVALID, EXPIRED = "MissingProviderToken", "InvalidProviderToken", "ExpiredProviderToken"


@pytest.fixture(scope="module")
def token(sandbox):
    return sandbox.register()


def push_with(sandbox, token, authorization):
    return sandbox.push(token, {"authorization": authorization})


def refused(sandbox, token, authorization, reason=INVALID):
    answer = push_with(sandbox, token, authorization)
    assert (answer.status, answer.reason) == (403, reason)


@pytest.mark.parametrize("value", [
    pytest.param(None, id="J1_absent"),
    pytest.param("Basic abc", id="J2_basic"),
    pytest.param("bearer ", id="J3_bearer_and_nothing"),
    pytest.param("bearer", id="J3_bearer"),
    pytest.param("", id="J3_empty"),
    pytest.param("bearer{}", id="J2_no_space"),
    pytest.param("bearer\t{}", id="J2_tab"),
    pytest.param("{}", id="J2_no_scheme"),
])  # fmt: skip
def test_missing(sandbox, token, value):
    refused(sandbox, token, value and value.format(sandbox.keys.token()), MISSING)


@pytest.mark.parametrize("scheme", ["Bearer", "BEARER", "bEaReR"])
def test_J4_the_scheme_in_any_case(sandbox, token, scheme):
    assert push_with(sandbox, token, f"{scheme} {sandbox.keys.token()}").status == 200


@pytest.mark.parametrize("value", [
    pytest.param("abc", id="J5_word"),
    pytest.param("a.b", id="J5_two_segments"),
    pytest.param("..", id="J5_empty_segments"),
    pytest.param("!.!.!", id="J5_not_base64"),
    pytest.param("e30.e30.AAAA", id="J5_empty_objects"),
    pytest.param("W10.W10.AAAA", id="J5_arrays"),
    pytest.param("x" * 6000, id="J5_long"),
])  # fmt: skip
def test_not_a_token(sandbox, token, value):
    refused(sandbox, token, f"bearer {value}")


@pytest.mark.parametrize("header", [
    pytest.param({"kid": "ZZZZZZZZZZ"}, id="J6_unknown_kid"),
    pytest.param({"kid": ABSENT}, id="J7_no_kid"),
    pytest.param({"kid": 7}, id="J7_kid_is_a_number"),
    pytest.param({"kid": ""}, id="J7_empty_kid"),
    pytest.param({"alg": "RS256"}, id="J10_RS256"),
    pytest.param({"alg": "es256"}, id="J10_lower_case_algorithm"),
    pytest.param({"alg": 1}, id="J10_algorithm_is_a_number"),
])  # fmt: skip
def test_bad_header(sandbox, token, header):
    refused(sandbox, token, sandbox.keys.bearer(header=header))


def test_J8_signature_of_another_key(sandbox, token):
    refused(sandbox, token, sandbox.keys.bearer(sign=Keys(None, "", "").raw_signature))


def test_J8_a_changed_claim(sandbox, token):
    head, _, signature = sandbox.keys.token().split(".")
    _, body, _ = sandbox.keys.token(issued=-5).split(".")
    refused(sandbox, token, f"bearer {head}.{body}.{signature}")


@pytest.mark.parametrize("change", [
    pytest.param(lambda raw: raw[:63], id="J8_63_bytes"),
    pytest.param(lambda raw: raw + b"\0", id="J8_65_bytes"),
    pytest.param(lambda raw: b"", id="J8_empty"),
    pytest.param(lambda raw: bytes(64), id="J8_zeros"),
    pytest.param(lambda raw: raw[:32] + bytes(32), id="J8_s_is_zero"),
    pytest.param(lambda raw: b"\xff" * 64, id="J8_beyond_the_order"),
    pytest.param(lambda raw: bytes.fromhex("3006020100020100"), id="J8_der_zeros"),
])  # fmt: skip
def test_bad_signature(sandbox, token, change):
    keys = sandbox.keys
    refused(sandbox, token, keys.bearer(sign=lambda text: change(keys.raw_signature(text))))


def test_J8_a_raw_signature_with_a_leading_zero_is_good(sandbox, token):
    keys = sandbox.keys
    for issued in range(0, -3000, -1):
        candidate = keys.token(issued=issued)
        if candidate.rsplit(".", 1)[1].startswith("AA"):
            break
    assert push_with(sandbox, token, f"bearer {candidate}").status == 200


def test_J9_iss_of_another_team(sandbox, token):
    refused(sandbox, token, sandbox.keys.bearer(claims={"iss": FOREIGN_TEAM}))


@pytest.mark.parametrize("claims", [
    pytest.param({"iss": ABSENT}, id="J9_no_iss"),
    pytest.param({"iss": "NOSUCHTEAM"}, id="J9_unknown_team"),
    pytest.param({"iat": ABSENT}, id="J13_no_iat"),
    pytest.param({"iat": {}}, id="J13_iat_is_an_object"),
    pytest.param({"iat": None}, id="J13_iat_is_null"),
    pytest.param({"iat": "soon"}, id="J13_iat_is_a_word"),
    pytest.param({"iat": ""}, id="J13_iat_is_empty"),
])  # fmt: skip
def test_bad_claim(sandbox, token, claims):
    refused(sandbox, token, sandbox.keys.bearer(claims=claims))


def test_J10_HS256_with_the_public_key(sandbox, token):
    keys = sandbox.keys
    refused(sandbox, token, keys.bearer(header={"alg": "HS256"}, sign=keys.hmac_signature))


def test_J11_no_algorithm_no_signature(sandbox, token):
    refused(sandbox, token, sandbox.keys.bearer(header={"alg": "none"}, sign=lambda text: b""))


def test_J11_none_with_a_good_signature(sandbox, token):
    refused(sandbox, token, sandbox.keys.bearer(header={"alg": "none"}))


def test_J12_ES384(sandbox, token):
    keys = sandbox.keys
    refused(sandbox, token, keys.bearer(header={"alg": "ES384"}, sign=keys.es384_signature))


@pytest.mark.parametrize("issued, reason", [
    pytest.param(-59 * 60, None, id="J14_59_minutes_old"),
    pytest.param(-HOUR + 5, None, id="J14_just_under_an_hour"),
    pytest.param(-61 * 60, EXPIRED, id="J15_61_minutes_old"),
    pytest.param(-HOUR - 2, EXPIRED, id="J15_just_over_an_hour"),
    pytest.param(-365 * 24 * HOUR, EXPIRED, id="J15_a_year_old"),
    pytest.param(59 * 60, None, id="J16_59_minutes_ahead"),
    pytest.param(61 * 60, INVALID, id="J17_61_minutes_ahead"),
    pytest.param(365 * 24 * HOUR, INVALID, id="J17_a_year_ahead"),
])  # fmt: skip
def test_age(sandbox, token, issued, reason):
    answer = push_with(sandbox, token, sandbox.keys.bearer(issued=issued))
    assert (answer.status, answer.reason) == ((403, reason) if reason else (200, None))


def test_J15_a_negative_iat_is_old(sandbox, token):
    refused(sandbox, token, sandbox.keys.bearer(claims={"iat": -1}), EXPIRED)


@pytest.mark.parametrize("form", [
    pytest.param(lambda now: now * 1000, id="J17_milliseconds"),
    pytest.param(lambda now: now * 10**9, id="J17_nanoseconds"),
    pytest.param(lambda now: str(now * 1000), id="J17_milliseconds_as_a_string"),
    pytest.param(lambda now: 10**30, id="J17_beyond_64_bits"),
])  # fmt: skip
def test_iat_far_ahead(sandbox, token, form):
    refused(sandbox, token, sandbox.keys.bearer(claims={"iat": form(int(sandbox.now()))}))


@pytest.mark.parametrize("form", [
    pytest.param(lambda now: str(int(now)), id="J18_string_of_seconds"),
    pytest.param(lambda now: int(now) + 0.75, id="J18_fraction"),
])  # fmt: skip
def test_iat_forms(sandbox, token, form):
    assert push_with(sandbox, token, sandbox.keys.bearer(claims={"iat": form(sandbox.now())})).status == 200


def test_J19_signature_in_DER(sandbox, token):
    assert push_with(sandbox, token, sandbox.keys.bearer(sign=sandbox.keys.der_signature)).status == 200


@pytest.mark.parametrize("header, claims", [
    pytest.param({"typ": "JWT"}, {"exp": 4102444800, "kid": "x", "extra": [1]}, id="J20_extra_fields"),
    pytest.param({"alg": ABSENT}, {}, id="J20_no_alg_is_ES256"),
    pytest.param({"x5c": ["a"]}, {"aud": None}, id="J20_other_fields"),
])  # fmt: skip
def test_lenient(sandbox, token, header, claims):
    assert push_with(sandbox, token, sandbox.keys.bearer(header=header, claims=claims)).status == 200


def test_J21_padded_segments(sandbox, token):
    padded = sandbox.keys.padded_token()
    assert all(segment.endswith("=") for segment in padded.split("."))
    refused(sandbox, token, f"bearer {padded}")
    assert push_with(sandbox, token, f"bearer {sandbox.keys.token()}").status == 200


def test_J22_an_expired_token_does_not_stick(sandbox, token):
    with sandbox.client() as client:
        old = {"authorization": sandbox.keys.bearer(issued=-61 * 60)}
        assert sandbox.push_on(client, token, old).reason == EXPIRED
        assert sandbox.push_on(client, token).status == 200


def test_J23_the_same_token_1000_times(sandbox, token):
    with sandbox.client() as client:
        assert sandbox.push_on(client, token).status == 200
        headers = sandbox.headers(token)
        for _ in range(10):
            streams = [client.start(headers, b"{}") for _ in range(100)]
            client.wait(*streams)
            assert {stream.status for stream in streams} == {200}


def different_tokens(instance, client, token: str, count: int) -> list:
    """The answers to pushes with this many different good tokens on one connection."""
    return [instance.push_on(client, token, {"authorization": instance.keys.bearer()}) for _ in range(count)]


def test_J24_many_tokens_and_J25_a_new_connection(sandbox, token):
    with sandbox.client() as client:
        first = {"authorization": sandbox.keys.bearer()}
        assert sandbox.push_on(client, token, first).status == 200
        answers = different_tokens(sandbox, client, token, 4)
        assert [answer.status for answer in answers] == [200] * 4
        last = {"authorization": sandbox.keys.bearer()}
        answer = sandbox.push_on(client, token, last)
        assert (answer.status, answer.reason) == (429, "TooManyProviderTokenUpdates")
        assert sandbox.push_on(client, token, first).status == 200
    assert sandbox.push(token, last).status == 200


def test_J24_failed_tokens_do_not_count(sandbox, token):
    with sandbox.client() as client:
        for _ in range(10):
            bad = {"authorization": sandbox.keys.bearer(sign=Keys(None, "", "").raw_signature)}
            assert sandbox.push_on(client, token, bad).reason == INVALID
        assert [answer.status for answer in different_tokens(sandbox, client, token, 5)] == [200] * 5


def test_J24_the_letter_of_apple(fresh):
    instance = fresh({"provider.tokenUpdates": "1"})
    token = instance.register()
    with instance.client() as client:
        assert [answer.status for answer in different_tokens(instance, client, token, 2)] == [200, 429]
        instance.advance("21m")
        assert different_tokens(instance, client, token, 1)[0].status == 200


def test_J26_another_token_after_21_minutes(fresh):
    instance = fresh()
    token = instance.register()
    with instance.client() as client:
        statuses = [answer.status for answer in different_tokens(instance, client, token, 6)]
        assert statuses == [200] * 5 + [429]
        instance.advance("21m")
        assert different_tokens(instance, client, token, 1)[0].status == 200


def foreign(sandbox) -> dict:
    return {"authorization": sandbox.foreign_keys.bearer(), "apns-topic": FOREIGN_APP}


def test_J27_a_second_team(sandbox, token):
    theirs = sandbox.register(FOREIGN_APP)
    assert sandbox.push(theirs, foreign(sandbox)).status == 200
    with sandbox.client() as client:
        assert sandbox.push_on(client, token).status == 200
        answer = sandbox.push_on(client, theirs, foreign(sandbox))
        assert (answer.status, answer.reason) == (403, INVALID)
        assert sandbox.push_on(client, token).status == 200


def test_J27_bound_by_the_first_verified_token_whatever_the_answer(sandbox, token):
    theirs = sandbox.register(FOREIGN_APP)
    with sandbox.client() as client:
        assert sandbox.push_on(client, token, {"apns-priority": "7"}).status == 400
        assert sandbox.push_on(client, theirs, foreign(sandbox)).reason == INVALID


def test_J27_several_teams_by_setting(fresh):
    instance = fresh({"provider.severalTeams": "on"})
    ours, theirs = instance.register(), instance.register(FOREIGN_APP)
    with instance.client() as client:
        assert instance.push_on(client, ours).status == 200
        assert instance.push_on(client, theirs, foreign(instance)).status == 200


@pytest.mark.parametrize("environment, scope, settings, reason", [
    pytest.param("production", "development", {}, "BadEnvironmentKeyInToken", id="J28_sandbox_key"),
    pytest.param("development", "production", {}, "BadEnvironmentKeyInToken", id="J28_production_key"),
    pytest.param("production", "development", {"provider.environmentKeyReason": "documented"},
                 "BadEnvironmentKeyIdInToken", id="J28_documented_spelling"),
    pytest.param("production", "production", {}, None, id="J28_matching_key"),
])  # fmt: skip
def test_environment_of_a_key(environment, scope, settings, reason):
    with Sandbox(settings, environment=environment) as instance:
        courier, (token,) = instance.online(APP)
        courier.close()
        answer = push_with(instance, token, instance.new_keys(environment=scope).bearer())
        assert (answer.status, answer.reason) == ((403, reason) if reason else (200, None))


def test_J32_a_topic_key(sandbox, token):
    keys = sandbox.new_keys(topics=[OTHER_APP])
    answer = push_with(sandbox, token, keys.bearer())
    assert (answer.status, answer.reason) == (400, "TopicDisallowed")
    other = sandbox.register(OTHER_APP)
    assert sandbox.push(other, {"authorization": keys.bearer(), "apns-topic": OTHER_APP}).status == 200


def test_J33_a_key_revoked_while_the_connection_is_open(sandbox, token):
    keys = sandbox.new_keys()
    ours = {"authorization": keys.bearer()}
    with sandbox.client() as client:
        assert sandbox.push_on(client, token, ours).status == 200
        sandbox.admin.revoke_key(keys.key_id)
        answer = sandbox.push_on(client, token, ours)
        assert (answer.status, answer.reason) == (403, INVALID)
        assert sandbox.push_on(client, token).status == 200
    refused(sandbox, token, keys.bearer())


def test_J34_bad_token_and_bad_device_token(sandbox):
    refused(sandbox, NEVER_ISSUED, "bearer abc")


def test_J35_no_token_and_wrong_topic(sandbox, token):
    answer = sandbox.push(token, {"authorization": None, "apns-topic": "com example"})
    assert (answer.status, answer.reason) == (403, MISSING)


def test_J36_bad_token_and_a_long_collapse_id(sandbox, token):
    answer = sandbox.push(token, {"authorization": "bearer abc", "apns-collapse-id": "x" * 80})
    assert (answer.status, answer.reason) == (403, INVALID)
