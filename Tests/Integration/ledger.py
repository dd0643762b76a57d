"""A book of every push: what was promised, what came, what was acknowledged, and what a kill excuses.

It does no I/O and reads no clock: whoever makes the load (`load.py`, or another) writes into it what it saw and when.
The rules are those of docs/architecture.md: a 200 is durable; what was acknowledged a second before a kill never comes
again; what is younger may, once; per device and priority pushes come in the order in which they were accepted.
"""

import collections
import re
from dataclasses import dataclass, field

#: An acknowledgement of this age is recorded, whatever happens then. (Promised are 100 ms after it arrived.)
RECORDED_SECONDS = 1.0
#: Faults kept with their text; all are counted.
FAULTS_KEPT = 50

NUMBER = re.compile(rb'\{"n":(\d+)')


def payload(number: int, size: int) -> bytes:
    """The payload of a push: its number, and a filling that no other number has."""
    head = b'{"n":%d,"x":"' % number
    filling = b"%d." % (number * 2654435761 % 2**32)
    room = max(0, size - len(head) - 2)
    return head + (filling * (room // len(filling) + 1))[:room] + b'"}'


@dataclass(slots=True)
class Entry:
    """One push, from its request to its end."""

    number: int
    device: int
    topic: str
    size: int
    priority: int
    collapse_id: str | None
    #: Unix seconds; None never expires, 0 is "now or never".
    expiration: float | None
    status: int | None = None
    answered_at: float | None = None
    arrivals: int = 0
    id: bytes | None = None
    arrived_at: float | None = None
    acknowledged_at: float | None = None

    @property
    def payload(self) -> bytes:
        return payload(self.number, self.size)

    @property
    def slot(self) -> tuple | None:
        return None if self.collapse_id is None else (self.device, self.topic, self.collapse_id)


@dataclass(slots=True)
class Kill:
    """The end of a process that was not asked."""

    at: float
    #: Pushes that had come to a device and whose acknowledgement need not have been recorded.
    in_flight: int = 0
    #: Pushes that came again although their acknowledgement had been sent: in flight, or a fault.
    young_repeats: int = 0
    old_repeats: int = 0
    #: The age of the oldest acknowledgement that was forgotten.
    oldest_repeat: float = 0.0


@dataclass(slots=True)
class Session:
    """One connection of a device."""

    began: float
    ended: float | None = None
    #: The last number that came for the first time in this session, by priority.
    last: dict[int, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)


class Ledger:
    """All pushes of one run. Times are of one monotonic clock, expirations of the gateway's."""

    def __init__(self, ordered: bool = True):
        #: Off for loads that send to one device over several connections: then nobody knows the order.
        self.ordered = ordered
        self.entries: dict[int, Entry] = {}
        self.kills: list[Kill] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []
        self._sessions: dict[int, Session] = {}
        self._cuts: dict[int, float] = {}
        self._unacknowledged: set[int] = set()
        self._recent: collections.deque[tuple[float, int]] = collections.deque()
        self._newest: dict[tuple, Entry] = {}
        self._sent: dict[tuple, Entry] = {}

    # What happened

    def send(
        self,
        device: int,
        topic: str,
        size: int = 100,
        *,
        priority: int = 10,
        collapse_id: str | None = None,
        expiration: float | None = None,
    ) -> Entry:
        """A push is about to be sent; the entry has its payload."""
        entry = Entry(len(self.entries), device, topic, size, priority, collapse_id, expiration)
        self.entries[entry.number] = entry
        if entry.slot:
            self._sent[entry.slot] = entry
        return entry

    def answer(self, entry: Entry, status: int, at: float) -> None:
        """The provider has read the answer. One that never came leaves the push in doubt."""
        entry.status, entry.answered_at = status, at
        self.counts[f"answered {status}"] += 1

    def begin_session(self, device: int, at: float) -> None:
        self._sessions[device] = Session(at)

    def end_session(self, device: int, at: float) -> None:
        """The device has cut it: what it sent last may be lost."""
        if session := self._sessions.get(device):
            session.ended = session.ended or at
            self._cuts[device] = session.ended

    def kill(self, at: float) -> None:
        """The process is about to be killed. May be called from another thread than the rest."""
        kill = Kill(at)
        # First, so that what is acknowledged from now on counts for nothing.
        self.kills.append(kill)
        young = {number for time, number in list(self._recent) if time > at - RECORDED_SECONDS}
        kill.in_flight = len(young | self._unacknowledged)

    def arrive(self, device: int, data: bytes, id: bytes, at: float) -> Entry | None:
        """A device has read a notification. None for one that was never sent."""
        found = NUMBER.match(data)
        entry = self.entries.get(int(found[1])) if found else None
        if entry is None or data != entry.payload:
            return self.fault(f"device {device} got what nobody sent: {data[:60]!r}")
        if entry.device != device:
            return self.fault(f"device {device} got push {entry.number} of device {entry.device}")
        self._judge_again(entry, id, at)
        self._judge_replaced(entry, at)
        self._judge_order(entry)
        entry.arrivals += 1
        entry.id = id
        entry.arrived_at = entry.arrived_at or at
        if entry.acknowledged_at is None:
            self._unacknowledged.add(entry.number)
        return entry

    def acknowledge(self, entry: Entry, at: float) -> None:
        """The acknowledgement has left; one to a process that was killed meanwhile counts for nothing."""
        session = self._sessions[entry.device]
        if session.ended or (self.kills and self.kills[-1].at >= session.began):
            return
        entry.acknowledged_at = at
        self._unacknowledged.discard(entry.number)
        self._recent.append((at, entry.number))
        while self._recent and self._recent[0][0] < at - 2 * RECORDED_SECONDS:
            self._recent.popleft()

    def fault(self, text: str) -> None:
        """Something that must not be."""
        self.counts["faults"] += 1
        if len(self.faults) < FAULTS_KEPT:
            self.faults.append(text)

    # What it means

    def lost(self, now: float) -> list[Entry]:
        """Promised by a 200, never seen, and without an excuse; `now` is the gateway's time."""
        newest: dict[tuple, int] = {}
        for entry in self.entries.values():
            # A push without an answer may have taken the other's place; one that was refused may not.
            if entry.slot and entry.status in (200, None):
                newest[entry.slot] = entry.number
        return [
            entry
            for entry in self.entries.values()
            if entry.status == 200
            and not entry.arrivals
            and (entry.expiration is None or entry.expiration > now)
            and (entry.slot is None or newest[entry.slot] == entry.number)
        ]

    def check(self, now: float) -> None:
        """Nothing is lost, nothing old came again, and nothing else went wrong."""
        lost = self.lost(now)
        assert not lost, f"{len(lost)} lost, such as {lost[:3]}; {self.summary(now)}"
        assert not self.faults, f"{self.counts['faults']} faults, such as {self.faults[:5]}; {self.summary(now)}"
        for kill in self.kills:
            assert kill.old_repeats == 0, f"{kill}: repeated though acknowledged long before"
            assert kill.young_repeats <= kill.in_flight, f"{kill}: more repeats than were in flight"

    def summary(self, now: float) -> dict[str, float]:
        """The counts that matter, for a table."""
        statuses = collections.Counter(entry.status for entry in self.entries.values())
        return {
            "pushes": len(self.entries),
            "accepted": statuses[200],
            "refused": sum(count for status, count in statuses.items() if status not in (200, None)),
            "in doubt": statuses[None],
            "arrived": sum(entry.arrivals > 0 for entry in self.entries.values()),
            "acknowledged": sum(entry.acknowledged_at is not None for entry in self.entries.values()),
            "lost": len(self.lost(now)),
            "kills": len(self.kills),
            "in flight at kills": sum(kill.in_flight for kill in self.kills),
            "young repeats": sum(kill.young_repeats for kill in self.kills),
            "oldest of them, ms": round(1000 * max((kill.oldest_repeat for kill in self.kills), default=0)),
            "old repeats": sum(kill.old_repeats for kill in self.kills),
            "repeats after a cut": self.counts["repeats after a cut"],
            "faults": self.counts["faults"],
        }

    def _judge_again(self, entry: Entry, id: bytes, at: float) -> None:
        """It may come again while it is unacknowledged, and once more after a kill or a cut that was quick."""
        if entry.expiration == 0 and entry.arrivals:
            self.fault(f"push {entry.number} was now or never and came again")
        if entry.id not in (None, id):
            self.fault(f"push {entry.number} came again with another id")
        acknowledged = entry.acknowledged_at
        if acknowledged is None:
            return
        entry.acknowledged_at = None
        kill = next((kill for kill in self.kills if kill.at >= acknowledged), None)
        if kill:
            age = kill.at - acknowledged
            kill.oldest_repeat = max(kill.oldest_repeat, age)
            if age < RECORDED_SECONDS:
                kill.young_repeats += 1
            else:
                kill.old_repeats += 1
                self.fault(f"push {entry.number} came again, acknowledged {age:.2f} s before a kill")
        elif acknowledged <= self._cuts.get(entry.device, 0) < acknowledged + RECORDED_SECONDS:
            # What a device sent just before it cut the connection need not have been read.
            self.counts["repeats after a cut"] += 1
        else:
            cut = self._cuts.get(entry.device, 0) - acknowledged
            self.fault(
                f"push {entry.number} came again, acknowledged {at - acknowledged:.2f} s before; "
                f"the device's last cut came {cut:.2f} s after that"
            )

    def _judge_replaced(self, entry: Entry, at: float) -> None:
        """One that was replaced is not sent after what replaced it, unless a kill took the news of that."""
        if entry.slot is None:
            return
        newest = self._newest.get(entry.slot)
        if newest is None or newest.number <= entry.number:
            self._newest[entry.slot] = entry
        elif newest.status == 200 and not self._was_killed_after(newest.arrived_at):
            self.fault(f"push {entry.number} came after {newest.number}, which had replaced it")

    def _has_come_back(self, entry: Entry) -> bool:
        """Its place was taken by one that was then refused; others went meanwhile."""
        newest = self._sent.get(entry.slot) if entry.slot else None
        return newest is not None and newest.number > entry.number and newest.status != 200

    def _was_killed_after(self, at: float) -> bool:
        return any(0 <= kill.at - at < RECORDED_SECONDS for kill in self.kills)

    def _judge_order(self, entry: Entry) -> None:
        session = self._sessions[entry.device]
        if not self.ordered or entry.number in session.seen:
            return
        session.seen.add(entry.number)
        last = session.last.get(entry.priority, -1)
        if entry.number < last and not self._has_come_back(entry):
            self.fault(f"push {entry.number} ({entry.slot}) came after {last}, in one session and with one priority")
        session.last[entry.priority] = max(last, entry.number)
