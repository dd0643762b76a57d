"""What the delivery tests share: numbered pushes, and devices that are surely connected or surely gone."""

from courier import NOTIFY, Courier, Identity, Message
from harness import APP, BODY, Sandbox

HEADERS = {
    "topic": "apns-topic",
    "priority": "apns-priority",
    "expiration": "apns-expiration",
    "collapse": "apns-collapse-id",
    "push_type": "apns-push-type",
}


def changes(fields: dict) -> dict:
    """Header fields by their short names; what is None is left out."""
    return {HEADERS[name]: str(value) for name, value in fields.items() if value is not None}


def push(instance: Sandbox, token: str, number: int = 0, **fields):
    """One push that must be accepted. Its payload is its number."""
    answer = instance.push(token, changes(fields), b'{"n":%d}' % number)
    assert answer.status == 200, f"push {number}: {answer.status} {answer.reason}"
    return answer


def push_all(instance: Sandbox, token: str, *numbers: int, **fields) -> list:
    """Several, one after the other on one connection; all must be accepted."""
    with instance.client() as client:
        answers = [instance.push_on(client, token, changes(fields), b'{"n":%d}' % number) for number in numbers]
    assert [answer.status for answer in answers] == [200] * len(numbers)
    return answers


def number(message: Message) -> int:
    """The number of the push that this frame carries."""
    return int(message.payload.removeprefix(b'{"n":').removesuffix(b"}"))


def receive(courier: Courier, count: int, ack: bool = True) -> list[Message]:
    """Exactly this many notifications, and no more."""
    arrived = [courier.expect_notify(ack=ack) for _ in range(count)]
    courier.expect_nothing(0.1)
    return arrived


def received(courier: Courier, count: int, ack: bool = True) -> list[int]:
    """Their numbers, in order of arrival."""
    return [number(message) for message in receive(courier, count, ack)]


def pending(courier: Courier) -> list[int]:
    """The numbers of the notifications that have come and that nobody has looked at."""
    courier.keep_alive()
    return [number(message) for message in courier._unread if message.command == NOTIFY]


def live(instance: Sandbox, *topics: str, identity: Identity | None = None) -> tuple[Courier, list[str]]:
    """A device whose Filter the gateway has surely read."""
    courier, tokens = instance.online(*(topics or (APP,)), identity=identity)
    courier.keep_alive()
    return courier, tokens


def connected(instance: Sandbox, identity: Identity, *, state: int | None = 1) -> Courier:
    """A session that has sent no Filter yet."""
    courier = instance.courier(identity)
    answer = courier.connect(state=state)
    assert answer.item(1) == b"\0", f"ConnectAck status {answer.item(1)}"
    return courier


def asleep(instance: Sandbox, *topics: str) -> tuple[Courier, list[str]]:
    """A live session that has said it sleeps."""
    courier, tokens = live(instance, *topics)
    courier.set_state(2)
    courier.keep_alive()
    return courier, tokens


def receive_push(instance: Sandbox, courier: Courier, body: bytes = BODY) -> None:
    """A session that has sent nothing but its Connect gets a push."""
    token = courier.token(APP)
    courier.filter(enabled=[APP])
    courier.keep_alive()
    assert instance.push(token, body=body).status == 200
    assert courier.expect_notify().payload == body


def leave(instance: Sandbox, courier: Courier) -> None:
    """Closes, and waits until the gateway knows."""
    courier.close()
    instance.wait_disconnected(courier.identity)


def states(instance: Sandbox, answer) -> list[str]:
    """All states a push went through."""
    return [change["state"] for change in instance.admin.notification(answer.apns_id)["changes"]]


def connect_followed_by(courier: Courier, extra: bytes, **changes: bytes):
    """Connect with more frames in the same write."""
    send = courier.send_raw
    courier.send_raw = lambda data: send(data + extra)
    try:
        return courier.connect(**changes)
    finally:
        courier.send_raw = send
