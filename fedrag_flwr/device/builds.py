"""A device's builds: one at a time, of its sources as they are now, and what follows where these have changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from fedrag_flwr.device.builder import Builder, BuildPlan, other_languages
from fedrag_flwr.device.edge import NAMES, EdgeDevice
from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.memory.generate.memory_writer import MemoryWriter, Written
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.database import write_lock
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.records import BuildReport, Progress, silent
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.sources.open_source import SourceSet

_LOCK = "building.lock"
_TEXTS = "texts"  # meta key: whether the last build read the folder of files
_EMPTIED = "emptied"  # meta key: the sources that held nothing then, and were meant to


def build_device(device: EdgeDevice, *, memories: bool, graph: bool, empty: bool, progress: Progress) -> BuildReport:
    """Bring a device's memory up to date with its documents; as `EdgeDevice.build`."""
    store, settings, models = device.store, device.settings, device.models
    directory = store.database.directory
    with write_lock(directory, math.inf, _LOCK):  # two at a time would add a document twice
        reading = _read(device.sources, store, empty)
        plan = BuildPlan.of(settings, memories)
        parsed = device.rankings.take if settings.retrieval.order == "controller" else None
        builder = Builder(device.name, store, models.encoder, models.pipeline, parsed)
        report = builder.build(reading, plan, progress)
        # also where nothing has changed: the build that removed a document may have been killed here
        device.walks.sweep()
        device.messages.forget()
        device.summaries.sweep()
        if report.added or report.changed or report.removed:
            device.controller.forget()
            if memories:
                device.order.prepare()
        if graph:
            report = device.graph.extend(report, progress)
    if not memories or device.writes_later:
        return report
    return _with_written(report, write_memories(device, progress))


def write_memories(
    device: EdgeDevice,
    progress: Progress = silent,
    stop: Callable[[], bool] = lambda: False,
    first: Collection[str] = (),
) -> Written:
    """Let the model write memories of what the device has read, within its budget; as `EdgeDevice.write_memories`."""
    settings, models, store = device.settings, device.models, device.store
    writer = MemoryWriter(device.name, store, models.encoder, models.pipeline, models.generator, settings.seed)
    budget, written, left = settings.memory.tokens_per_kilotoken, Written(), 1
    while budget and left and not stop():
        with write_lock(store.database.directory, math.inf, _LOCK):  # between two calls somebody else may build
            last = writer.write(budget, first=first, but=other_languages(store), stop=stop)
        written, left = written + last, last.left
        progress("write", written.sentences, written.sentences + left)
    return written


def _with_written(report: BuildReport, written: Written) -> BuildReport:
    """A build's report with what the model added."""
    rejects = Counter({name: int(count) for name, _, count in (one.partition("=") for one in report.rejects)})
    rejects.update(written.rejected)
    return replace(
        report,
        items=report.items + written.memories,
        rejects=tuple(f"{reason}={count}" for reason, count in sorted(rejects.items())),
        cost=report.cost + written.cost,
    )


def _read(sources: SourceSet, store: MemoryStore, empty: bool) -> Reading:
    """The sources as they are; what holds nothing must be meant to, or have been."""
    emptied = emptied_sources(store)
    reading = sources.read(
        had_texts=store.meta(_TEXTS) == "yes", may_be_empty=lambda source: empty or source in emptied
    )
    _note(store, _TEXTS, "yes" if sources.has_texts else "no")  # an empty folder may be one not mounted
    _note(store, _EMPTIED, "\n".join(reading.empty))
    return reading


def _note(store: MemoryStore, key: str, now: str) -> None:
    """Remember something of the sources as they were read last."""
    if (store.meta(key) or "") != now:
        store.set_meta(key, now)


def forget_memory(root: Path, sources: SourceSet, *, empty: bool) -> None:
    """Delete a device's memory, so that the next build begins anew; raises SourceError where the sources cannot be
    read, or there are none and nobody said that this is meant. Nothing goes then. With `empty`, sources that hold
    nothing are meant to; they are closed in the end.
    """
    try:
        sources.read(may_be_empty=lambda _: empty)
    finally:
        sources.close()
    MemoryStore.erase(root)
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
