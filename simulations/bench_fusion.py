"""What fusing the memories of many devices costs: all at once, and a round in which one in a hundred changed.

    python simulations/memory_corpus.py --data FOLDER      # once: real memories
    python simulations/bench_fusion.py [--sizes 10000 100000 1000000] [--devices 100] [--out docs/benchmarks]

Every delta is encoded and decoded as it travels, page by page. One device stands for all in what it gets. Each size has
a process of its own, one thread; a size that ``fusion.json`` holds for as many devices, this seed and this code is not
measured again (``--again`` does).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from flwr.app import Message
from flwr.common.serde import message_to_proto

from fedrag_flwr import wire
from fedrag_flwr.local_grid import assume_identity
from fedrag_flwr.memory.fusion.bank import MemoryBank
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.imports import PAGE_BYTES, cut
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import START, Cursor, Delta, MemoryItem, Pending
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.text.pipeline import SpacyPipeline
from simulations.fixtures.fusion_rounds import deal, upload
from simulations.reporting.folders import out_folder
from simulations.reporting.row_file import this_code

RUN = "1"
ASKER = "device-without-documents"
SEED = 7
Key = tuple[int, int, int]  # items, devices, seed


@dataclass(slots=True)
class Round:
    """One round over all devices: seconds of each step, bytes up, and bytes down to one device."""

    items: int = 0
    retracted: int = 0
    pages: int = 0
    wire_s: float = 0.0  # encoding and decoding what devices send
    take_s: float = 0.0
    take_cpu_s: float = 0.0
    merge_s: float = 0.0
    merge_cpu_s: float = 0.0
    compose_s: float = 0.0
    compose_cpu_s: float = 0.0
    bytes_up: int = 0
    message_bytes_up: int = 0  # as Flower's messages in their wire form
    raw_bytes_up: int = 0  # question, answer and float16 vector of each memory
    down_items: int = 0
    down_retracted: int = 0
    down_pages: int = 0
    down_s: float = 0.0
    down_bytes: int = 0
    import_s: float = 0.0
    fused: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """One size."""

    items: int
    devices: int
    first: Round
    change: Round
    base_mb: float  # peak memory of the process before there is a bank, models loaded
    peak_mb: float  # after the first round, before the device imports
    bank_mb: float  # on disk, after both rounds
    seed: int = SEED  # as of rows in which it is not told, nor is the code
    made_by: str = ""

    @property
    def key(self) -> Key:
        """What was asked for."""
        return self.items, self.devices, self.seed


class Bench:
    """One bank and one device that takes it in."""

    def __init__(self, root: Path, dealt: Path, devices: int) -> None:
        self.dealt = dealt
        self.devices = devices
        self.root = root
        self.models = SentenceEncoder(threads=1), SpacyPipeline()
        self.models[0].encode(["Loaded?"])
        self.models[1].questions(["Loaded?"])
        self.memory = Settings.from_config({}).memory

    def open(self) -> MemoryBank:
        """The bank."""
        return MemoryBank.open(self.root / "bank", *self.models, bridges_per_item=self.memory.bridges_per_item)

    def fuse(self, since: int) -> tuple[Round, tuple[str, int]]:
        """Send what devices have, merge it, then compose; give also what the bank was before."""
        done = Round()
        bank = self.open()
        before = (bank.id, bank.version)
        for number in range(self.devices):
            for page in _pages(upload(self.dealt, number, since)):
                self._travel(bank, page, done)
        start, cpu = time.perf_counter(), time.process_time()
        bank.merge()
        done.merge_s, done.merge_cpu_s = time.perf_counter() - start, time.process_time() - cpu
        start, cpu = time.perf_counter(), time.process_time()
        bank.compose()
        done.compose_s, done.compose_cpu_s = time.perf_counter() - start, time.process_time() - cpu
        done.fused = bank.fuse().counts()
        bank.close()
        return done, before

    def hand_out(self, done: Round, before: tuple[str, int]) -> None:
        """Give one device what it lacks."""
        bank = self.open()
        identity = {"device": ASKER, "dimension": str(self.models[0].dimension)}
        with MemoryStore.open(self.root / "device", identity, foreign_limit=2_000_000) as device:
            pending = Pending()
            while True:
                start = time.perf_counter()
                page = bank.delta_for(ASKER, *before, pending)
                content = wire.encode(page, run=RUN)
                done.down_s += time.perf_counter() - start
                done.down_items += len(page.items)
                done.down_retracted += len(page.retracted)
                done.down_pages += 1
                done.down_bytes += wire.size_of(content)
                page = wire.decode(content, Delta, run=RUN)
                start = time.perf_counter()
                device.import_delta(page, snapshot=page.since == 0)
                done.import_s += time.perf_counter() - start
                pending = Pending(page.generation, page.since, page.version, page.next)
                if page.next == START:
                    break
        bank.close()

    @staticmethod
    def _travel(bank: MemoryBank, page: Delta, done: Round) -> None:
        start = time.perf_counter()
        content = wire.encode(page, run=RUN)
        came = wire.decode(content, Delta, run=RUN)
        done.wire_s += time.perf_counter() - start
        done.pages += 1
        done.items += len(page.items)
        done.retracted += len(page.retracted)
        done.bytes_up += wire.size_of(content)
        done.message_bytes_up += message_to_proto(Message(content, 1, "query.share")).ByteSize()
        done.raw_bytes_up += sum(map(_raw, page.items))
        start, cpu = time.perf_counter(), time.process_time()
        bank.take(came)
        done.take_s += time.perf_counter() - start
        done.take_cpu_s += time.process_time() - cpu


def _raw(item: MemoryItem) -> int:
    return len(item.question.encode()) + len(item.answer.encode()) + 2 * len(item.embedding)


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


def measure(size: int, devices: int, seed: int) -> Measured:
    """Fuse everything, then the change."""
    import torch

    torch.set_num_threads(1)
    assume_identity(int(RUN))
    home = fedrag_home() / "fusion"
    dealt, root = home / f"dealt-{size}-{devices}-{seed}", home / f"bank-{size}-{devices}-{seed}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    bench = Bench(root, dealt, devices)
    base = peak_rss_mb()
    first, empty = bench.fuse(0)
    peak_first = peak_rss_mb()
    bench.hand_out(first, ("", 0))
    change, before = bench.fuse(1)
    bench.hand_out(change, before)
    held = sum(path.stat().st_size for path in (root / "bank").rglob("*") if path.is_file())
    assert empty[1] == 0
    shutil.rmtree(root)
    return Measured(size, devices, first, change, base, peak_first, held / 2**20, seed, this_code())


def table(rows: Sequence[Measured]) -> str:
    """The figures as a Markdown table."""
    heads = (
        *("items", "round", "sent", "withdrawn", "wire s", "take s", "cpu", "merge s", "cpu", "compose s", "cpu"),
        *("kept", "merged", "composed", "over quota", "B/item up"),
        *("above raw %", "down items", "pages", "down s", "down MB", "import s", "base MB", "peak MB", "bank MB"),
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        for title, one in (("first", row.first), ("1 %", row.change)):
            gone = 34 * one.retracted
            cells = (
                *(f"{row.items:,}", title, f"{one.items:,}", f"{one.retracted:,}", f"{one.wire_s:.2f}"),
                *(f"{one.take_s:.2f}", f"{one.take_cpu_s:.2f}", f"{one.merge_s:.2f}", f"{one.merge_cpu_s:.2f}"),
                *(f"{one.compose_s:.2f}", f"{one.compose_cpu_s:.2f}"),
                *(f"{one.fused[name]:,}" for name in ("kept", "merged", "composed", "over_quota")),
                *(
                    f"{(one.bytes_up - gone) / one.items:.0f}",
                    f"{100 * ((one.bytes_up - gone) / one.raw_bytes_up - 1):.1f}",
                ),
                *(f"{one.down_items:,}", f"{one.down_pages}", f"{one.down_s:.2f}", f"{one.down_bytes / 1e6:.2f}"),
                *(f"{one.import_s:.2f}", f"{row.base_mb:,.0f}", f"{row.peak_mb:,.0f}", f"{row.bank_mb:,.0f}"),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def known(path: Path) -> dict[Key, Measured]:
    """What a file of figures holds."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    made = [Measured(**{**row, "first": Round(**row["first"]), "change": Round(**row["change"])}) for row in rows]
    return {row.key: row for row in made}


