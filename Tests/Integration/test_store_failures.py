"""A disk that fails: each call, each error, a failed sync, a read; and what holds meanwhile and afterwards.

What is done about a failed sync is in docs/decisions/0025-failed-syncs.md.
"""

import errno

import pytest

from courier import NOTIFY
from delivery import live, number, push
from faults import ALL_IS_LOST, CHANGES, READ, SYNC, TRUNCATE, WRITE, Faults
from harness import APP, OTHER_APP
from instance import wait_ready
from storefiles import SETTINGS, Waiting, logged, number_of, refused_start

ERRORS = [errno.EIO, errno.ENOSPC, errno.EROFS]


@pytest.fixture
def failing(fresh, tmp_path):
    """Makes gateways whose disk can fail."""

    def make(settings=SETTINGS):
        faults = Faults(tmp_path)
        instance = fresh(settings)
        instance.stop()
        instance.variables = faults.variables
        instance.start()
        return instance, faults

    return make


def cut_power(waiting, faults) -> None:
    """All that was not synced is lost, and so is what a failed sync did not save."""
    faults.kill_at(1, ALL_IS_LOST)
    waiting.push()
    waiting.instance.process.wait(20)
    waiting.instance.kill()
    faults.end()
    waiting.instance.start()
    waiting.check()


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_each_call_of_a_commit_fails_once(failing, error):
    """A push is answered 200 and there, or 503; the next one finds a store that works again."""
    instance, faults = failing()
    faults.set(power=ALL_IS_LOST)
    waiting = Waiting(instance)
    refused = 0
    for call in range(1, 40):
        faults.fail(CHANGES, first=call, count=1, error=error)
        statuses = waiting.push(3, 4000)
        assert set(statuses) <= {200, 503}
        refused += statuses.count(503)
        happened = faults.calls >= call
        faults.end()
        waiting.push_until_accepted()
        if not happened:
            break
    assert call > 5 and refused
    wait_ready(instance)
    waiting.check()
    cut_power(waiting, faults)
    waiting.finish()


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=errno.errorcode.get)
def test_each_call_of_a_checkpoint_fails(failing, error):
    """A checkpoint that fails loses nothing: the log has it all, and the next one copies it again."""
    instance, faults = failing()
    faults.set(power=ALL_IS_LOST)
    waiting = Waiting(instance)
    for kinds, first in ((SYNC, 1), (WRITE, 1), (WRITE, 3), (SYNC, 2), (TRUNCATE, 1)):
        assert set(waiting.push(3, 4000)) == {200}
        # Upkeep comes after an idle second; the next push comes behind it, or fails as well.
        faults.fail(kinds, first=first, count=1, error=error)
        try:
            logged(instance, "store cannot write", seconds=2)
            instance.standard_error.clear()
        except AssertionError:
            # Not every checkpoint truncates.
            assert faults.calls < first
        faults.end()
        waiting.push_until_accepted()
    cut_power(waiting, faults)
    waiting.finish()


@pytest.mark.parametrize("times", [1, 3])
def test_after_a_failed_sync_nothing_is_believed_that_was_not_written_again(failing, times):
    """The kernel forgets what it could not write and lets the next sync pass: so does this disk."""
    instance, faults = failing()
    faults.set(power=ALL_IS_LOST)
    waiting = Waiting(instance)
    assert set(waiting.push(5, 1000)) == {200}
    faults.fail(SYNC, count=times)
    refused = waiting.push_until_accepted()
    assert refused >= 1
    assert set(waiting.push(5, 1000)) == {200}
    cut_power(waiting, faults)
    waiting.finish()


@pytest.mark.parametrize("times", [1, 2])
def test_what_a_failed_sync_refused_does_not_take_a_promised_ones_place(failing, times):
    """Its bytes are whole in the log, and a process that is killed at once leaves them there."""
    instance, faults = failing()
    _, (token,) = instance.offline(APP)
    push(instance, token, 1, collapse="score")
    (promised,) = instance.admin.queue(token)
    faults.fail(SYNC, count=times)
    assert instance.push(token, {"apns-collapse-id": "score"}, b'{"n":2}').status == 503
    instance.kill()
    faults.end()
    instance.start()
    assert [item["apnsID"] for item in instance.admin.queue(token)] == [promised["apnsID"]]


