"""Running a gateway: health, readiness, drain, test hooks, production, the followed log, metrics after traffic."""

import http.client
import json
import re
import time

import pytest

from delivery import connected, leave, live, number, push, push_all, receive, received
from harness import APP, BODY, NEVER_ISSUED, OTHER_APP, Sandbox, command
from instance import until, wait_ready

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


# Readiness, drain


@pytest.mark.sanitizer
def test_drain_and_its_end(fresh):
    instance = fresh()
    courier, (token,) = live(instance)
    identity = courier.identity
    assert instance.admin.request("GET", "/readyz", token=None)[0] == 200
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        courier.expect_notify()
        instance.admin.drain()
        assert wait_ready(instance, False, "draining") == ["draining"]
        assert instance.admin.get("/v1/status")["draining"] is True
        assert instance.admin.request("GET", "/healthz", token=None)[0] == 200
        client.wait_closed()
        assert set(client.goaway_reasons()) == {"Shutdown"} and not client.was_reset
    courier.wait_closed()
    assert not courier.was_reset
    instance.admin.end_drain()
    wait_ready(instance)
    assert instance.admin.get("/v1/status")["draining"] is False
    push(instance, token, 1)
    courier, _ = live(instance, identity=identity)
    with courier:
        assert received(courier, 1) == [1]


@pytest.mark.sanitizer
def test_a_store_that_fails_is_not_ready_until_it_works_again(fresh):
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    instance.admin.fail_store(1000)
    with instance.client() as client:
        stream = client.start(instance.headers(token), b'{"n":1}')
        wait_ready(instance, False, "store")
        assert instance.admin.request("GET", "/healthz", token=None)[0] == 200
        instance.admin.fail_store(0)
        wait_ready(instance)
        client.wait(stream)
        assert stream.status in (200, 500, 503)
    push(instance, token, 2)
    courier, _ = instance.online(APP, identity=identity)
    with courier:
        stored = receive(courier, instance.admin.registration(token)["stored"])
        assert [number(message) for message in stored] in ([2], [1, 2])


def test_a_held_store_shows_as_lag(fresh):
    instance = fresh()
    _, (token,) = instance.offline(APP)
    instance.admin.hold_store(True)
    with instance.client() as client:
        stream = client.start(instance.headers(token), BODY)
        until(lambda: instance.admin.get("/v1/status")["storeLagSeconds"], "a lag")
        instance.admin.hold_store(False)
        client.wait(stream)
        assert stream.status == 200


# Test hooks


@pytest.mark.sanitizer
def test_a_forced_answer_comes_as_often_as_asked(sandbox):
    token = sandbox.register()
    sandbox.admin.force_answer(429, "TooManyRequests", times=2)
    answers = [sandbox.push(token) for _ in range(3)]
    assert [(a.status, a.reason) for a in answers] == [(429, "TooManyRequests")] * 2 + [(200, None)]


HOOKS = [
    ("/v1/test/clock", {"advance": "1s"}),
    ("/v1/test/clock", {"hold": False}),
    ("/v1/test/store", {"hold": False}),
    ("/v1/test/answer", {"status": 500, "reason": "InternalServerError", "times": 1}),
]


def test_without_the_flag_there_are_no_test_hooks(fresh):
    instance = fresh(hooks=False)
    for path, body in HOOKS:
        assert instance.admin.request("POST", path, body)[0] in (403, 404)
        assert instance.admin.request("POST", path, body, token=None)[0] == 401
    assert instance.push(instance.register()).status == 200


@pytest.mark.parametrize("path, body", [
    ("/v1/test/clock", {"advance": "soon"}),
    ("/v1/test/clock", {}),
    ("/v1/test/clock", {"hold": "yes"}),
    ("/v1/test/store", {"hold": "yes"}),
    ("/v1/test/store", {"fail": -1}),
    ("/v1/test/answer", {"status": "many"}),
])  # fmt: skip
def test_hooks_refuse_what_they_do_not_understand(sandbox, path, body):
    status, answer = sandbox.admin.request("POST", path, body)
    assert status == 400 and set(answer["error"]) == {"code", "message"}


# Production


@pytest.fixture(scope="module")
def production():
    with Sandbox(environment="production") as instance:
        yield instance


@pytest.mark.sanitizer
def test_production_delivers_and_tells_less(production):
    courier, (token,) = live(production)
    with courier:
        answer = production.push(token, None, b'{"n":1}')
        assert answer.status == 200 and set(answer.names) == {":status", "apns-id"}
        assert received(courier, 1) == [1]
    assert production.admin.get("/v1/status")["environment"] == "production"
    status, log = production.admin.request("GET", "/v1/notifications")
    assert status == 404 or log["items"] == [], "log.deliveries is off"


