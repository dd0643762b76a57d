"""A load balancer that speaks the PROXY protocol, version 2: it says of each connection where it came from."""

import contextlib
import ipaddress
import socket
import struct
import threading

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def proxy_header(source: str | None, rest: bytes = b"", family: int | None = None, command: int = 0x21) -> bytes:
    """A header with this source; without one it is LOCAL. `rest` follows the addresses."""
    addresses = b""
    if source is None:
        command, family = 0x20, family or 0
    else:
        address = ipaddress.ip_address(source)
        family = family or (0x11 if address.version == 4 else 0x21)
        addresses = address.packed + bytes(len(address.packed)) + struct.pack(">HH", 40000, 443)
    return SIGNATURE + struct.pack(">BBH", command, family, len(addresses) + len(rest)) + addresses + rest


class Balancer:
    """Passes connections on to a port of the gateway, in the name of `source`."""

    def __init__(self, port: int, source: str | None = "203.0.113.1"):
        self.target = port
        self.source = source
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> "Balancer":
        return self

    def __exit__(self, *_) -> None:
        # Closing alone does not wake the thread that accepts.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target), 10)
                far.settimeout(None)
                far.sendall(proxy_header(self.source))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=(one, other), daemon=True).start()


def pump(one: socket.socket, other: socket.socket) -> None:
    """Everything from one to the other, and its end."""
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)