def test_while_the_store_cannot_write_only_what_needs_it_is_refused(failing):
    instance, faults = failing(SETTINGS | {"log.deliveries": "all"})
    waiting = Waiting(instance)
    courier, (token, other) = live(instance, APP, OTHER_APP)
    assert waiting.push() == [200]
    faults.fail(CHANGES, error=errno.EIO)
    with courier:
        assert waiting.push(3) == [503] * 3
        assert wait_ready(instance, ready=False) == ["store"]
        assert instance.admin.request("GET", "/healthz", token=None)[0] == 200
        assert instance.admin.metric("store_failing") == 1
        assert "disk I/O error" in logged(instance, "store cannot write")
        # What a device acknowledges at once, and what is never stored, needs no store.
        for turn in range(5):
            stream = None
            with instance.client() as client:
                stream = client.start(instance.headers(token), b'{"n":%d}' % turn)
                assert number(courier.expect_notify()) == turn
                client.wait(stream)
            assert stream.status == 200
        push(instance, other, 9, topic=OTHER_APP, expiration=0)
        assert number(courier.expect_notify()) == 9
        assert waiting.push() == [503]
        # A device may come and be served what is known; it gets no new token.
        second = instance.courier(waiting.identity)
        assert second.connect().item(1) == b"\0"
        with second:
            second.filter(enabled=[APP])
            assert number_of(second.expect_notify()) == 0
        faults.end()
        wait_ready(instance)
        logged(instance, "store writes again")
        assert instance.admin.metric("store_failing") == 0
        assert instance.admin.metric("store_failures_total") >= 1
        push(instance, token, 10)
        assert number(courier.expect_notify()) == 10, "the session lived through it"
    instance.wait_disconnected(waiting.identity)
    assert waiting.push() == [200]


def test_acknowledgements_that_could_not_be_written_are_written_later(failing):
    instance, faults = failing()
    waiting = Waiting(instance)
    assert set(waiting.push(10)) == {200}
    faults.fail(CHANGES, error=errno.ENOSPC)
    assert len(waiting.deliver()) == 10
    instance.wait_disconnected(waiting.identity)
    assert wait_ready(instance, ready=False) == ["store"]
    faults.end()
    wait_ready(instance)
    waiting.accepted.clear()
    assert waiting.push() == [200]
    instance.restart(crash=True)
    assert waiting.held() == sorted(waiting.accepted), "acknowledged, recorded, and not sent again"


def test_a_payload_that_cannot_be_read_waits_until_it_can(failing):
    instance, faults = failing()
    waiting = Waiting(instance)
    assert set(waiting.push(3, 4000)) == {200}
    # Known from before the start, and not in SQLite's cache either.
    instance.restart()
    faults.fail(READ, error=errno.EIO)
    with instance.courier(waiting.identity) as courier:
        courier.connect()
        courier.filter(enabled=[APP])
        logged(instance, "the store cannot be read")
        assert instance.admin.metric("store_read_failures_total") >= 1
        assert not [message for message in courier.messages if message.command == NOTIFY]
        faults.end()
        assert [number_of(courier.expect_notify()) for _ in range(3)] == [0, 1, 2]
    assert instance.admin.metric("store_lost_pushes_total") == 0


@pytest.mark.parametrize(
    ("kinds", "error", "remedy"),
    [
        (CHANGES, errno.EIO, "check the disk"),
        (CHANGES, errno.ENOSPC, "free disk space"),
        (CHANGES, errno.EROFS, "writable"),
        (READ, errno.EIO, "check the disk"),
    ],
    ids=["EIO", "ENOSPC", "EROFS", "EIO in reads"],
)
def test_a_start_on_a_disk_that_fails_says_why(failing, kinds, error, remedy):
    instance, faults = failing()
    waiting = Waiting(instance)
    assert set(waiting.push(3)) == {200}
    waiting.save()
    faults.fail(kinds, error=error)
    said = refused_start(instance)
    assert str(waiting.file()) in said and remedy in said
    faults.end()
    instance.start()
    waiting.check()


@pytest.mark.timeout(90)
def test_the_failing_disk_is_as_cruel_as_it_says(failing):
    """A sync that was asked for and not made is a lost push: else these tests would prove nothing."""
    instance, faults = failing()
    faults.set(power=ALL_IS_LOST)
    waiting = Waiting(instance)
    assert waiting.push() == [200]
    faults.set(lie=1)
    assert set(waiting.push(5)) == {200}
    with pytest.raises(AssertionError, match="lost"):
        cut_power(waiting, faults)
