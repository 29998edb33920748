"""While nobody asks, the model of a service writes memories; it stops for whoever comes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedrag_flwr.service import idle
from fedrag_flwr.service.config import device_config
from fedrag_flwr.service.idle import writing_in_quiet
from fedrag_flwr.service.resident import Resident
from fedrag_flwr.service.routes import Routes
from fedrag_flwr.settings import Plain
from tests.service.running import SETTINGS

PARKING = "To park for a day, members pay 15 euros at the north gate. Lost permits go to Greta Holm on Monday."
MILL = "At the Old Mill, work stopped in 1931 after the fire. Of the Old Mill, only 9 walls are left."


@pytest.fixture
def routes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Routes]:
    monkeypatch.setattr(idle, "QUIET_SECONDS", 0.5)
    monkeypatch.setattr(idle, "_LOOK_SECONDS", 0.1)
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "parking.txt").write_text(PARKING)
    (documents / "mill.txt").write_text(MILL)
    settings: dict[str, Plain] = {**SETTINGS, "models.generator": "smollm2-135m", "memory.tokens-per-kilotoken": 10_000}
    nested: dict[str, dict[str, Plain]] = {}
    for name, value in settings.items():
        group, _, key = name.partition(".")
        nested.setdefault(group, {})[key] = value
    told = {"device-name": "club", "home": str(tmp_path / "home"), "data-path": str(documents), "settings": nested}
    made = Routes.of(Resident(device_config(told)))
    yield made
    made.close()


def asked_about(routes: Routes) -> int:
    """Sentences that the model has written of; what it keeps of them hangs on the processor's rounding."""
    with routes.resident.device() as device:
        return len(device.store.asked())


def test_a_build_does_not_wait_for_the_model_which_writes_when_it_is_quiet(routes: Routes) -> None:
    report = routes.resident.build()
    assert report.cost.llm_calls == 0

    async def quiet() -> None:
        async with writing_in_quiet(routes):
            async with asyncio.timeout(60):
                while not asked_about(routes):
                    await asyncio.sleep(0.1)

    asyncio.run(quiet())


def test_it_stops_for_whoever_asks_and_ends_with_the_service(routes: Routes) -> None:
    routes.resident.build()

    async def busy() -> None:
        async with writing_in_quiet(routes):
            for _ in range(8):
                await routes.asks.run(lambda: routes.resident.ask("What do members pay for a day?"), 60)
                await asyncio.sleep(0.2)  # less than is quiet

    asyncio.run(busy())
    assert asked_about(routes) == 0