def missing(asked: Iterable[Key], rows: Mapping[Key, Measured], made_by: str) -> list[Key]:
    """What was not measured yet, or by other code, of which is told."""
    left = [key for key in asked if key not in rows or rows[key].made_by != made_by]
    if others := sum(key in rows for key in left):
        print(f"{others} rows of other code are measured anew", flush=True)
    return left


def main() -> None:
    """Parse the command line, measure each size in a process of its own, and keep the figures as they come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=(10_000, 100_000, 1_000_000))
    parser.add_argument("--devices", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--again", action="store_true", help="measure sizes again that were measured before")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    options = parser.parse_args()
    target = options.out / "fusion.json"
    rows = known(target)
    spawn = multiprocessing.get_context("spawn")
    asked = [(size, options.devices, options.seed) for size in options.sizes]
    for key in asked if options.again else missing(asked, rows, this_code()):
        home = fedrag_home() / "fusion" / f"dealt-{'-'.join(map(str, key))}"
        for step, arguments in ((deal, (home, *key)), (measure, key)):
            with ProcessPoolExecutor(1, mp_context=spawn) as process:
                found = process.submit(step, *arguments).result()
        assert isinstance(found, Measured)
        rows[key] = found
        print(table([found]), flush=True)
        kept = [asdict(rows[one]) for one in sorted(rows)]
        target.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(table([rows[key] for key in asked]))


if __name__ == "__main__":
    main()
