"""The parts of a service by themselves: queues, rates, turns, devices kept open, frames, configs, log lines."""

import asyncio
import logging
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import ServiceBusyError, StoreError, StoreFullError, WireError
from fedrag_flwr.handling import HANDLERS
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.chat import Turns
from fedrag_flwr.records import ControllerRequest, DescribeRequest
from fedrag_flwr.service.application import error_response
from fedrag_flwr.service.config import device_config
from fedrag_flwr.service.guarding import Guard, RateLimit
from fedrag_flwr.service.keeping import OpenDevices
from fedrag_flwr.service.metrics import Metrics
from fedrag_flwr.service.protocol import MESSAGE_TYPES, frame, socket_of, unframe
from fedrag_flwr.service.queues import DeadlineError, RequestQueue
from fedrag_flwr.service.resident import Resident
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.wire_bytes import to_bytes
from tests.device.test_edge import Stuck
from tests.strategies.federation import Federation

HEAVY = (
    *("torch", "sentence_transformers", "spacy", "faiss", "llama_cpp", "sklearn", "scipy", "presidio_analyzer"),
    *("pydantic", "fastapi", "uvicorn", "sqlalchemy", "tenseal", "fedrag_flwr.wire", "fedrag_flwr.device"),
)


def test_the_client_app_loads_nothing_heavy() -> None:
    code = "import sys, client_app.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "client_app.app" in loaded
    assert set(HEAVY).isdisjoint(loaded)


def test_every_message_type_has_a_handler_and_is_registered() -> None:
    assert set(MESSAGE_TYPES) == set(HANDLERS) == set(app._registered_funcs)


SOCKETS: list[tuple[dict[str, Plain], str | None]] = [
    ({"partition-id": 0}, None),
    ({"partition-id": 0, "service": "/run/a.sock"}, "/run/a.sock"),
    ({"data-path": "/srv/ward", "home": "/h"}, "/h/devices/local/ward/service.sock"),
    ({"data-path": "/srv/ward", "home": "/h", "device-name": "w7"}, "/h/devices/local/w7/service.sock"),
    ({"data-path": "/srv/ward", "home": "/h", "service": "auto"}, "/h/devices/local/ward/service.sock"),
    ({"data-path": "/srv/ward", "service": "off"}, None),
    ({"sources": "sqlite:///w.db", "device-name": "w7", "home": "/h"}, "/h/devices/local/w7/service.sock"),
]


@pytest.mark.parametrize(("node", "path"), SOCKETS)
def test_where_a_node_looks_for_its_service(node: dict[str, Plain], path: str | None) -> None:
    assert socket_of(node) == (None if path is None else Path(path))


plain = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(max_size=20))


@given(st.text(max_size=20), st.dictionaries(st.text(max_size=10), plain, max_size=5), st.binary(max_size=100))
def test_a_frame_gives_back_what_was_put_in(run: str, config: dict[str, Plain], content: bytes) -> None:
    assert unframe(frame(run, config, content)) == (run, config, content)


@given(st.one_of(st.binary(max_size=60), st.binary(max_size=60).map(lambda body: len(body).to_bytes(4, "big") + body)))
def test_other_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        unframe(body)


def test_a_full_queue_refuses_and_a_late_one_gives_up() -> None:
    async def scenario() -> None:
        queue, opened, ran = RequestQueue("asks", 1, 2), threading.Event(), []
        first = asyncio.create_task(queue.run(lambda: opened.wait(30), 30))
        second = asyncio.create_task(queue.run(lambda: ran.append("second"), 0.05))
        await asyncio.sleep(0)
        assert queue.length == 2
        with pytest.raises(ServiceBusyError) as busy:
            await queue.run(lambda: None, 30)
        assert busy.value.seconds >= 1
        with pytest.raises(DeadlineError):
            await second
        opened.set()
        assert await first
        assert await queue.run(lambda: "third", 30) == "third"
        assert ran == []  # what had not begun by its deadline never begins
        assert queue.length == 0
        queue.close()
        with pytest.raises(ServiceBusyError):
            await queue.run(lambda: None, 30)

    asyncio.run(scenario())


