"""What does the server's shared memory cost: all devices at once, and a round in which one memory in a hundred changed?

A hundred devices share made-up memories. One in twenty is the neighbour's too. Every delta is encoded and decoded as it
travels, page by page. One device stands for all in what it gets. Each size runs in a process of its own, on one thread.
"""

import hashlib
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from fedrag_flwr import wire
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.pages import PAGE_BYTES, cut
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import START, Cursor, Delta, MemoryItem, Pending
from fedrag_flwr.text.pipeline import Pipeline
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row

SIZES = (10_000, 100_000, 1_000_000)
DEVICES = 100
SHARED = 20  # one memory in so many is the neighbour's too
CHANGED = 100  # one in so many changes
RUN = "1"
ASKER = "device-without-documents"
_ASKED = ("Who founded {}?", "Which rocket launched {}?", "Who painted {}?", "Which town is {} in?", "Who leads {}?")
_SYLLABLES = ("ba", "dor", "el", "fin", "gar", "hul", "is", "kem", "lo", "mar", "nev", "or", "pel", "ran", "sul", "tir")


def run(bench: Bench) -> None:
    """Fuse the memories of a hundred devices, then a change, for each number of memories."""
    kept, rows = bench.rows(), []
    for size in bench.sized(SIZES, (200,)):
        devices = bench.sized(DEVICES, 2)
        bench.tell(f"{size:,} memories of {devices} devices")
        rows += kept.row(f"{size}", bench.apart, measure, size, devices)
    bench.table("fusion", pd.DataFrame(rows), "Seconds are the processor's; bytes are those of the wire.")


@dataclass(slots=True)
class Round:
    """One round over all devices: CPU seconds of each step, and what went up and down."""

    seconds: dict[str, float] = field(default_factory=dict)
    sent: int = 0
    up: int = 0
    down: int = 0
    got: int = 0

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Count the processor's seconds of a step."""
        before = time.process_time()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.process_time() - before


def measure(size: int, devices: int) -> list[Row]:
    """Fuse everything, then the change."""
    torch.set_num_threads(1)
    models = SentenceEncoder(threads=1), Pipeline()
    models[0].encode(["Loaded?"])
    models[1].questions(["Loaded?"])
    base = peak_rss_mb()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        shared = SharedMemory(Path(folder) / "server", *models)
        identity = {"device": ASKER, "dimension": str(models[0].dimension)}
        with MemoryStore.open(Path(folder) / "device", identity, foreign_limit=2 * size) as device:
            known = ("", 0)
            for number, title in enumerate(("first", "change")):
                done = Round()
                for delta in deltas(size, devices, number):
                    for page in _pages(delta):
                        with done.timed("wire"):
                            content = wire.encode(page, run=RUN)
                            came = wire.decode(content, Delta, run=RUN)
                        done.up += wire.size_of(content)
                        done.sent += len(page.items)
                        with done.timed("take"):
                            shared.take(came)
                with done.timed("merge"):
                    report = shared.fuse()
                known = _hand_out(shared, device, known, done)
                rows.append(
                    {
                        "memories": size,
                        "round": title,
                        "sent": done.sent,
                        **{f"{step} s": round(seconds, 2) for step, seconds in done.seconds.items()},
                        **asdict(report),
                        "B up each": round(done.up / done.sent),
                        "got": done.got,
                        "down MB": round(done.down / 1e6, 2),
                        "base MB": round(base),
                        "peak MB": round(peak_rss_mb()),
                    }
                )
        shared.close()
    return rows


def _hand_out(shared: SharedMemory, device: MemoryStore, known: tuple[str, int], done: Round) -> tuple[str, int]:
    """Give one device what it lacks."""
    pending = Pending()
    while True:
        with done.timed("hand out"):
            page = shared.delta_for(ASKER, *known, pending)
            content = wire.encode(page, run=RUN)
        done.down += wire.size_of(content)
        done.got += len(page.items)
        page = wire.decode(content, Delta, run=RUN)
        with done.timed("import"):
            device.import_delta(page, snapshot=page.since == 0)
        pending = Pending(page.generation, page.since, page.version, page.next)
        if page.next == START:
            return page.generation, page.version


def _pages(delta: Delta) -> Iterator[Delta]:
    """A device's delta in the pages in which it would send it."""

    def read(place: Cursor, most: int) -> list[tuple[Cursor, MemoryItem]]:
        rows = range(place.row, min(place.row + most, len(delta.items)))
        return [(Cursor(0, 1, row + 1), delta.items[row]) for row in rows]

    after = START
    while True:
        page = cut(delta.retracted, read, after, PAGE_BYTES)
        yield replace(delta, items=page.items, retracted=page.retracted, after=after, next=page.next)
        if page.next == START:
            return
        after = page.next


def deltas(size: int, devices: int, number: int) -> Iterator[Delta]:
    """What each device shares in a round: all it has, then new memories in the place of one in a hundred."""
    each = size // devices
    for device in range(devices):
        name = f"device-{device:03}"
        if number == 0:
            own = [_memory(device, place, 0) for place in range(each)]
            twins = [_memory((device - 1) % devices, place, 0) for place in range(each // SHARED, 2 * each // SHARED)]
            items = [*twins, *own[len(twins) :]]
            ids = range(each)
        else:
            ids = range(0, each, CHANGED)
            items = [_memory(device, place, 1) for place in ids]
        dressed = tuple(replace(item, id=f"{place:032}", origin=name) for place, item in zip(ids, items, strict=True))
        yield Delta(name, number, number + 1, dressed, (), generation="bench")


def _memory(device: int, place: int, edition: int) -> MemoryItem:
    digest = hashlib.sha256(f"{device} {place} {edition}".encode()).digest()
    names = ["".join(_SYLLABLES[byte % 16] for byte in digest[at : at + 3]).capitalize() for at in (0, 8)]
    question = _ASKED[digest[16] % len(_ASKED)].format(names[0])
    edges, anchors = (digest.hex()[:32],), (names[0].casefold(),)
    vector = np.random.default_rng(int.from_bytes(digest[:8], "little")).standard_normal(384, dtype=np.float32)
    vector /= np.linalg.norm(vector)
    return MemoryItem(digest.hex(), question, names[1], "single", "NAME", edges, anchors, vector, "made-up")
