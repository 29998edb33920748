"""Which records belong together: a graph of records and the entities that they mention (HyFedRAG 4.3)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

MOST_COMMON = 0.1  # share of the records beyond which an entity tells nothing
MOST_HOLDERS = 100  # records of one entity: all their pairs are kept, which grows with the square
_FEW = 10  # records up to which every shared entity tells something


@dataclass(frozen=True, slots=True)
class AssociationGraph:
    """Records are neighbours where they share an entity; the rarer what they share, the nearer they are."""

    # The nearest neighbours of each record, nearest first, with their weights.
    adjacent: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Mapping[str, Iterable[str]], most: int = 8) -> AssociationGraph:
        """Build the graph from the entities of each record, in normal form.

        Each record has at most `most` neighbours.
        """
        holders: defaultdict[str, set[str]] = defaultdict(set)
        for record, entities in records.items():
            for entity in entities:
                holders[entity].add(record)
        limit = min(MOST_HOLDERS, max(_FEW, int(MOST_COMMON * len(records))))
        weights: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for own in holders.values():
            if 1 < len(own) <= limit:
                rarity = math.log(1 + len(records) / len(own))
                for record in own:
                    for other in own - {record}:
                        weights[record][other] += rarity
        return cls({record: _nearest(weights.get(record, {}), most) for record in records})

    def neighbours(self, record: str, hops: int = 1) -> tuple[str, ...]:
        """Records within so many hops, nearer hops first and in each the heavier first; without the record itself."""
        seen, reached, edge = {record}, list[str](), [record]
        for _ in range(hops):
            gained: dict[str, float] = {}
            for one in edge:
                for other, weight in self.adjacent.get(one, ()):
                    if other not in seen:
                        gained[other] = max(weight, gained.get(other, 0.0))
            edge = sorted(gained, key=lambda name: (-gained[name], name))
            seen.update(edge)
            reached += edge
        return tuple(reached)


def _nearest(weights: Mapping[str, float], most: int) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:most])
