"""Seed vertices of a key space that changes: `VertexSeeds` by rarity, kept up to date vertex by vertex."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.row_lists import RowLists, with_room
from fedrag_flwr.hypergraph.seeding import entities, tokens

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class GrowingSeeds:
    """Finds the vertices that a question mentions, among vertices that come and go.

    Parameters
    ----------
    sharpness
        As of `VertexSeeds`.

    Raises
    ------
    SettingError
        The sharpness is below 1.
    """

    def __init__(self, sharpness: float = 1.0) -> None:
        if not 1.0 <= sharpness < math.inf:
            raise SettingError("the sharpness of seeds is below 1", where="key space")
        self._sharpness = sharpness
        self._words: dict[str, int] = {}
        self._holders: list[array[int]] = []  # of each word, all vertices that ever had it
        self._held = np.zeros(0, dtype=np.int64)  # by how many living vertices, of each word
        self._words_of = RowLists()
        self._named: dict[str, list[int]] = defaultdict(list)
        self._alive = np.zeros(0, dtype=bool)
        self._count = 0
        self._rarity: Floats | None = None  # of words; None: vertices came or went
        self._wholes: Floats | None = None  # of vertices: the rarity of all their words together; None as well

    def add(self, first: int, names: Sequence[str]) -> None:
        """Learn the words of new vertices, numbered upwards from `first`; they do not live yet."""
        owners, columns = [], []
        for number, name in enumerate(names):
            self._named[name.lower()].append(first + number)
            for word in set(tokens(name)):
                place = self._words.setdefault(word, len(self._holders))
                if place == len(self._holders):
                    self._holders.append(array("q"))
                self._holders[place].append(first + number)
                owners.append(number)
                columns.append(place)
        rows = np.arange(first, first + len(names))
        self._words_of.write(rows, np.array(owners, dtype=np.int64), _ints(columns), np.ones(len(owners)))
        self._held = with_room(self._held, len(self._holders))
        self._alive = with_room(self._alive, first + len(names))
        self._rarity = self._wholes = None

    def live(self, vertices: Rows, alive: NDArray[np.bool_]) -> None:
        """Say which of some distinct vertices live, that is, stand in a tuple."""
        changed = vertices[self._alive[vertices] != alive]
        owners, words, _ = self._words_of.entries(changed)
        steps = np.where(self._alive[changed], -1, 1)
        np.add.at(self._held, words, steps[owners])
        self._count += int(steps.sum())
        self._alive[changed] = ~self._alive[changed]
        self._rarity = self._wholes = None

    def seeds(self, question: str, count: int) -> Floats:
        """Weigh the first so many vertices as `VertexSeeds` weighs those that live, shape (count,)."""
        asked = {self._words[word] for word in tokens(question) if word in self._words}
        rarity = self._rarities()
        weights = np.zeros(count)
        for word in sorted(asked):
            weights[np.frombuffer(self._holders[word], dtype=np.int64)] += rarity[word]
        named = _ints([row for name in entities(question) for row in self._named.get(name, ())])
        found = np.flatnonzero(weights > 0.0)
        weights[found] = self._alive[found] * (weights[found] / self._whole(rarity)[found]) ** self._sharpness
        weights[named] = self._alive[named]
        return weights

    def _whole(self, rarity: Floats) -> Floats:
        if self._wholes is None:
            self._wholes = self._words_of.pull(np.arange(len(self._alive)), rarity)
        return self._wholes

    def _rarities(self) -> Floats:
        if self._rarity is None:
            self._rarity = np.log1p(self._count / np.maximum(self._held[: len(self._holders)], 1))
        return self._rarity


def _ints(values: Sequence[int]) -> Rows:
    return np.array(values, dtype=np.int64)
