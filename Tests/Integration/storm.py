"""Clients that come as fast as they can, in processes of their own, so that they do not slow what is measured.

`python storm.py handshakes PORT COUNT` makes TLS connections and closes them; `python storm.py garbage PORT RATE
SECONDS` makes connections that say nonsense, or close at once. Each prints what became of them as JSON.
"""

import collections
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

PARALLEL = 64


def context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "apns-security-v3"])
    return context


def handshakes(port: int, count: int) -> dict:
    """So many reconnects, some at a time; each has as long as a patient client gives it."""
    secured = context()

    def reconnect(_) -> str:
        try:
            with socket.create_connection(("127.0.0.1", port), 60) as plain:
                plain.settimeout(60)
                with secured.wrap_socket(plain):
                    return "done"
        except (OSError, ssl.SSLError) as error:
            return type(error).__name__

    begun = time.monotonic()
    with ThreadPoolExecutor(PARALLEL) as pool:
        results = collections.Counter(pool.map(reconnect, range(count)))
    return {"results": results, "seconds": time.monotonic() - begun}


def garbage(port: int, rate: int, seconds: int) -> dict:
    """Connections at a rate, from one thread: half say nonsense, half close at once."""
    begun, made, failed = time.monotonic(), 0, 0
    nonsense = [os.urandom(200), b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello"]
    while made < rate * seconds:
        wait = begun + made / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        try:
            plain = socket.create_connection(("127.0.0.1", port), 10)
            if made % 2:
                plain.send(nonsense[made // 2 % len(nonsense)])
            plain.close()
        except OSError:
            failed += 1
        made += 1
    return {"made": made, "failed": failed, "seconds": time.monotonic() - begun}


class Storm:
    """A process of these, which runs beside the test."""

    def __init__(self, *arguments: object):
        command = [sys.executable, __file__, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.result: dict = {}
        self.ended = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        output, _ = self.process.communicate()
        self.result = json.loads(output or "{}")
        self.ended.set()

    def kill(self) -> None:
        self.process.kill()


if __name__ == "__main__":
    kinds = {"handshakes": handshakes, "garbage": garbage}
    print(json.dumps(kinds[sys.argv[1]](*map(int, sys.argv[2:]))))
