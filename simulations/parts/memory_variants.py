"""More memories than there are real ones: a named thing of a real question replaced by another of its type.

The vector moves by `SHIFT` times the difference of the two names' own vectors. `agreement` says how near that comes to
the vector of the changed question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Fact, MemoryItem
from simulations.corpora.sentences import encoded
from simulations.memory_corpus import RealItem

NAMED = frozenset(
    ("PERSON", "ORG", "GPE", "LOC", "FAC", "NAME", "WORK_OF_ART", "NORP", "EVENT", "PRODUCT", "DATE", "YEAR")
)
SHIFT = 0.6  # the best of 0.3 to 0.8 against encoding the changed questions
AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class _Change:
    """One item with a name in its question that goes, and the name that comes."""

    base: MemoryItem
    old: Fact
    new: Fact

    @property
    def question(self) -> str:
        return self.base.question.replace(self.old.text, self.new.text)

    def item(self, item_id: str, vector: NDArray[np.float32]) -> MemoryItem:
        kept = tuple(anchor for anchor in self.base.anchors if anchor != self.old.anchor)
        anchors = tuple(dict.fromkeys((*kept, self.new.anchor)))
        return replace(
            self.base, id=item_id, question=self.question, anchors=anchors, embedding=vector, origin="varied"
        )


class Variants:
    """Draws varied items; names are drawn as often as they occur.

    Parameters
    ----------
    real
        The real items.
    encoder
        Encodes the names, once for a corpus.
    """

    def __init__(self, real: Sequence[RealItem], encoder: Encoder) -> None:
        self._pool: defaultdict[str, list[Fact]] = defaultdict(list)
        self._bases: list[tuple[MemoryItem, tuple[Fact, ...]]] = []
        for one in real:
            facts = tuple(fact for fact in one.facts if fact.type in NAMED and fact.text in one.item.question)
            for fact in facts:
                self._pool[fact.type].append(fact)
            if facts:
                self._bases.append((one.item, facts))
        names = sorted({fact.text for facts in self._pool.values() for fact in facts})
        self._row = {name: row for row, name in enumerate(names)}
        self._vectors, _ = encoded(names, "names", encoder)

    def items(self, count: int, rng: np.random.Generator) -> Iterator[MemoryItem]:
        """Draw varied items with distinct ids."""
        for start in range(0, count, AT_ONCE):
            changes = self._draw(min(AT_ONCE, count - start), rng)
            for place, (change, vector) in enumerate(zip(changes, self._moved(changes), strict=True)):
                yield change.item(f"{change.base.id}-{start + place}", vector)

    def agreement(self, count: int, encoder: Encoder, rng: np.random.Generator) -> tuple[float, float, float]:
        """The 10th, 50th and 90th percentile of the cosine between moved vectors and those of the changed questions."""
        changes = self._draw(count, rng)
        cosines = (self._moved(changes) * encoder.encode([change.question for change in changes])).sum(axis=1)
        low, middle, high = np.percentile(cosines, [10, 50, 90])
        return float(low), float(middle), float(high)

    def _draw(self, count: int, rng: np.random.Generator) -> list[_Change]:
        changes = []
        for row in rng.integers(len(self._bases), size=count):
            base, facts = self._bases[row]
            old = facts[rng.integers(len(facts))]
            pool = self._pool[old.type]
            changes.append(_Change(base, old, pool[rng.integers(len(pool))]))
        return changes

    def _moved(self, changes: Sequence[_Change]) -> NDArray[np.float32]:
        new, old = ([self._row[fact.text] for fact in facts] for facts in _split(changes))
        moved = np.stack([change.base.embedding for change in changes])
        moved = moved + np.float32(SHIFT) * (self._vectors[new] - self._vectors[old])
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def _split(changes: Sequence[_Change]) -> tuple[list[Fact], list[Fact]]:
    return [change.new for change in changes], [change.old for change in changes]
