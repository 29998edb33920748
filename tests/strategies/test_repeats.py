"""Runs in which every message comes twice, or an old one comes again: they end as undisturbed ones do."""

from pathlib import Path

import pytest
from flwr.app import Message

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.settings import Plain
from fedrag_flwr.wire_bytes import to_bytes
from strategies import make_strategy
from tests.strategies.federation import Federation, FirstRun, anew, server_tools

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first test waits for the first run
RUN = "1"
SYSTEMS: dict[str, dict[str, Plain]] = {
    "memory-fusion": {"federation__page_bytes": 2_000},
    "flooding": {"overlay__threshold": 0.7},
}


class Repeating(LocalGrid):
    """A grid on which devices get every message twice, and once more after the one that follows it."""

    def __init__(self, files: Federation) -> None:
        super().__init__(app, files.nodes, files.config)
        self.twice: list[tuple[bytes, bytes]] = []
        self.late: list[str] = []
        self._last: dict[int, Message] = {}

    def _handle(self, message: Message) -> Message:
        reply, second = super()._handle(message), super()._handle(message)
        self.twice.append((to_bytes(reply.content), to_bytes(second.content)))
        if (old := self._last.get(message.metadata.dst_node_id)) is not None:
            told = super()._handle(old).content
            self.late.append(wire.decode(told, wire.Failure, run=RUN).error)
        self._last[message.metadata.dst_node_id] = message
        return reply


def run(files: Federation, grid: LocalGrid) -> dict[str, tuple[str, str, float]]:
    """The answers of a run: texts, paths and scores."""
    tools = server_tools(files)
    strategy = make_strategy(files.settings.strategy, files.settings, files.questions, tools)
    outcome = strategy.run(grid, RUN)
    assert outcome.traffic.missing == {}
    return {one.question_id: (one.text, one.path, one.score) for one in outcome.answers}


def learnt(files: Federation) -> dict[str, object]:
    """What each device holds and has learnt of others."""
    found: dict[str, object] = {}
    for path in sorted((files.root / "data").iterdir()):
        with files.device(path.name) as device:
            items = [(one.id, one.question, one.answer, one.origin) for one in device.store.items()]
            found[path.name] = (device.walks.expertise.state(), device.describe(), items)
    return found


@pytest.mark.parametrize("system", SYSTEMS)
@anew()
def test_a_run_in_which_all_comes_twice_ends_as_another(system: str, first: FirstRun, tmp_path: Path) -> None:
    changes: dict[str, Plain] = {"strategy": system, "baselines": "", **SYSTEMS[system]}
    peace, repeated = (first.files.copy_to(tmp_path / name).with_changes(**changes) for name in ("one", "two"))
    expected = run(peace, peace.grid())
    grid = Repeating(repeated)
    assert run(repeated, grid) == expected
    assert learnt(repeated) == learnt(peace)
    assert all(one == two for one, two in grid.twice)
    assert set(grid.late) == {"StaleMessageError"}
    assert len(grid.late) > 10