def test_an_error_comes_out_of_a_queue_and_leaves_it_free() -> None:
    async def scenario() -> None:
        queue = RequestQueue("asks", 1, 1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await queue.run(lambda: 1 // 0, 30)
        assert queue.length == 0
        queue.close()

    asyncio.run(scenario())


@given(st.floats(0.5, 50), st.integers(1, 20), st.lists(st.floats(0, 2), min_size=1, max_size=60))
def test_no_caller_gets_more_than_burst_and_rate_allow(rate: float, burst: int, pauses: list[float]) -> None:
    now = 0.0
    limit = RateLimit(rate, burst, lambda: now)
    passed = 0
    for pause in pauses:
        now += pause
        waits = limit.wait("one")
        passed += waits == 0.0
        assert passed <= burst + rate * now + 1e-6
        if waits:
            now += waits + 1e-9
            assert limit.wait("one") == 0.0  # the wait that was told is long enough
            passed += 1
    assert limit.wait("another") == 0.0


def test_the_caller_that_was_silent_for_longest_is_forgotten_first() -> None:
    limit = RateLimit(1.0, 1, lambda: 0.0, most=2)
    assert [limit.wait(caller) for caller in ("a", "b")] == [0.0, 0.0]
    assert limit.wait("a") > 0
    assert limit.wait("c") == 0.0  # "b" goes
    assert limit.wait("a") > 0
    assert limit.wait("b") == 0.0


@pytest.mark.parametrize(("path", "status"), [("/v1/answers", 401), ("/static/page.js", 200)])
def test_who_has_no_token_takes_no_other_s_rate(path: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fedrag_flwr")
    guard = Guard(
        PlainTextResponse("in"),
        token="secret",
        rate=RateLimit(1.0, 20, lambda: 0.0),
        most_bytes=lambda _: 0,
        metrics=Metrics(cast(Resident, None), ()),  # nobody reads them
        refuse=error_response,
    )
    client, told = TestClient(guard, base_url="http://127.0.0.1"), {"Authorization": "Bearer secret"}
    assert Counter(client.get(path).status_code for _ in range(150)) == {status: 20, 429: 130}
    assert len(caplog.records) < 110
    assert Counter(client.get(path, headers=told).status_code for _ in range(21)) == {200: 20, 429: 1}


def test_turns_are_taken_in_the_order_of_asking() -> None:
    turns, order, ready = Turns(), [], []

    def take(number: int) -> None:
        ready.append(number)
        with turns:
            order.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    with turns:
        for place, thread in enumerate(threads, 1):
            thread.start()
            while len(turns._waiting) < place:
                threading.Event().wait(0.001)
    with turns:  # whoever asks again comes last
        order.append(99)
    for thread in threads:
        thread.join()
    assert order == [*range(8), 99]
    assert turns.seconds > 0


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return Federation(tmp_path_factory.mktemp("keeping")).write()


def test_a_device_in_use_is_never_closed_and_idle_ones_go_in_order(files: Federation) -> None:
    opened: list[EdgeDevice] = []

    def opener(settings: Settings) -> EdgeDevice:
        opened.append(files.device("bridges"))
        return opened[-1]

    root = files.root / "home" / "devices" / files.settings.data_key / "bridges"
    kept = OpenDevices(root, opener, 2)
    one, two, three = (files.with_changes(seed=seed).settings for seed in (1, 2, 3))
    with kept.device(one) as first:
        with kept.device(one) as same, kept.device(two) as second:
            assert same is first
        with kept.device(three) as third:
            assert [closed(device) for device in (first, second, third)] == [False, True, False]
        kept.retire()
        assert [closed(device) for device in (first, third)] == [False, True]
        with kept.device(one) as fresh:
            assert fresh is not first
    assert closed(first)
    kept.close()
    assert len(opened) == 4
    assert all(map(closed, opened))


def test_a_device_that_fails_to_close_fails_no_user(files: Federation, caplog: pytest.LogCaptureFixture) -> None:
    root = files.root / "home" / "devices" / files.settings.data_key / "bridges"
    kept = OpenDevices(root, lambda _: files.device("bridges"), 2)
    with kept.device(files.settings) as device:
        device.sources = Stuck(device.documents, (), device.models)
        kept.retire()
    assert closed(device)
    assert "the disk is full" in caplog.text
    with kept.device(files.with_changes(seed=1).settings) as first, kept.device(files.settings) as second:
        first.sources = Stuck(first.documents, (), first.models)
    with pytest.raises(StoreFullError):
        kept.close()
    assert closed(first)
    assert closed(second)


def closed(device: EdgeDevice) -> bool:
    try:
        return device.store.version < 0
    except StoreError:
        return True


@pytest.mark.parametrize(("message_type", "anew"), [("train.controller", True), ("query.describe", False)])
def test_what_has_no_version_opens_peoples_device_anew(
    files: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message_type: str, anew: bool
) -> None:
    """New weights are no change of the memory."""
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path))
    own: dict[str, object] = {"device-name": "rivers", "data-path": str(files.root / "data" / "rivers")}
    settings = {key: value for key, value in files.config.items() if key.partition(".")[0] in ("models", "memory")}
    resident = Resident(device_config({**own, "settings": settings}))
    with resident.device() as device:
        before = device
    content = to_bytes(wire.encode(DescribeRequest() if not anew else ControllerRequest("keep", "none"), run="1"))
    resident.message(message_type, "1", files.config, content)
    with resident.device() as device:
        assert (device is not before) == anew
    resident.close()


def test_a_store_that_was_made_anew_is_opened_anew(files: Federation) -> None:
    root = files.root / "home" / "devices" / files.settings.data_key / "rivers"
    kept = OpenDevices(root, lambda _: files.device("rivers"), 2)
    with kept.device(files.settings) as before:
        old = before.store.id
    MemoryStore.erase(root)
    with files.device("rivers"), kept.device(files.settings) as after:
        assert after.store.id != old
    kept.close()
