"""What an operator was told stays true, and what one device or client does is bounded."""

import threading
import time

import pytest

from courier import KEEP_ALIVE, encode
from delivery import live
from harness import APP
from test_command_line import assert_refused, serve


def resident_bytes(instance) -> float:
    return instance.admin.metric("process_resident_memory_bytes")


def test_a_registration_that_was_made_survives_a_kill(fresh):
    instance = fresh()
    for _ in range(10):
        token = instance.admin.register(APP)
        instance.restart(crash=True)
        assert instance.push(token).status == 200


def test_a_revocation_that_was_told_survives_a_kill(fresh):
    instance = fresh()
    tokens = [instance.admin.register(APP) for _ in range(10)]
    for token in tokens:
        instance.admin.revoke(token)
        instance.restart(crash=True)
        assert instance.push(token).status == 410


def test_a_removal_outlives_what_the_store_refused_before_it(fresh):
    instance = fresh({"threads": "1"})
    identity = instance.enrol()
    renewal = {"name": "phone", "csr": identity._request("phone")}
    instance.admin.fail_store(1)
    assert instance.admin.request("POST", "/v1/devices", renewal)[0] == 503
    instance.admin.delete(f"/v1/devices/{identity.id}")
    # What was refused is said again within a second, and what is enrolled then is written behind it.
    instance.advance("2s")
    instance.enrol()
    instance.restart(crash=True)
    with instance.courier(identity) as courier:
        assert courier.connect().item(1) == b"\2"


def test_what_the_store_refused_was_not_made(fresh):
    instance = fresh()
    token = "ab" * 32
    instance.admin.fail_store(1)
    body = {"topic": APP, "token": token, "state": "active"}
    status, _ = instance.admin.request("POST", "/v1/registrations", body)
    assert status == 503
    assert instance.push(token).reason == "BadDeviceToken"
    assert instance.admin.register(APP, token=token) == token


def test_one_token_is_registered_once_whatever_the_loop(fresh):
    instance = fresh({"threads": "2"})
    devices = [instance.admin.add_device(f"d{number}")["id"] for number in range(6)]
    for token in (f"{number:02x}" * 32 for number in range(40)):
        statuses = []

        def register(device):
            body = {"topic": APP, "device": device, "token": token, "state": "active"}
            statuses.append(instance.admin.request("POST", "/v1/registrations", body)[0])

        threads = [threading.Thread(target=register, args=(device,)) for device in devices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [201, 409, 409, 409, 409, 409]


def test_a_token_that_the_store_refused_is_free_whatever_the_loop(fresh):
    instance = fresh({"threads": "2"})
    devices = [instance.admin.add_device(f"d{number}")["id"] for number in range(6)]
    for number, device in enumerate(devices):
        body = {"topic": APP, "device": device, "token": f"{number:02x}" * 32, "state": "active"}
        instance.admin.fail_store(1)
        assert instance.admin.request("POST", "/v1/registrations", body)[0] == 503
        assert instance.admin.request("POST", "/v1/registrations", body)[0] == 201


def test_a_page_goes_on_when_its_last_item_is_gone(fresh):
    instance = fresh()
    made = {instance.admin.add_device(f"d{number}")["id"] for number in range(9)}
    first = instance.admin.get("/v1/devices", limit=4)
    instance.admin.delete(f"/v1/devices/{first['next']}")
    rest = instance.admin.get("/v1/devices", limit=100, after=first["next"])
    assert {item["id"] for item in first["items"] + rest["items"]} == made


def test_a_drain_that_is_called_off_stops(fresh):
    instance = fresh({"drain.delay": "1s"})
    token = instance.admin.register(APP)
    instance.admin.drain()
    time.sleep(0.2)
    instance.admin.end_drain()
    time.sleep(1.5)
    assert instance.admin.request("GET", "/readyz", token=None)[0] == 200
    assert instance.push(token).status == 200


@pytest.mark.sanitizer
def test_a_drain_answers_requests_that_are_not_complete(fresh):
    instance = fresh({"drain.timeout": "2s"})
    token = instance.admin.register(APP)
    with instance.client() as client:
        assert instance.push_on(client, token).status == 200
        streams = [client.open(instance.headers(token), end_stream=False) for _ in range(20)]
        client.ping()
        stopping = threading.Thread(target=instance.stop)
        stopping.start()
        client.wait_closed()
        stopping.join()
        assert {(stream.status, stream.reason) for stream in streams} == {(503, "Shutdown")}


@pytest.mark.sanitizer
def test_a_flood_of_keep_alives_fills_no_memory(fresh):
    instance = fresh()
    courier, (token,) = live(instance)
    before = resident_bytes(instance)
    flood = encode(KEEP_ALIVE, []) * 100_000
    sender = threading.Thread(target=lambda: courier.send_raw(flood * 10), daemon=True)
    sender.start()
    sender.join(3)
    assert resident_bytes(instance) - before < 32 * 1024 * 1024
    assert instance.push(instance.admin.register(APP)).status == 200


def test_an_empty_admin_token_stops_the_start(fresh):
    instance = fresh()
    instance.stop()
    (instance.directory / "admin.token").write_text("\n")
    assert_refused(serve(instance), "admin.token")
