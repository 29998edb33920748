"""A device's builds: one at a time, of its sources as they are now, and what follows where these have changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.device.builder import Builder, BuildPlan
from fedrag_flwr.device.device_graph import DeviceGraph
from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.generate.generation import MemoryGenerator
from fedrag_flwr.memory.store import MemoryStore, carry_over
from fedrag_flwr.memory.store.database import write_lock
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.records import BuildReport, Progress
from fedrag_flwr.retrieval.device_controller import DeviceController
from fedrag_flwr.retrieval.order import EvidenceOrders
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.sources.open_source import SourceSet

NAMES = "names.sqlite"
_LOCK = "building.lock"
_TEXTS = "texts"  # meta key: whether the last build read the folder of files
_EMPTIED = "emptied"  # meta key: the sources that held nothing then, and were meant to


@dataclass(frozen=True, slots=True)
class DeviceBuilds:
    """Brings a device's memory up to date with its documents.

    Parameters
    ----------
    device
        The device's name.
    store
        Its memory.
    sources
        Gives its sources.
    controller, orders
        What was fitted to the documents, and how evidence is ordered: both follow a change.
    sweep
        Drops what was made of documents that are gone.
    graph
        Its knowledge graph.
    models, settings
        The models, and the settings of the run.
    """

    device: str
    store: MemoryStore
    sources: Callable[[], SourceSet]
    controller: DeviceController
    orders: EvidenceOrders
    sweep: Callable[[], None]
    graph: DeviceGraph
    models: Models
    settings: Settings

    def build(self, memories: bool, graph: bool, empty: bool, progress: Progress) -> BuildReport:
        """As `EdgeDevice.build`."""
        directory = self.store.database.directory
        with write_lock(directory, math.inf, _LOCK):  # two at a time would add a document twice
            carry_over.unpack(directory, self.store.database)
            reading = self._read(empty)
            plan = BuildPlan.of(self.settings, memories, self.models.generator_id)
            report = self._builder().build(reading, plan, progress)
            self.sweep()  # also where nothing has changed: the build that removed a document may have been killed here
            if report.added or report.changed or report.removed:
                self.controller.forget()
                if memories:
                    self.orders.prepare()
            return self.graph.extend(report, progress) if graph else report

    def _read(self, empty: bool) -> Reading:
        """The sources as they are; what holds nothing must be meant to, or have been."""
        sources = self.sources()
        emptied = emptied_sources(self.store)
        reading = sources.read(
            had_texts=self.store.meta(_TEXTS) == "yes", may_be_empty=lambda source: empty or source in emptied
        )
        self._note(_TEXTS, "yes" if sources.has_texts else "no")  # an empty folder may be one not mounted
        self._note(_EMPTIED, "\n".join(reading.empty))
        return reading

    def _builder(self) -> Builder:
        tools = self.models
        tokens, seed = self.settings.memory.tokens_per_kilotoken, self.settings.seed
        generator = MemoryGenerator(tools.encoder, tools.generator, tokens, seed)
        return Builder(self.device, self.store, tools.encoder, tools.pipeline, generator)

    def _note(self, key: str, now: str) -> None:
        """Remember something of the sources as they were read last."""
        if (self.store.meta(key) or "") != now:
            self.store.set_meta(key, now)


def forget_memory(root: Path, sources: SourceSet, *, empty: bool) -> None:
    """Delete a device's memory, so that the next build begins anew; waiting questions and answers stay.

    Parameters
    ----------
    root
        The directory of its store.
    sources
        What it will be built from; closed in the end.
    empty
        Whether sources that hold nothing are meant to.

    Raises
    ------
    SourceError
        The sources cannot be read, or there are none and nobody said that this is meant. Nothing goes then.
    """
    try:
        sources.read(may_be_empty=lambda _: empty)
    finally:
        sources.close()
    MemoryStore.erase(root, first=carry_over.pack)
    _drop_torn_names(root)


def _drop_torn_names(root: Path) -> None:
    """Delete a list of private names that nobody can read; a whole one stays, as people's questions told some of it."""
    if not (root / NAMES).is_file():
        return
    try:
        with closing(KnownNames(root / NAMES)) as names:
            len(names)  # reads it all
    except StoreCorruptError:
        for suffix in ("", "-wal", "-shm"):
            (root / f"{NAMES}{suffix}").unlink(missing_ok=True)


def emptied_sources(store: MemoryStore) -> frozenset[str]:
    """The ids of the sources that held nothing at the last build, and were meant to."""
    return frozenset((store.meta(_EMPTIED) or "").split("\n"))
