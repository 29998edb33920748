"""Passages grouped into long units, of which few are retrieved (LongRAG's idea; Jiang et al. 2024)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from fedrag_flwr.baselines.reading import Construction, Meter, Reading
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval.base import within

_UNIT_WORDS = 1_000
_UNITS = 2


class LongUnits:
    """Retrieves the long units whose best passage is nearest, and hands on their nearest passages in reading order.

    A document is never parted; similar documents fill a unit up to some 1,000 words.

    Parameters
    ----------
    substrate
        The device's documents.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self._units = grouped(substrate, _UNIT_WORDS)
        self.construction = Construction(counts=(f"units={len(self._units)}",))

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the passages of the best units that fit into the evidence budget, unit by unit in reading order."""
        scores = self._substrate.dense.scores(question)
        best = sorted(self._units, key=lambda unit: (-max(float(scores[row]) for row in unit), unit))[:_UNITS]
        inside = [self._substrate.passages[row].id for unit in best for row in unit]
        nearest = sorted(self._substrate.passage_units(question, inside), key=lambda one: -one.score)
        return sorted(within(nearest, self._substrate.limits.words), key=lambda one: inside.index(one.id))


def long_units(substrate: Substrate) -> Reading:
    """What fits of the nearest long units."""
    return Reading(substrate, LongUnits(substrate))


def grouped(substrate: Substrate, most: int) -> list[list[int]]:
    """Group the passages' places into units of at most so many words, unless one document is longer.

    A unit begins with the first document that is in none, and takes the nearest document that fits until none does.
    """
    documents: defaultdict[str, list[int]] = defaultdict(list)
    for place, passage in enumerate(substrate.passages):
        documents[passage.document_id].append(place)
    rows = list(documents.values())
    means = np.stack([substrate.passage_vectors[own].mean(axis=0) for own in rows])
    words = np.array([sum(len(substrate.passages[row].text.split()) for row in own) for own in rows])
    free = np.ones(len(rows), dtype=bool)
    units: list[list[int]] = []
    for first in range(len(rows)):
        if not free[first]:
            continue
        unit, size, centre = [], 0, means[first]
        taken: int | None = first
        while taken is not None:
            unit += rows[taken]
            size += int(words[taken])
            free[taken] = False
            fitting = np.flatnonzero(free & (words <= most - size))
            taken = int(fitting[np.argmax(means[fitting] @ centre)]) if len(fitting) else None
        units.append(unit)
    return units
