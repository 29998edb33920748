"""Every system of a benchmark behind one face: prepared once, then asked question by question."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from client_app.app import app_of
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.modes import Memories
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Answer, BuildReport, Question
from fedrag_flwr.records.isolate import isolated
from fedrag_flwr.settings import Plain, Settings
from simulations.baselines import BASELINES, Baseline, Construction, build_baseline
from simulations.bench.fixture import Fixture
from simulations.fixtures.kept_devices import KeptDevices, overhear
from strategies import STRATEGIES, ServerTools, make_strategy
from strategies.references import Centralized

Ask = Callable[[EdgeDevice, Question], Answer]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a system did before its first question."""

    builds: tuple[BuildReport, ...] = ()
    traffic: Traffic = field(default_factory=Traffic)
    constructions: tuple[Construction, ...] = ()
    server_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One question's answer, None if none came, what was sent for it, and the seconds that the server worked on it."""

    answer: Answer | None
    traffic: Traffic = field(default_factory=Traffic)
    server_seconds: float = 0.0


class System(Protocol):
    """One system over one fixture."""

    def prepare(self) -> Prepared:
        """Do what comes before questions."""
        ...

    def ask(self, question: Question) -> Asked:
        """Answer one question."""
        ...

    def close(self) -> None:
        """Close what it holds open."""
        ...


class Federated:
    """A strategy over the devices of a fixture, which live in this process and stay open, as a service keeps them.

    What is judged is what home answered, as people there read it, also where less of it may leave.

    Parameters
    ----------
    name
        The strategy's.
    fixture
        The dataset on its devices.
    changes
        Settings under which it differs from the others.
    """

    def __init__(self, name: str, fixture: Fixture, changes: Mapping[str, Plain] | None = None) -> None:
        settings = Settings.from_config({**fixture.settings.flat(), **(changes or {})})
        self._tools = ServerTools(settings)
        self._strategy = make_strategy(name, settings, [], self._tools)
        self._devices = KeptDevices(fixture.walker(name) if name in WALKS else "")
        nodes: list[dict[str, Plain]] = [
            {"partition-id": number, "num-partitions": len(fixture.devices)} for number in range(len(fixture.devices))
        ]
        own_run = os.getpid()  # for the devices two benchmarks at a time in one home are two runs
        self._grid = LocalGrid(app_of(self._devices.reply), nodes, settings.flat(), own_run)
        self._seen = Traffic()
        self._worked = 0.0

    def prepare(self) -> Prepared:
        """Describe, build and share."""
        self._strategy.prepare(self._grid, str(self._grid.run.run_id))
        if isinstance(self._strategy, Centralized):
            overhear(self._strategy.centre, self._devices.said)
        outcome = self._strategy.outcome()
        self._seen, self._worked = outcome.traffic, outcome.server_seconds
        return Prepared(outcome.builds, outcome.traffic, server_seconds=outcome.server_seconds)

    def ask(self, question: Question) -> Asked:
        """Ask at the question's home."""
        self._strategy.ask([question])
        self._grid.sent.clear()
        outcome = self._strategy.outcome()
        sent, worked = outcome.traffic.since(self._seen), outcome.server_seconds - self._worked
        self._seen, self._worked = outcome.traffic, outcome.server_seconds
        answer, said = self._strategy.answers.get(question.id), self._devices.said.pop(question.id, None)
        if answer is not None and said is not None:  # people at home read what they are told, unmasked
            answer = replace(answer, text=said.text, path=said.path, evidence=said.evidence, paths=said.paths)
        return Asked(answer, sent, worked)

    def close(self) -> None:
        """Close the devices, what the strategy has started, and what the server holds."""
        self._devices.close()
        self._strategy.close()
        self._tools.close()


@dataclass(frozen=True, slots=True)
class Alone:
    """A way of answering at each device alone, the settings under which it differs, and whether memories are made."""

    ask: Ask
    changes: Mapping[str, Plain] = field(default_factory=dict)
    memories: bool = True


class OnDevice:
    """A way of answering at each device alone, over what is its own.

    Parameters
    ----------
    fixture
        The dataset on its devices.
    way
        How; settings of it that change what is built have stores of their own.
    """

    def __init__(self, fixture: Fixture, way: Alone) -> None:
        self._fixture = fixture
        self._way = way
        self._devices: dict[str, EdgeDevice] = {}

    def prepare(self) -> Prepared:
        """Build what each device answers from."""
        self._devices = {name: self._fixture.device(name, self._way.changes) for name in self._fixture.devices}
        reports = tuple(device.build(memories=self._way.memories) for device in self._devices.values())
        return Prepared(reports)

    def ask(self, question: Question) -> Asked:
        """Ask at the question's home; nothing is sent."""
        device = self._devices[question.home]
        return Asked(isolated(question.id, lambda: self._way.ask(device, question)))

    def close(self) -> None:
        """Close the devices."""
        for device in self._devices.values():
            device.close()


