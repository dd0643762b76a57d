"""Lessons of other gateways, T55: a limit of 0 that dropped everything. Each numeric setting at its edges."""

import re
import time

import pytest

from delivery import live, push, push_all, received
from harness import APP, command
from instance import REPOSITORY, until

ROW = re.compile(r"^\| `([a-zA-Z.]+)` \| `([^`]*)` \| (\S+) to (\S+) \|([^|]*)\|", re.M)
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "": 1}


class Setting:
    """A numeric setting as docs/operations.md tells it, which a test of the sources holds against the table there."""

    def __init__(self, name: str, default: str, least: str, most: str, zero: str):
        self.name, self.default, self.least, self.most, self.zero = name, default, least, most, zero.strip()
        self.is_duration = not least.isdigit()

    def __repr__(self) -> str:
        return self.name

    @staticmethod
    def seconds(text: str) -> float:
        digits = re.match(r"\d+", text)[0]
        return int(digits) * UNITS[text[len(digits) :]]

    def beyond(self) -> list[str]:
        """What lies right outside the bounds."""
        if not self.is_duration:
            return [str(int(self.least) - 1), str(int(self.most) + 1)]
        below = round(self.seconds(self.least) * 1000) - 1
        above = round(self.seconds(self.most) * 1000) + 1
        return [f"{value}ms" for value in (below, above) if value >= 0]

    def senseless(self) -> list[str]:
        return ["-1", "1.5", "1e3", "many", "0x10", "+1", "１", "99999999999999999999"] + (
            ["1", "1 s", "1S", "1y", "s"] if self.is_duration else ["1s", "1k", "1 000", "1_000"]
        )


SETTINGS = [Setting(*row) for row in ROW.findall((REPOSITORY / "docs/operations.md").read_text())]
#: Those that decide where it listens, and how many may come: they have tests of their own.
APART = {"limits.connections", "limits.connectionsPerAddress", "threads"}
TOGETHER = [setting for setting in SETTINGS if not setting.name.endswith(".port") and setting.name not in APART]


def shown(instance, setting: Setting, value: str):
    """What `serve --print-config` says with this value."""
    config = instance.facts["config"]
    return command("serve", "--config", config, "--print-config", "--set", f"{setting.name}={value}")


def test_t55_the_table_of_settings_is_read():
    assert len(SETTINGS) > 20 and len(TOGETHER) > 15


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_t55_both_edges_are_good_and_what_lies_beyond_stops_the_start(template, setting):
    for value in (setting.least, setting.most):
        done = shown(template, setting, value)
        assert done.returncode == 0, done.stderr
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"{setting.name} ")]
        got = line.split("#")[0].split("=")[1].strip()
        # 0 that means something else is shown as what it means, such as the number of cores.
        assert got == value or setting.zero or setting.seconds(got) == setting.seconds(value), line
    for value in setting.beyond() + setting.senseless():
        done = command("serve", "--config", template.facts["config"], "--set", f"{setting.name}={value}")
        assert done.returncode == 1 and done.stdout == "", f"{setting.name} = {value} was taken"
        assert setting.name in done.stderr and "must be" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_t55_zero_has_a_meaning_or_is_refused(template, setting):
    for value in ("0", "0s") if setting.is_duration else ("0",):
        done = shown(template, setting, value)
        assert done.returncode == (0 if setting.zero else 1), done.stderr
        if not setting.zero:
            assert f"from {setting.least} to {setting.most}" in done.stderr


def serves(instance, count: int = 3) -> None:
    """Pushes are stored for a device that is away and come when it is back, and live ones come at once."""
    courier, (token,) = live(instance)
    with courier:
        push(instance, token, 1)
        assert received(courier, 1) == [1]
    instance.wait_disconnected(courier.identity)
    push_all(instance, token, *range(count))
    courier, _ = live(instance, identity=courier.identity)
    with courier:
        # How many were kept is the setting's matter; none may have been lost for want of a limit.
        assert received(courier, min(count, int(instance.settings.get("queue.limit", "100"))))
    assert instance.admin.get("/v1/status")["draining"] is False


@pytest.mark.parametrize("edge", ["least", "most"])
def test_t55_a_gateway_with_everything_at_its_edge_serves(fresh, edge):
    settings = {setting.name: getattr(setting, edge) for setting in TOGETHER}
    if edge == "most":
        # A drain as long as it may be would outlast the test.
        del settings["drain.delay"], settings["drain.timeout"]
        del settings["device.minimumRSABits"]
    else:
        # A store on a slow machine may take longer than the least.
        del settings["provider.requestTimeout"], settings["delivery.ackTimeout"]
    serves(fresh(settings))


