"""Payloads that are in the store alone (docs/decisions/0018-young-payloads.md), read while other things happen."""

import os
import signal
import struct

from courier import FILTER, NOTIFY, encode, topic_hash
from delivery import asleep, connected, leave, live, number, push, received
from harness import APP, TEAM

TOPICS = [f"com.example.topic{n}" for n in range(10)]
PER_TOPIC = 100


def test_old_pushes_come_after_others_were_given_up_while_they_were_read(fresh):
    """Two Filters in one write: the first asks for the payload, the second ends its push."""
    instance = fresh()
    identity, (token,) = instance.offline(APP)
    push(instance, token, 1)
    instance.advance("2m")
    instance.wait_disconnected(identity)
    courier = connected(instance, identity)
    lists = [[(1, courier.base_token), (item, topic_hash(APP))] for item in (2, 3)]
    courier.send_raw(b"".join(encode(FILTER, items) for items in lists))
    courier.expect_nothing()
    leave(instance, courier)

    push(instance, token, 2)
    instance.advance("2m")
    courier, _ = live(instance, APP, identity=identity)
    with courier:
        assert received(courier, 1) == [2]


def test_a_device_that_acknowledges_at_once_gets_what_waited_over_a_restart(fresh):
    instance = fresh()
    for topic in TOPICS:
        instance.admin.add_app(topic, TEAM)
    identity, tokens = instance.offline(*TOPICS)
    with instance.client() as client:
        for turn in range(PER_TOPIC):
            streams = [
                client.start(instance.headers(token, {"apns-topic": topic}), b'{"n":%d}' % (turn * len(TOPICS) + place))
                for place, (topic, token) in enumerate(zip(TOPICS, tokens))
            ]
            client.wait(*streams)
            assert [stream.status for stream in streams] == [200] * len(TOPICS)
    instance.restart()
    before = instance.resident_bytes()
    courier, _ = live(instance, *TOPICS, identity=identity)
    with courier:
        arrived = []
        while len(arrived) < PER_TOPIC * len(TOPICS):
            # All that have come are acknowledged together, as a device does that was busy for a moment.
            messages = [courier.expect(NOTIFY)]
            messages += [message for message in courier._unread if message.command == NOTIFY]
            courier._unread = [message for message in courier._unread if message.command != NOTIFY]
            for message in messages:
                courier.ack(message)
            arrived += [number(message) for message in messages]
    assert arrived == list(range(PER_TOPIC * len(TOPICS)))
    assert instance.resident_bytes() - before < 100 << 20


def test_a_payload_that_cannot_be_read_holds_up_no_other_device(fresh):
    """The row of one push points to a page that is not there; both devices ask for theirs in the same turn."""
    instance = fresh({"threads": "1"})
    (broken, (broken_token,)), (whole, (whole_token,)) = instance.offline(APP), instance.offline(APP)
    assert instance.push(broken_token, body=b'{"n":1,"x":"' + b"y" * 4060 + b'"}').status == 200
    push(instance, whole_token, 2)
    instance.stop()
    file = instance.directory / "data" / "carillon.db"
    data = bytearray(file.read_bytes())
    # The part of a long row that is in its leaf ends with the number of the page that goes on.
    pointer = data.index(b"\0", data.index(b'{"n":1,"x":"y'))
    data[pointer : pointer + 4] = struct.pack(">I", 0x00FFFFFF)
    file.write_bytes(data)
    instance.ports = {f"{door}.port": value for door, value in instance._doors.items()}
    instance.start()

    first, second = connected(instance, broken), connected(instance, whole)
    os.kill(instance.process.pid, signal.SIGSTOP)
    for courier in (first, second):
        courier.filter(enabled=[APP])
    os.kill(instance.process.pid, signal.SIGCONT)
    with first, second:
        assert number(second.expect_notify()) == 2


def test_priority_5_comes_to_a_sleeping_device_that_says_nothing(fresh):
    instance = fresh({"delivery.lowPriorityDelay": "2s"})
    courier, (token,) = asleep(instance, APP)
    with courier:
        push(instance, token, 1, priority=5)
        assert number(courier.expect(NOTIFY)) == 1