def test_production_makes_no_registrations_and_has_no_hooks(production):
    status, answer = production.admin.request("POST", "/v1/registrations", {"topic": APP, "state": "active"})
    assert 400 <= status < 500 and set(answer["error"]) == {"code", "message"}
    assert production.admin.get("/v1/registrations", limit=1000)["items"] == [
        item for item in production.admin.get("/v1/registrations", limit=1000)["items"] if item["device"]
    ]
    for path, body in HOOKS:
        assert production.admin.request("POST", path, body)[0] in (403, 404)


def test_production_refuses_to_start_with_test_hooks(production):
    done = command("serve", "--config", production.facts["config"], "--test-hooks")
    assert done.returncode in (1, 2) and "hooks" in done.stderr


def test_keys_and_tokens_do_not_cross(production, sandbox):
    courier, (token,) = live(production)
    with courier:
        development = production.new_keys("development")
        answer = production.push(token, {"authorization": development.bearer()})
        assert (answer.status, answer.reason) == (403, "BadEnvironmentKeyInToken")
        own = production.new_keys("production")
        assert production.push(token, {"authorization": own.bearer()}).status == 200
        answer = sandbox.push(token)
        assert (answer.status, answer.reason) == (400, "BadDeviceToken")


# The followed log


class Events:
    """`GET /v1/notifications?follow=true`, event by event."""

    def __init__(self, instance, query: str = ""):
        self.connection = http.client.HTTPConnection("127.0.0.1", instance.admin_port, timeout=10)
        headers = {"Authorization": f"Bearer {instance.admin.token}", "Accept": "text/event-stream"}
        self.connection.request("GET", f"/v1/notifications?follow=true{query}", headers=headers)
        self.answer = self.connection.getresponse()

    def __enter__(self):
        assert self.answer.status == 200
        assert self.answer.headers["Content-Type"].startswith("text/event-stream")
        return self

    def __exit__(self, *_) -> None:
        self.connection.close()

    def until(self, condition) -> dict:
        """The first event's data for which this holds."""
        data = []
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream ended"
            if line.startswith("data:"):
                data.append(line[5:].strip())
            elif not line.strip() and data:
                row = json.loads("\n".join(data))
                if condition(row):
                    return row
                data = []


@pytest.mark.sanitizer
def test_the_log_can_be_followed(sandbox):
    courier, (token,) = live(sandbox)
    with courier, Events(sandbox, f"&token={token}") as mine, Events(sandbox) as every:
        other = sandbox.push(sandbox.register())
        answer = push(sandbox, token, 1)
        courier.expect_notify()
        for events in (mine, every):
            row = events.until(lambda row: row["apnsID"] == answer.apns_id and row["state"] == "delivered")
            assert row["topic"] == APP and row["device"] == courier.identity.id
            assert row["tokenPrefix"] == token[:8] and token not in json.dumps(row)
        push(sandbox, token, 2)
        courier.expect_notify()
        seen = []
        mine.until(lambda row: seen.append(row["apnsID"]) or row["state"] == "delivered")
        assert other.apns_id not in seen


def test_following_needs_the_token_and_survives_a_client_that_leaves(sandbox):
    assert sandbox.admin.request("GET", "/v1/notifications?follow=true", token=None)[0] == 401
    for _ in range(20):
        with Events(sandbox):
            pass
    token = sandbox.register()
    with Events(sandbox, f"&state=stored-offline&topic={APP}") as events:
        answer = push(sandbox, token, 1)
        row = events.until(lambda row: row["state"] == "stored-offline")
        assert row["apnsID"] == answer.apns_id


# Metrics after traffic

GAUGES = [
    "provider_connections", "notifications_stored", "notifications_stored_oldest_seconds", "queue_limit",
    "device_sessions", "registrations", "store_queue_depth",
]  # fmt: skip
HISTOGRAMS = ["provider_request_seconds", "delivery_seconds", "store_commit_seconds", "store_batch_size"]


@pytest.fixture(scope="module")
def used():
    """A gateway that has seen a bit of everything; two sessions and one provider connection are open."""
    with Sandbox({"queue.limit": "5"}) as instance:
        courier, (token, other) = live(instance, APP, OTHER_APP)
        push(instance, token, 1)
        courier.ack(courier.expect_notify(ack=False))
        push(instance, token, 2)
        courier.ack(courier.expect_notify(ack=False), status=1)
        push(instance, token, 3)
        courier.expect_notify(ack=False)
        instance.advance("61s")
        courier.expect_notify()
        courier.filter(ignored=[APP], enabled=[OTHER_APP])
        courier.keep_alive()
        push(instance, token, 4)
        leave(instance, courier)
        push(instance, token, 5, expiration=0)
        push_all(instance, token, *range(6, 13), collapse=None, push_type="background", priority=5)
        push_all(instance, other, 13, 14, topic=OTHER_APP, collapse="a")
        instance.admin.revoke(other)
        assert instance.push(NEVER_ISSUED).status == 400
        assert instance.push(token, {"authorization": "bearer a.b.c"}).status == 403
        first, second = connected(instance, courier.identity), connected(instance, instance.enrol())
        first.filter(enabled=[APP])
        assert received(first, 5) == list(range(8, 13))
        push_all(instance, instance.register(), 1, 2)
        instance.advance("5s")
        with first, second, instance.client() as client:
            client.ping()
            time.sleep(0.3)
            yield instance


