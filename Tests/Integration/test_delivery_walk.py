"""A random walk of one device and its provider, checked step by step against a model of the queue."""

import random
from dataclasses import dataclass, field

import pytest

from courier import NOTIFY, Courier, Message
from delivery import changes, number
from harness import APP, OTHER_APP, Sandbox

TOPICS = (APP, OTHER_APP)
STEPS = 110


@dataclass
class Waiting:
    """A push that was accepted."""

    number: int
    topic: str
    priority: int
    collapse: str | None
    expires: float
    stored: bool = True
    superseded: bool = False


@dataclass
class Model:
    """What the gateway should think. `flying` is what the session has and did not acknowledge."""

    window: int
    waiting: list[Waiting] = field(default_factory=list)
    flying: dict[bytes, Waiting] = field(default_factory=dict)
    ids: dict[int, bytes] = field(default_factory=dict)
    enabled: set[str] = field(default_factory=set)
    awake: bool = True
    #: Fives that wait for a sleeping device may go now; from when exactly is the gateway's to say.
    fives_are_due: bool = False

    def disconnect(self) -> None:
        self.waiting += [push for push in self.flying.values() if push.stored and not push.superseded]
        self.waiting.sort(key=lambda push: push.number)
        self.flying.clear()
        self.enabled = set()

    def expire(self, now: float) -> None:
        self.waiting = [push for push in self.waiting if push.expires > now]

    def add(self, push: Waiting) -> None:
        if push.collapse:
            same = lambda other: (other.topic, other.collapse) == (push.topic, push.collapse)  # noqa: E731
            self.waiting = [other for other in self.waiting if not same(other)]
            for other in self.flying.values():
                other.superseded |= same(other)
        self.waiting.append(push)

    def due(self) -> tuple[list[Waiting], list[Waiting]]:
        """What must be sent now, in order, and what may be."""
        allowed = [push for push in self.waiting if push.topic in self.enabled]
        allowed.sort(key=lambda push: (-push.priority, push.number))
        if self.awake:
            return allowed[: max(0, self.window - len(self.flying))], []
        tens = [push for push in allowed if push.priority == 10]
        fives = [push for push in allowed if push.priority == 5]
        return (tens + fives, []) if tens or self.fives_are_due else (tens, fives)

    def drop_what_cannot_wait(self) -> None:
        self.waiting = [push for push in self.waiting if push.stored]


