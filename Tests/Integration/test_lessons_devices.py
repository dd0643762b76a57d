"""Lessons of other gateways, T48 to T59: sessions and queues. The number names the report that a test comes from."""

import re
import time
from pathlib import Path

import pytest

from courier_extended import ExtendedCourier
from delivery import leave, live, number, push, push_all, receive, received
from harness import APP
from instance import REPOSITORY, until

# What of T1 to T59 there is. T4 needs providers with client certificates and waits for them.
LESSONS = [
    1, 2, 3, 5, 7, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 27, 28, 29, 30, 32, 33, 34, 35, 37, 38, 40,
    41, 42, 43, 45, 47, 48, 50, 52, 54, 55, 58, 59,
]  # fmt: skip


def test_every_lesson_has_a_test_of_its_name():
    texts = "".join(path.read_text() for path in Path(REPOSITORY, "Tests/Integration").glob("test_*.py"))
    named = {int(match) for match in re.findall(r"^def test_t(\d+)_", texts, re.MULTILINE)}
    assert [lesson for lesson in LESSONS if lesson not in named] == []


def test_t48_what_was_not_acknowledged_comes_once_more_in_order(sandbox):
    courier, (token,) = live(sandbox)
    push_all(sandbox, token, *range(10))
    assert received(courier, 10, ack=False) == list(range(10))
    leave(sandbox, courier)
    courier, _ = live(sandbox, identity=courier.identity)
    assert received(courier, 10) == list(range(10))
    leave(sandbox, courier)
    courier, _ = live(sandbox, identity=courier.identity)
    with courier:
        assert received(courier, 0) == []


def test_t50_a_store_that_cannot_delete_is_tried_again_and_not_in_a_hurry(fresh):
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    push_all(instance, token, *range(5))
    before = instance.admin.metric("store_failures_total")
    instance.admin.fail_store(1_000_000)
    courier, _ = live(instance, identity=identity)
    with courier:
        assert received(courier, 5) == list(range(5))
        cpu, start = instance.admin.metrics()["process_cpu_seconds_total", frozenset()], time.monotonic()
        until(lambda: instance.admin.metric("store_failures_total") >= before + 3, "three failures", 60)
        # Sent once, however often their end could not be written.
        assert received(courier, 0) == []
        seconds = time.monotonic() - start
        assert instance.admin.metric("store_failures_total") - before <= 3 + 20 * seconds, "a hot loop"
        used = instance.admin.metrics()["process_cpu_seconds_total", frozenset()] - cpu
        assert used < 0.5 + seconds / 2, f"{used} s of CPU time in {seconds} s"
        instance.admin.fail_store(0)
        assert received(courier, 0) == []
        left = ("store_queue_depth", "notifications_stored")
        until(lambda: not any(instance.admin.metric(name) for name in left), "what could not be deleted, deleted later")
    instance.restart()
    assert instance.admin.queue(token) == []


def test_t52_an_id_is_not_used_again_before_it_is_acknowledged(sandbox):
    courier, (token,) = live(sandbox)
    push(sandbox, token, 0)
    first = courier.expect_notify(ack=False)
    leave(sandbox, courier)
    courier, _ = live(sandbox, identity=courier.identity)
    with courier:
        push_all(sandbox, token, *range(1, 20))
        arrived = receive(courier, 20, ack=False)
        assert [message.id for message in arrived if number(message) == 0] == [first.id]
        assert len({message.id for message in arrived}) == 20


def test_t54_kills_lose_nothing_and_repeat_nothing_old(fresh):
    """A few of many: test_crash_kills has the random ones under load, and kills at each write of the store."""
    instance = fresh()
    identity = instance.enrol()
    courier, (token,) = live(instance, identity=identity)
    for turn in range(5):
        push_all(instance, token, *range(turn * 4, turn * 4 + 4))
        arrived = [courier.expect_notify(ack=False) for _ in range(4)]
        assert [number(message) for message in arrived] == list(range(turn * 4, turn * 4 + 4))
        for message in arrived:
            courier.ack(message)
        courier.keep_alive()
        time.sleep(1)
        instance.restart(crash=True)
        courier, _ = live(instance, identity=identity)
        assert received(courier, 0) == [], "acknowledged a second before"
    courier.close()


def plan_faults(instance, identity, count: int) -> None:
    instance.admin.post("/v1/test/device", {"id": identity.id, "faults": count})


def test_t59_a_fault_ends_one_session_and_no_other(fresh):
    instance = fresh()
    neighbour, (other,) = live(instance)
    courier, (token,) = live(instance)
    plan_faults(instance, courier.identity, 1)
    push(instance, token, 1)
    courier.send(12)
    courier.wait_closed()
    assert instance.admin.metric("device_faults_total") == 1
    courier, _ = live(instance, identity=courier.identity)
    with courier, neighbour:
        assert received(courier, 1) == [1]
        push(instance, other, 2)
        assert received(neighbour, 1) == [2]


def test_t59_a_device_of_many_faults_is_kept_out_for_a_while(fresh):
    instance = fresh()
    neighbour, (other,) = live(instance)
    identity, (token,) = instance.offline(APP)
    push(instance, token, 1)
    plan_faults(instance, identity, 5)
    for _ in range(5):
        courier = instance.courier(identity)
        assert courier.connect().item(1) == b"\0"
        courier.send(12)
        courier.wait_closed()
    refused = instance.courier(identity)
    assert refused.connect().item(1) == b"\2"
    refused.wait_closed()
    with ExtendedCourier(instance, identity) as extended:
        answer = extended.connect()
        assert (answer.item(1), answer.item(211)) == (b"\2", b"quarantined")
        assert 0 < answer.number(212) <= 300
    assert instance.admin.metric("device_handshakes_total", result="quarantined") == 2
    push(instance, other, 2)
    with neighbour:
        assert received(neighbour, 1) == [2]
    # What waits for it is kept, and comes when it is let in again.
    instance.advance("301s")
    courier, _ = live(instance, identity=identity)
    with courier:
        assert received(courier, 1) == [1]


@pytest.mark.parametrize("body", [{"id": "no hexadecimal"}, {"id": "ab" * 8, "faults": -1}, {}])
def test_the_hook_says_what_it_wants(sandbox, body):
    status, answer = sandbox.admin.request("POST", "/v1/test/device", body)
    assert status == 400 and answer["error"]["message"]