class Local:
    """A local baseline at each device, built once over the device's documents.

    Parameters
    ----------
    name
        The baseline's.
    fixture
        The dataset on its devices.
    """

    def __init__(self, name: str, fixture: Fixture) -> None:
        self._name = name
        self._fixture = fixture
        self._baselines: dict[str, Baseline] = {}

    def prepare(self) -> Prepared:
        """Build the baseline of each device over documents that the fixture has read."""
        substrates = {name: self._fixture.substrate(name) for name in self._fixture.devices}
        built = {name: build_baseline(self._name, substrate) for name, substrate in substrates.items()}
        self._baselines = {name: baseline for name, (baseline, _) in built.items()}
        return Prepared(constructions=tuple(made for _, made in built.values()))

    def ask(self, question: Question) -> Asked:
        """Ask at the question's home; nothing is sent."""
        baseline = self._baselines[question.home]
        return Asked(isolated(question.id, lambda: baseline.answer(question)))

    def close(self) -> None:
        """Nothing is open."""


def at_home(memories: Memories = "own", *, memory: bool = True, reading: bool = True) -> Ask:
    """Ask a device as its people do, from memory, the model, or both."""
    return lambda device, question: device.engine_over(memories).at_home(question, memory=memory, reading=reading)


# FD-RAG's variants (Table 2, Figure 3), and the floor.
ON_DEVICE: Mapping[str, Alone] = {
    "fd-rag-local": Alone(at_home()),
    "fd-rag-kmeans-edges": Alone(at_home(), {"hypergraph.grouping": "k-means"}),
    "fd-rag-random-edges": Alone(at_home(), {"hypergraph.grouping": "random"}),
    "fd-rag-no-memory": Alone(at_home("none"), memories=False),
    "fd-rag-memorizer": Alone(at_home(reading=False)),
    "fd-rag-cognizer": Alone(at_home(memory=False)),
    "plain": Alone(lambda device, question: device.engine_over("none").plain(question), memories=False),
}


WALKS = ("topic-walk", "random-walk", "flooding")
# The papers that they are after score what the model wrote: it is not declined for being unlikely.
AS_WRITTEN: Mapping[str, Plain] = {"inference.abstain-below": 0.0}
# Sentences may fill the budget of words that local baselines have: what differs is where they come from.
WHOLE_BUDGET: Mapping[str, Plain] = {**AS_WRITTEN, "inference.remote-units": 20}
CHANGES: Mapping[str, Mapping[str, Plain]] = {
    **dict.fromkeys(("local-graph", "summary-routing", *WALKS), AS_WRITTEN),
    **dict.fromkeys(("rag-route", "confidential-broadcast"), WHOLE_BUDGET),
}


VARIANTS: Mapping[str, tuple[str, Mapping[str, Plain]]] = {
    "fedrag-no-shared-memory": ("fedrag", {"fedrag.without": "memories, cache"}),
    "fedrag-no-owners": ("fedrag", {"fedrag.without": "owners, cache"}),
    "fedrag-no-summaries": ("fedrag", {"fedrag.without": "summaries, cache"}),
}

TRAINED = "controller-fedavg"  # it trains on devices' own questions, and here they have only those that are asked
SYSTEMS = (*(name for name in STRATEGIES if name != TRAINED), *VARIANTS, *ON_DEVICE, *BASELINES)


def refuse_clashes(systems: Sequence[str], base: Settings, changes: Mapping[str, Plain]) -> None:
    """Refuse systems that cannot run under the settings of a plan, before anything is loaded.

    Raises
    ------
    SettingError
        A change is not what a system sets itself, or a system refuses a setting.
    """
    for name in systems:
        own = changes_of(name)
        for key, value in own.items():
            if changes.get(key, value) != value:
                fix = f"set it to {value}, or leave it or {name} out"
                raise SettingError(f"'{changes[key]}' does not fit {name}, which sets {value}", where=key, fix=fix)
        strategy, _ = VARIANTS.get(name, (name, {}))
        if strategy in STRATEGIES:
            settings = Settings.from_config({**base.flat(), **own})
            try:
                make_strategy(strategy, settings, [], ServerTools(settings))
            except SettingError as error:
                value = settings.flat().get(error.where, "")
                raise SettingError(
                    f"'{value}' does not fit {name}: {error.what}", where=error.where, fix=error.fix
                ) from None


def make_system(name: str, fixture: Fixture) -> System:
    """Make a system by its name, which is one of `SYSTEMS`."""
    if name in STRATEGIES or name in VARIANTS:
        strategy, _ = VARIANTS.get(name, (name, {}))
        return Federated(strategy, fixture, changes_of(name))
    if name in BASELINES:
        return Local(name, fixture)
    return OnDevice(fixture, ON_DEVICE[name])


def changes_of(name: str) -> Mapping[str, Plain]:
    """The settings under which a system differs from the others."""
    if name in ON_DEVICE:
        return ON_DEVICE[name].changes
    strategy, changed = VARIANTS.get(name, (name, {}))
    return {**CHANGES.get(strategy, {}), **changed}


def order_of(systems: Sequence[str], turn: int) -> list[str]:
    """The order in which systems get the turn-th question: each begins as often as the others."""
    at = turn % len(systems)
    return [*systems[at:], *systems[:at]]
