"""Every system of a benchmark behind one face: prepared once, then asked question by question."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from client_app.app import app_of
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.modes import Memories
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.records.isolate import isolated
from fedrag_flwr.settings import Plain, Settings
from simulations.bench.fixture import Fixture
from simulations.bench.rows import Row
from simulations.fixtures.kept_devices import KeptDevices, overhear
from simulations.fixtures.simulated import simulated
from strategies import STRATEGIES, ServerTools, make_strategy
from strategies.references import Centralized

Ask = Callable[[EdgeDevice, Question], Answer]


class System(Protocol):
    """One system over one fixture."""

    def prepare(self) -> Row:
        """Do what comes before questions, and tell what it took."""
        ...

    def ask(self, question: Question) -> Row:
        """Answer one question."""
        ...

    def close(self) -> None:
        """Close what it holds open."""
        ...


class Federated:
    """A strategy over the devices of a fixture, which live in this process and stay open, as a service keeps them.

    What is judged is what home answered, as people there read it, also where less of it may leave.
    """

    def __init__(self, name: str, fixture: Fixture) -> None:
        strategy, _ = VARIANTS.get(name, (name, {}))
        settings = Settings.from_config({**fixture.settings.flat(), **changes_of(name)})
        self._name, self._tools = name, ServerTools(settings)
        self._strategy = make_strategy(strategy, settings, [], self._tools)
        self._devices = KeptDevices(fixture.walker(strategy) if strategy in WALKS else "")
        # for the devices two benchmarks at a time in one home are two runs
        self._grid = simulated(settings, app_of(self._devices.reply), len(fixture.devices), os.getpid())
        self._seen, self._worked = Traffic(), 0.0

    def prepare(self) -> Row:
        """Describe, build and share."""
        self._strategy.prepare(self._grid, str(self._grid.run.run_id))
        if isinstance(self._strategy, Centralized):
            overhear(self._strategy.centre, self._devices.said)
        outcome = self._strategy.outcome()
        self._seen, self._worked = outcome.traffic, outcome.server_seconds
        return Row(self._name, "", None, outcome.traffic, outcome.builds, server_seconds=outcome.server_seconds)

    def ask(self, question: Question) -> Row:
        """Ask at the question's home."""
        self._strategy.ask([question])
        self._grid.sent.clear()
        outcome = self._strategy.outcome()
        sent, worked = outcome.traffic.since(self._seen), outcome.server_seconds - self._worked
        self._seen, self._worked = outcome.traffic, outcome.server_seconds
        answer, said = self._strategy.answers.get(question.id), self._devices.said.pop(question.id, None)
        if answer is not None and said is not None:  # people at home read what they are told, unmasked
            answer = replace(answer, text=said.text, path=said.path, evidence=said.evidence, paths=said.paths)
        return Row(self._name, question.id, answer, sent, server_seconds=worked)

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


class AtHome:
    """A way of answering at each device alone, over what is its own: one of `ON_DEVICE`."""

    def __init__(self, name: str, fixture: Fixture) -> None:
        self._name, self._fixture, self._way = name, fixture, ON_DEVICE[name]
        self._devices: dict[str, EdgeDevice] = {}

    def prepare(self) -> Row:
        """Build what each device answers from."""
        self._devices = {name: self._fixture.device(name, self._way.changes) for name in self._fixture.devices}
        reports = tuple(device.build(memories=self._way.memories) for device in self._devices.values())
        return Row(self._name, builds=reports)

    def ask(self, question: Question) -> Row:
        """Ask at the question's home; nothing is sent."""
        answer = isolated(question.id, lambda: self._way.ask(self._devices[question.home], question))
        return Row(self._name, question.id, answer)

    def close(self) -> None:
        """Close the devices."""
        for device in self._devices.values():
            device.close()


def at_home(memories: Memories = "own", *, memory: bool = True, reading: bool = True) -> Ask:
    """Ask a device as its people do, from memory, the model, or both."""
    return lambda device, question: device.engines.over(memories).at_home(question, memory=memory, reading=reading)


# FD-RAG's variants (Table 2, Figure 3), and the floor.
ON_DEVICE: Mapping[str, Alone] = {
    "fd-rag-local": Alone(at_home()),
    "fd-rag-kmeans-edges": Alone(at_home(), {"hypergraph.grouping": "k-means"}),
    "fd-rag-random-edges": Alone(at_home(), {"hypergraph.grouping": "random"}),
    "fd-rag-no-memory": Alone(at_home("none"), memories=False),
    "fd-rag-memorizer": Alone(at_home(reading=False)),
    "fd-rag-cognizer": Alone(at_home(memory=False)),
    "plain": Alone(lambda device, question: device.engines.over("none").plain(question), memories=False),
}
WALKS = ("topic-walk", "random-walk", "flooding")
# The papers that they are after score what the model wrote: it is not declined for being unlikely.
AS_WRITTEN: Mapping[str, Plain] = {"inference.abstain-below": 0.0}
# Sentences may fill some 400 words: what differs is where they come from.
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
SYSTEMS = (*(name for name in STRATEGIES if name != TRAINED), *VARIANTS, *ON_DEVICE)


def refuse_clashes(systems: Sequence[str], base: Settings, changes: Mapping[str, Plain]) -> None:
    """Refuse systems that cannot run under the settings of a plan, before anything is loaded.

    Raises SettingError: a change is not what a system sets itself, or a system refuses a setting.
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
                what = f"'{settings.flat().get(error.where, '')}' does not fit {name}: {error.what}"
                raise SettingError(what, where=error.where, fix=error.fix) from None


def make_system(name: str, fixture: Fixture) -> System:
    """Make a system by its name, which is one of `SYSTEMS`."""
    return Federated(name, fixture) if name in STRATEGIES or name in VARIANTS else AtHome(name, fixture)


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