@pytest.mark.sanitizer
def test_counters_count(used):
    metric = used.admin.metric
    assert metric("provider_requests_total", status="200", reason="") == 16
    assert metric("provider_requests_total", status="400", reason="BadDeviceToken") == 1
    assert metric("provider_requests_total", status="403", reason="InvalidProviderToken") == 1
    assert metric("notifications_accepted_total") == 16
    assert metric("notifications_accepted_total", push_type="background") == 7
    assert metric("notifications_accepted_total", push_type="alert") == 9
    assert metric("notifications_delivered_total", **{"from": "live"}) == 2
    assert metric("notifications_delivered_total", **{"from": "storage"}) == 5
    causes = ("expired", "collapsed", "queue_full", "unregistered", "refused", "disabled", "undeliverable")
    discarded = {cause: metric("notifications_discarded_total", cause=cause) for cause in causes}
    assert list(discarded.values()) == [1, 1, 2, 1, 1, 1, 0], discarded
    assert metric("device_redeliveries_total") == 1
    assert metric("device_handshakes_total") == 3
    assert metric("provider_token_verifications_total") >= 2


@pytest.mark.sanitizer
def test_gauges_show_what_is(used):
    gauges = {name: used.admin.metric(name) for name in GAUGES}
    assert 1 <= gauges["provider_connections"] <= 3
    assert gauges["notifications_stored"] == 2
    assert 5 <= gauges["notifications_stored_oldest_seconds"] < 60
    assert gauges["queue_limit"] == 5
    assert gauges["device_sessions"] == 2
    assert gauges["registrations"] == 2, "one that was revoked is not active"
    assert gauges["store_queue_depth"] == 0
    samples = used.admin.metrics()
    names = {name for name, _ in samples}
    assert {"carillon_loop_lag_seconds", "carillon_build_info"} <= names
    assert {"process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"} <= names
    versions = [dict(labels)["version"] for (name, labels) in samples if name == "carillon_build_info"]
    assert versions == [used.admin.get("/v1/status")["version"]]
    ends = [value for (name, _), value in samples.items() if name == "carillon_certificate_expires_in_seconds"]
    assert ends and all(value > 86400 for value in ends)


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_are_whole(used, name):
    samples = used.admin.metrics()
    buckets = sorted(
        (float(dict(labels)["le"].replace("+Inf", "inf")), value)
        for (sample, labels), value in samples.items()
        if sample == f"carillon_{name}_bucket"
    )
    counts = [value for _, value in buckets]
    assert len(buckets) > 3 and buckets[-1][0] == float("inf") and counts == sorted(counts)
    assert used.admin.metric(f"{name}_count") == counts[-1] > 0
    assert used.admin.metric(f"{name}_sum") > 0


def test_deliveries_are_timed_for_live_ones_only(used):
    assert used.admin.metric("delivery_seconds_count") == 2


def test_the_page_is_prometheus_text(used):
    connection = http.client.HTTPConnection("127.0.0.1", used.admin_port, timeout=10)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.headers["Content-Type"].startswith("text/plain")
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", text, re.M))
    assert kinds.keys() == helps.keys()
    for sample, _ in used.admin.metrics():
        family = sample if sample in kinds else re.sub(r"_(bucket|sum|count)$", "", sample)
        assert family in kinds, sample
        assert kinds[family] == "counter" or not sample.endswith("_total"), sample
        assert sample.startswith(("carillon_", "process_"))


def test_status_shows_what_is(used):
    status = used.admin.get("/v1/status")
    assert status["sessions"] == 2 and status["queued"] == 2
    assert 5 <= status["queuedOldestSeconds"] < 60
    assert TIME.fullmatch(status["startedAt"])
    for name in ("acceptedPerSecond", "deliveredPerSecond", "storeLagSeconds", "certificateSecondsLeft"):
        assert isinstance(status[name], (int, float)) and status[name] >= 0, name
    for name in ("deliverySecondsP50", "deliverySecondsP99"):
        assert status[name] is None or 0 <= status[name] < 120, "the clock was moved by a minute"
