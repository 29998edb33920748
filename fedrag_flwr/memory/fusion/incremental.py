"""Fusing again only what a change touches: equal to `fusing.merge` over everything, without reading everything.

Whether a memory stays within its device's quota depends on those of the device that ask the same, and what becomes of
it on those of all devices that say the same. Both are connected through near pairs, so a change reaches no further than
the components in which something came, changed or went; those are fused again, and all others stay as they are. To
find them, the ledger's rows of each device and each key in which something changed are read, all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.fusion.bank_store import BankStore
from fedrag_flwr.memory.fusion.ledger import Group, Label, Ledger, Part
from fedrag_flwr.memory.fusion.merge import FusionRules, Words, of_one_voice, one_of, same_statements, sparse
from fedrag_flwr.memory.fusion.nearness import Components, Neighbourhood, Pairs, sketches
from fedrag_flwr.memory.fusion.statements import statement_key
from fedrag_flwr.records import START, Cursor, MemoryItem

_AT_ONCE = 2_048
Touched = defaultdict[str, set[int]]  # rows of parts by origin, or by key


@dataclass(slots=True)
class _Leaving:
    """What parts left behind that went, changed or fell to the quota: their crowds, circles and shown memories."""

    crowds: set[int] = field(default_factory=set)
    circles: set[int] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)

    def add(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.crowds.add(part.crowd)
            self.circles.add(part.circle)
            if part.shown is not None:
                self.shown.add(part.shown)


class Refusion:
    """One fusion of what changed since the last, within a transaction of the ledger.

    Parameters
    ----------
    received
        What devices share.
    ledger
        What the last fusion knew, which is brought up to date.
    rules
        When memories say the same, and how often one device may say it.
    words
        Tells what questions say.
    """

    def __init__(self, received: BankStore, ledger: Ledger, rules: FusionRules, words: Words) -> None:
        self._received = received
        self._ledger = ledger
        self._rules = rules
        self._words = words
        self._leaving = _Leaving()

    def made(self, since: int) -> Iterator[MemoryItem]:
        """Memories that devices get from now on in place of what changed since a version of what was received."""
        coming = self._read(since)
        entering = self._crowds(coming)
        waiting: list[list[Part]] = []
        for circle in self._circles(entering):
            waiting.append(circle)
            if sum(map(len, waiting)) >= _AT_ONCE:
                yield from self._fused(waiting)
                waiting = []
        yield from self._fused(waiting)

    def gone(self) -> Iterator[str]:
        """The ids of memories that devices no longer get; known once all of `made` was read."""
        yield from self._leaving.shown - self._ledger.shown(list(self._leaving.shown))

    def _read(self, since: int) -> Touched:
        """Take what came, changed and went into the ledger; give the rows of what came or changed, by origin."""
        coming: Touched = defaultdict(set)
        self._leave(self._ledger.take_out(self._received.retracted_since(since, own=False)))
        place: Cursor = START
        while True:
            said, vectors = self._received.statements(since, place, _AT_ONCE)
            if not said:
                return coming
            # a row's number may have been another's that is to come again under a new one
            self._leave(self._ledger.take_out((one.id for one in said), (one.place.row for one in said)))
            keys = [statement_key(one.question, one.answer) for one in said]
            parts = [
                Part(one.place.row, one.id, one.origin, key, 0, True, 0, None)
                for one, key in zip(said, keys, strict=True)
            ]
            self._ledger.put_in(parts, sketches(vectors))
            for part in parts:
                coming[part.origin].add(part.number)
            place = said[-1].place

    def _leave(self, parts: Sequence[Part]) -> None:
        self._leaving.add(parts)

    def _crowds(self, coming: Touched) -> Touched:
        """Hold each device to its quota; give the rows that come, or come back, among those that stay, by key."""
        loose: Touched = defaultdict(set)
        for part in self._ledger.labelled("crowd", self._leaving.crowds):
            loose[part.origin].add(part.number)
        entering: Touched = defaultdict(set)
        for origin in sorted(coming.keys() | loose.keys()):
            for crowd in self._reshaped("origin", origin, coming[origin], loose[origin]):
                for part, stays in zip(crowd, self._within_quota(crowd), strict=True):
                    if stays and (part.number in coming[origin] or not part.stays):
                        entering[part.key].add(part.number)
                    if stays != part.stays:
                        self._leave([] if stays else [part])
                        self._ledger.set_stays(part, stays)
        return entering

    def _within_quota(self, crowd: Sequence[Part]) -> Sequence[bool]:
        if len(crowd) <= self._rules.quota:
            return [True] * len(crowd)
        return [bool(stays) for stays in sparse(self._vectors(crowd), self._rules)]

    def _circles(self, entering: Touched) -> Iterator[list[Part]]:
        """Those that say the same, wherever one came or went."""
        loose: Touched = defaultdict(set)
        for part in self._ledger.labelled("circle", self._leaving.circles):
            loose[part.key].add(part.number)
        for key in sorted(entering.keys() | loose.keys()):
            yield from self._reshaped("key", key, entering[key], loose[key])

    def _reshaped(self, by: Group, value: str, coming: set[int], loose: set[int]) -> Iterator[list[Part]]:
        """The components of an origin's crowds or a key's circles that hold a row which came or lost another."""
        parts, sketch = self._ledger.group(by, value)
        label: Label = "crowd" if by == "origin" else "circle"
        if len(parts) == 1:  # as most are that are grouped by their key
            if parts[0].number in coming | loose:
                self._ledger.regroup(label, parts, 0)
                yield parts
            return
        new, unsure = (np.array([p.number in rows for p in parts], dtype=np.bool_) for rows in (coming, loose - coming))
        every, known = np.arange(len(parts)), _labels(parts, label) * ~(new | unsure)
        hood = Neighbourhood(sketch, lambda rows: self._vectors([parts[row] for row in rows]), self._rules.near)
        origins = np.unique([part.origin for part in parts], return_inverse=True)[1]

        def counts(pairs: Pairs) -> NDArray[np.bool_]:
            """A crowd is of one device, in a circle two of one device meet through another's alone."""
            return np.asarray((origins[pairs[:, 0]] != origins[pairs[:, 1]]) | (by == "origin"), dtype=np.bool_)

        components = Components(len(parts))
        components.join(_chains(known))
        components.settled()
        hood.connect(every[new], every, components, counts)
        hood.connect(every[unsure], every[unsure], components, counts)
        found = components.settled()
        touched = np.flatnonzero(np.isin(found, found[new | unsure]))
        order = touched[np.argsort(found[touched], kind="stable")]
        for rows in np.split(order, np.flatnonzero(np.diff(found[order])) + 1) if len(order) else ():
            component = [parts[row] for row in rows]
            self._ledger.regroup(label, component, component[0].number if len(component) > 1 else 0)
            yield component

    def _fused(self, circles: Sequence[Sequence[Part]]) -> Iterator[MemoryItem]:
        members = [part for circle in circles for part in circle]
        items = dict(zip((part.number for part in members), self._items(members), strict=True))
        by_id = {part.id: part for part in members}
        shown = []
        for circle in circles:
            for group in same_statements([items[part.number] for part in circle], self._rules.near):
                for quorum in of_one_voice(group, self._rules.near, self._words):
                    made = one_of(quorum, self._words)
                    shown += [(by_id[item.id], made.id) for item in quorum]
                    yield made
        self._leaving.shown.update(part.shown for part in members if part.shown is not None)
        self._ledger.show(shown)

    def _items(self, parts: Sequence[Part]) -> list[MemoryItem]:
        return self._received.items_at([part.number for part in parts])

    def _vectors(self, parts: Sequence[Part]) -> NDArray[np.float32]:
        return self._received.vectors_at([part.number for part in parts])


def _labels(parts: Sequence[Part], label: Label) -> NDArray[np.int64]:
    return np.array([part.crowd if label == "crowd" else part.circle for part in parts], dtype=np.int64)


def _chains(labels: NDArray[np.int64]) -> Pairs:
    """Pairs that connect all rows of one label; rows of label 0 have none."""
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] > 0]
    same = labels[order[1:]] == labels[order[:-1]]
    return np.stack([order[:-1][same], order[1:][same]], axis=1)