class Walk:
    """The gateway, the device and the model, taking the same steps."""

    def __init__(self, instance: Sandbox, seed: int):
        self.instance = instance
        self.random = random.Random(seed)
        self.model = Model(int(instance.settings["delivery.window"]))
        #: A small window and a sleeping device together leave too much open.
        self.sleeps = self.model.window > STEPS
        self.identity, tokens = instance.offline(*TOPICS)
        self.tokens = dict(zip(TOPICS, tokens))
        self.courier: Courier | None = None
        self.count = 0
        self.story: list[str] = []

    def run(self) -> None:
        steps = [self.push] * 10 + [self.ack] * 5 + [self.filter] * 3 + [self.connect] * 3
        steps += [self.disconnect, self.set_state, self.set_state, self.advance, self.restart]
        for _ in range(STEPS):
            self.random.choice(steps)()
            self.check()
        self.connect(awake=True, enabled=list(TOPICS))
        self.check()
        while self.model.flying:
            for id in list(self.model.flying):
                self.acknowledge(id)
            self.check()
        left = [self.instance.admin.queue(token) for token in self.tokens.values()]
        assert left == [[], []], self.story
        self.courier.close()

    # Steps

    def push(self) -> None:
        choose = self.random.choice
        topic, priority = choose(TOPICS), choose((10, 10, 5, 1))
        kind = choose(("plain", "plain", "collapse", "expiring", "now"))
        collapse = choose(("a", "b")) if kind == "collapse" else None
        lifetime = 40 if kind == "expiring" else None
        expires = self.instance.now() + lifetime if lifetime else float("inf")
        push = Waiting(self.count, topic, priority, collapse, expires, stored=kind != "now")
        expiration = 0 if kind == "now" else lifetime and int(expires)
        self.story.append(f"push {push}")
        headers = changes({"topic": topic, "priority": priority, "collapse": collapse, "expiration": expiration})
        assert self.instance.push(self.tokens[topic], headers, b'{"n":%d}' % self.count).status == 200
        self.count += 1
        self.model.add(push)

    def ack(self) -> None:
        ids = list(self.model.flying)
        for id in self.random.sample(ids, self.random.randint(0, len(ids))):
            self.acknowledge(id)

    def acknowledge(self, id: bytes) -> None:
        self.story.append(f"ack {self.model.flying[id].number}")
        self.courier.send(11, (4, id), (8, b"\0"))
        del self.model.flying[id]

    def filter(self) -> None:
        if self.courier:
            self.enable(self.random.sample(TOPICS, self.random.randint(0, 2)))

    def enable(self, topics: list[str]) -> None:
        self.story.append(f"filter {topics}")
        self.courier.filter(enabled=topics)
        self.model.enabled = set(topics)

    def connect(self, awake: bool | None = None, enabled: list[str] | None = None) -> None:
        """Also while connected: a takeover."""
        awake = (not self.sleeps or self.random.random() < 0.6) if awake is None else awake
        self.story.append(f"connect awake={awake}")
        old, self.courier = self.courier, self.instance.courier(self.identity)
        assert self.courier.connect(state=1 if awake else 2).item(1) == b"\0"
        self.model.disconnect()
        self.model.awake, self.model.fives_are_due = awake, False
        if old:
            old.wait_closed()
            assert not old.was_reset
        self.enable(list(TOPICS) if enabled is None else enabled)

    def disconnect(self) -> None:
        if self.courier:
            self.story.append("disconnect")
            self.courier.close()
            self.courier = None
            self.instance.wait_disconnected(self.identity)
            self.model.disconnect()

    def set_state(self) -> None:
        if self.courier and self.sleeps:
            self.model.awake = self.random.random() < 0.5
            self.story.append(f"awake={self.model.awake}")
            self.courier.set_state(1 if self.model.awake else 2)
            self.model.fives_are_due = False

    def advance(self) -> None:
        self.story.append("advance 45s")
        self.instance.advance("45s")
        self.model.fives_are_due = self.courier is not None

    def restart(self) -> None:
        if self.random.random() < 0.6:
            return
        self.disconnect()
        self.story.append("restart")
        shift = self.instance.clock_offset
        self.instance.restart()
        # The clock of a new process is not moved; what was accepted must not seem to come from the future.
        if shift:
            self.instance.advance(f"{int(shift)}s")

    # Check

    def check(self) -> None:
        """What came is what the model sends, and nothing else."""
        self.model.expire(self.instance.now())
        must, may = self.model.due() if self.courier else ([], [])
        arrived = self.arrived(len(must))
        numbers = [number(message) for message in arrived]
        expected = [push.number for push in must]
        assert [n for n in numbers if n in expected] == expected, f"{numbers} not {expected}\n{self.tale()}"
        allowed = {push.number for push in must + may}
        assert set(numbers) <= allowed and len(set(numbers)) == len(numbers), f"{numbers}\n{self.tale()}"
        by_number = {push.number: push for push in must + may}
        for message in arrived:
            push = by_number[number(message)]
            assert message.id not in self.model.flying, self.tale()
            assert self.model.ids.setdefault(push.number, message.id) == message.id, "a push keeps its id"
            assert message.priority == push.priority and message.token == self.tokens[push.topic]
            self.model.flying[message.id] = push
            self.model.waiting.remove(push)
        self.model.fives_are_due = False
        self.model.drop_what_cannot_wait()

    def arrived(self, count: int) -> list[Message]:
        if not self.courier:
            return []
        found = []
        for _ in range(count):
            try:
                found.append(self.courier.expect_notify(3, ack=False))
            except AssertionError as error:
                raise AssertionError(
                    f"{len(found)} of {count} came: {[number(m) for m in found]} {error}\n{self.tale()}"
                ) from None
        self.courier.keep_alive()
        self.courier.pump(0.05)
        extra = [message for message in self.courier._unread if message.command == NOTIFY]
        self.courier._unread.clear()
        return found + extra

    def tale(self) -> str:
        return "\n".join(self.story[-40:])


@pytest.mark.slow
@pytest.mark.sanitizer
@pytest.mark.parametrize("window", [3, 1000])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_walk(fresh, seed, window):
    """`delivery.ackTimeout` is out of the way; its own tests have it."""
    Walk(fresh({"delivery.window": str(window), "delivery.ackTimeout": "1h"}), seed).run()
