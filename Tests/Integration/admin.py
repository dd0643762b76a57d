"""The operators' HTTP API (design: admin API), with nothing but the standard library."""

import http.client
import json
import re
import time
import urllib.parse

SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


class Admin:
    """One call, one connection: nothing that a test does here depends on what went before."""

    def __init__(self, port: int, token: str):
        self.port = port
        self.token = token

    def request(self, method: str, path: str, body=None, token: str | None = "") -> tuple[int, object]:
        """Status and body: parsed if it is JSON, else text. `token=None` sends no authorization."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if token is not None:
            headers["Authorization"] = f"Bearer {token or self.token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if text and "json" in (answer.headers.get("Content-Type") or ""):
            return answer.status, json.loads(text)
        return answer.status, text

    def _expect(self, status: int, method: str, path: str, body=None):
        got, answer = self.request(method, path, body)
        assert got == status, f"{method} {path}: {got}, not {status}: {answer}"
        return answer

    def get(self, path: str, **query):
        """The body of a 200."""
        text = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
        return self._expect(200, "GET", f"{path}?{text}" if text else path)

    def post(self, path: str, body: dict | None = None):
        """The body of a success; 201 for what makes something, 200 or 204 for the rest."""
        status, answer = self.request("POST", path, body)
        assert status in (200, 201, 202, 204), f"POST {path}: {status}: {answer}"
        return answer

    def delete(self, path: str) -> None:
        self._expect(204, "DELETE", path)

    # Apps, keys, devices

    def add_app(self, bundle: str, team: str, broadcast: bool = False) -> dict:
        return self._expect(201, "POST", "/v1/apps", {"bundle": bundle, "team": team, "broadcast": broadcast})

    def make_key(self, team: str, environment: str = "all", topics: list[str] = ()) -> dict:
        """A new signing key; the answer holds its private half as `privateKey`."""
        return self._expect(201, "POST", "/v1/keys", {"team": team, "environment": environment, "topics": list(topics)})

    def import_key(self, team: str, key_id: str, public_pem: str) -> dict:
        body = {"team": team, "environment": "all", "topics": [], "publicKey": public_pem, "keyID": key_id}
        return self._expect(201, "POST", "/v1/keys", body)

    def revoke_key(self, key_id: str) -> None:
        self.delete(f"/v1/keys/{key_id}")

    def add_device(self, name: str, key_type: str | None = None, csr: str | None = None) -> dict:
        body = {"name": name, "csr": csr} if csr else {"name": name, "keyType": key_type or "ec"}
        return self._expect(201, "POST", "/v1/devices", body)

    # Registrations, queues, log

    def register(self, topic: str, state: str = "active", **more: str) -> str:
        """Makes a registration without a device's asking (`token=` and `device=` if they matter); its token."""
        return self._expect(201, "POST", "/v1/registrations", {"topic": topic, "state": state} | more)["token"]

    def registration(self, token: str) -> dict | None:
        for item in self.get("/v1/registrations", limit=1000)["items"]:
            if item["token"] == token:
                return item
        return None

    def revoke(self, token: str) -> None:
        self.delete(f"/v1/registrations/{token}")

    def queue(self, token: str) -> list[dict]:
        return self.get(f"/v1/queues/{token}")["items"]

    def notification(self, apns_id: str) -> dict | None:
        items = self.get("/v1/notifications", apnsID=apns_id)["items"]
        return items[0] if items else None

    def wait_for_state(self, apns_id: str, *states: str, seconds: float = 10) -> dict:
        """The notification's row once its state is one of these; the log is written a little later."""
        deadline = time.monotonic() + seconds
        row = None
        while time.monotonic() < deadline:
            row = self.notification(apns_id)
            if row and row["state"] in states:
                return row
            time.sleep(0.05)
        raise AssertionError(f"{apns_id} is not {' or '.join(states)} but {row}")

    # Metrics and test hooks

    def metrics(self) -> dict[tuple[str, frozenset], float]:
        """Every sample: (name, labels) to value."""
        samples = {}
        for line in self._expect(200, "GET", "/metrics").splitlines():
            if match := SAMPLE.match(line):
                labels = frozenset(LABEL.findall(match[2] or ""))
                samples[match[1], labels] = float(match[3])
        return samples

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples of `carillon_<name>` that carry these labels; 0 without any."""
        wanted = set(labels.items())
        return sum(
            value for (sample, has), value in self.metrics().items() if sample == f"carillon_{name}" and wanted <= has
        )

    def hold_clock(self, hold: bool) -> None:
        self.post("/v1/test/clock", {"hold": hold})

    def hold_store(self, hold: bool) -> None:
        self.post("/v1/test/store", {"hold": hold})

    def fail_store(self, times: int) -> None:
        self.post("/v1/test/store", {"fail": times})

    def force_answer(self, status: int, reason: str, times: int = 1) -> None:
        self.post("/v1/test/answer", {"status": status, "reason": reason, "times": times})

    def drain(self) -> None:
        self.post("/v1/drain")

    def end_drain(self) -> None:
        self.delete("/v1/drain")
