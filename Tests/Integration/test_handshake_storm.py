"""Many devices that come back at the same moment: their handshakes are spread over turns, and all get in."""

import signal
import socket
import ssl

from courier import KEEP_ALIVE, KEEP_ALIVE_ACK, unverified_context
from harness import APP, Sandbox

#: Fewer than `limits.handshakes` (64 unless set), so that all are accepted at once.
STORM = 60


def hello() -> tuple[ssl.MemoryBIO, ssl.SSLObject, bytes]:
    """The client's side of a handshake without a socket, and its first flight."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = unverified_context().wrap_bio(incoming, outgoing, server_hostname="courier.push.apple.com")
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return incoming, session, outgoing.read()


def test_a_storm_of_handshakes_takes_turns():
    with Sandbox({"threads": "1"}) as instance:
        courier, tokens = instance.online(APP)
        sockets = [socket.create_connection(("127.0.0.1", instance.device_port), 30) for _ in range(STORM)]
        # All are accepted: the next one would be answered behind them.
        courier.keep_alive()
        peers = [hello() for _ in sockets]
        # While it is stopped everything arrives, so that its next turn finds all of it.
        instance.process.send_signal(signal.SIGSTOP)
        for plain, (_, _, flight) in zip(sockets, peers):
            plain.sendall(flight)
        courier.send(KEEP_ALIVE)
        instance.process.send_signal(signal.SIGCONT)

        courier.expect(KEEP_ALIVE_ACK)
        assert instance.push(tokens[0]).status == 200
        courier.expect_notify()
        for plain, (incoming, session, _) in zip(sockets, peers):
            finish(plain, incoming, session)
        # Four in a turn: what was left over was left many times.
        assert instance.admin.metric("handshakes_delayed_total") >= STORM / 4 - 1
        courier.close()


def finish(plain: socket.socket, incoming: ssl.MemoryBIO, session: ssl.SSLObject) -> None:
    """Reads the server's flight to its end."""
    while True:
        try:
            return session.do_handshake()
        except ssl.SSLWantReadError:
            flight = plain.recv(65536)
            assert flight, "closed inside the handshake"
            incoming.write(flight)
