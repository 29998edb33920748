"""Memories of many devices for `bench_fusion.py`: a first upload of each, and a change of one in a hundred.

Real memories are dealt out in turn, varied ones (`memory_variants.py`) fill a device up, and one in twenty says what
the device before it says. Ids and hyperedges look as the export filter leaves them: 32 hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedrag_flwr.records import Delta, MemoryItem
from simulations.memory_corpus import HalfEncoder, RealItem, real_items
from simulations.parts.memory_variants import Variants

SHARED = 20  # one memory in so many is the neighbour's too
CHANGED = 100  # one in so many changes
KINDS = ("changed", "new", "withdrawn")
ODDS = (0.5, 0.25, 0.25)


def name_of(number: int) -> str:
    """A device's name."""
    return f"device-{number:03}"


def deal(root: Path, size: int, devices: int, seed: int) -> None:
    """Write both rounds of all devices, unless they are there."""
    if (root / "dealt").exists():
        return
    root.mkdir(parents=True, exist_ok=True)
    real = real_items()
    variants = Variants(real, HalfEncoder())
    each, before = size // devices, list[MemoryItem]()
    for number in range(devices):
        rng = np.random.default_rng((seed, number))
        own = _own(real[:size][number::devices], variants, each, rng)
        own[: len(own) // SHARED] = before[len(own) // SHARED : 2 * (len(own) // SHARED)] or own[: len(own) // SHARED]
        before = own
        items = [_dressed(item, number, place) for place, item in enumerate(own)]
        _write(root / f"{name_of(number)}-first", items, ())
        kinds = rng.choice(KINDS, max(1, each // CHANGED), p=ODDS)
        places = rng.choice(each, len(kinds), replace=False)
        other = [_dressed(item, number, each + n) for n, item in enumerate(variants.items(len(kinds), rng))]
        changed = [replace(other[n], id=items[p].id) for n, p in enumerate(places) if kinds[n] == "changed"]
        new = [other[n] for n in range(len(kinds)) if kinds[n] == "new"]
        gone = [items[p].id for n, p in enumerate(places) if kinds[n] == "withdrawn"]
        _write(root / f"{name_of(number)}-change", [*changed, *new], gone)
    (root / "dealt").touch()


def upload(root: Path, number: int, since: int) -> Delta:
    """A device's first upload (since 0), or its change after it."""
    items, gone = _read(root / f"{name_of(number)}-{'change' if since else 'first'}", name_of(number))
    return Delta(name_of(number), since, since + 1, tuple(items), gone, generation="bench")


def _own(dealt: Sequence[RealItem], variants: Variants, count: int, rng: np.random.Generator) -> list[MemoryItem]:
    own = [one.item for one in dealt[:count]]
    return [*own, *variants.items(count - len(own), rng)] if len(own) < count else own


def _dressed(item: MemoryItem, number: int, place: int) -> MemoryItem:
    digest = hashlib.sha256(f"{number} {place}".encode()).hexdigest()
    return replace(item, id=digest[:32], hyperedges=(digest[32:],), origin=name_of(number))


def _write(path: Path, items: Sequence[MemoryItem], gone: Sequence[str]) -> None:
    rows = [(i.id, i.question, i.answer, i.answer_type, i.hyperedges, i.anchors) for i in items]
    with path.with_suffix(".jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in (list(gone), *rows))
    vectors = [item.embedding for item in items] or np.zeros((0, 0))
    np.save(path.with_suffix(".npy"), np.asarray(vectors, dtype=np.float16))


def _read(path: Path, origin: str) -> tuple[list[MemoryItem], tuple[str, ...]]:
    vectors = np.load(path.with_suffix(".npy")).astype(np.float32)

    def items(rows: Iterator[str]) -> Iterator[MemoryItem]:
        for line, vector in zip(rows, vectors, strict=True):
            name, question, answer, kind, edges, anchors = json.loads(line)
            yield MemoryItem(name, question, answer, "single", kind, tuple(edges), tuple(anchors), vector, origin)

    with path.with_suffix(".jsonl").open(encoding="utf-8") as file:
        gone = tuple(json.loads(next(file)))
        return list(items(file)), gone