@pytest.mark.parametrize("settings", [
    {"threads": "1"}, {"threads": "256"}, {"threads": "0"}, {"limits.connections": "0"},
    {"limits.connections": "10000000"}, {"limits.connectionsPerAddress": "0"},
    {"limits.connectionsPerAddress": "10000000"}, {"provider.requestTimeout": "10m"}, {"drain.delay": "0"},
    {"delivery.lowPriorityDelay": "0"}, {"provider.tokenRate": "0"}, {"limits.handshakes": "1"},
], ids=lambda settings: "-".join(f"{name}-{value}" for name, value in settings.items()))  # fmt: skip
def test_t55_a_gateway_with_one_setting_at_its_edge_serves(fresh, settings):
    serves(fresh(settings))


def test_t55_one_stored_push_is_the_newest(fresh):
    instance = fresh({"queue.limit": "1"})
    identity, (token,) = instance.offline(APP)
    push_all(instance, token, 1, 2, 3)
    courier, _ = live(instance, identity=identity)
    with courier:
        assert received(courier, 1) == [3]


def test_t55_a_window_of_one_sends_the_next_after_the_last_was_acknowledged(fresh):
    instance = fresh({"delivery.window": "1"})
    identity, (token,) = instance.offline(APP)
    push_all(instance, token, 1, 2, 3)
    courier, _ = live(instance, identity=identity)
    with courier:
        for number in (1, 2, 3):
            message = courier.expect_notify(ack=False)
            assert message.payload == b'{"n":%d}' % number
            courier.expect_nothing(0.1)
            courier.ack(message)


def test_t55_a_backlog_of_one_refuses_the_next_and_loses_none(fresh):
    instance = fresh({"delivery.backlog": "1", "delivery.window": "1"})
    courier, (token,) = live(instance)
    with courier:
        statuses = [instance.push(token, body=b'{"n":%d}' % number).status for number in range(6)]
        accepted = [number for number, status in enumerate(statuses) if status == 200]
        assert set(statuses) == {200, 429} and 1 <= len(accepted) <= 2
        got = []
        for _ in accepted:
            message = courier.expect_notify(ack=True)
            got.append(int(message.payload[5:-1]))
        assert got == accepted


def test_t55_one_token_update_is_one_token(fresh):
    instance = fresh({"provider.tokenUpdates": "1"})
    token = instance.register()
    with instance.client() as client:
        first, second = instance.keys.bearer(), instance.keys.bearer(issued=-60)
        assert instance.push_on(client, token, {"authorization": first}).status == 200
        answer = instance.push_on(client, token, {"authorization": second})
        assert (answer.status, answer.reason) == (429, "TooManyProviderTokenUpdates")
        assert instance.push_on(client, token, {"authorization": first}).status == 200


def test_t55_a_rate_of_one_lets_one_a_second_pass(fresh):
    instance = fresh({"provider.tokenRate": "1"})
    instance.admin.hold_clock(True)
    token, other = instance.register(), instance.register()
    statuses = [instance.push(token).status for _ in range(4)]
    assert statuses[0] == 200 and set(statuses[1:]) == {429}
    assert instance.push(other).status == 200
    instance.advance("1s")
    assert instance.push(token).status == 200


def test_t55_one_connection_is_one_and_another_is_closed_and_counted(fresh):
    for settings in ({"limits.connections": "1"}, {"limits.connectionsPerAddress": "1"}):
        # Each loop has its share of all connections, at least one.
        instance = fresh(settings | {"threads": "1"})
        token = instance.register()
        with instance.client() as client:
            assert instance.push_on(client, token).status == 200
            with pytest.raises(OSError):
                instance.client().close()
            assert instance.push_on(client, token).status == 200
        deadline = time.monotonic() + 20
        while True:
            try:
                assert instance.push(token).status == 200
                break
            except OSError:
                # The gateway has not seen yet that the first has gone.
                assert time.monotonic() < deadline
                time.sleep(0.05)


def test_t55_one_row_of_the_log_is_the_newest(fresh):
    instance = fresh({"log.rows": "1"})
    token = instance.register()
    answers = push_all(instance, token, 1, 2, 3)
    instance.admin.wait_for_state(answers[-1].apns_id, "stored-offline")
    until(lambda: len(instance.admin.get("/v1/notifications")["items"]) <= 1, "one row")
