"""Merging all memories at once: what merging only what changed has to equal."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from fedrag_flwr.memory.fusion.merge import FusionRules, Words, mergeable, one_of, same_statements, sparse, stacked
from fedrag_flwr.memory.fusion.statement_key import statement_key
from fedrag_flwr.records import MemoryItem


@dataclass(frozen=True, slots=True)
class Merging:
    """What fusion made of memories: those that devices get, and how many fell to the quota."""

    items: tuple[MemoryItem, ...]
    over_quota: int


def merge(items: Sequence[MemoryItem], rules: FusionRules, words: Words) -> Merging:
    """Merge what several devices say alike, and cut what one device says too often.

    Parameters
    ----------
    items
        Memories of all devices, each with hyperedges of its own origin.
    rules
        What counts as alike.
    words
        Tells what questions say.

    Returns
    -------
    Merging
        Memories of one device as they are; in place of those that several devices share, one of origin `FUSION` whose
        hyperedges name their owners.
    """
    kept = within_quota(items, rules)
    by_key: defaultdict[str, list[MemoryItem]] = defaultdict(list)
    for item in kept:
        by_key[statement_key(item.question, item.answer)].append(item)
    alike = (group for members in by_key.values() for group in same_statements(members, rules.near))
    merged = [one_of(members, words) for group in alike for members in mergeable(group, rules.near, words)]
    return Merging(tuple(merged), len(items) - len(kept))


def within_quota(items: Sequence[MemoryItem], rules: FusionRules) -> list[MemoryItem]:
    """The memories of which no device has more than the quota that ask the same; the first by id stay."""
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row in sorted(range(len(items)), key=lambda row: items[row].id):
        rows[items[row].origin].append(row)
    kept: list[int] = []
    for own in rows.values():
        kept += compress(own, sparse(stacked([items[row] for row in own]), rules))
    return [items[row] for row in sorted(kept)]
