"""Evidence tuples as columns of numbers, the vertices among them that a question mentions, and key spaces over them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.records import EvidenceTuple

if TYPE_CHECKING:
    from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TupleTable:
    """The tuples of a corpus: n rows over v vertices and p passages."""

    vertices: tuple[str, ...]  # the heads and tails as they are written, in ascending order
    passages: tuple[str, ...]  # ids of all passages, those without a tuple too
    # heads, tails, places: vertex, vertex and passage of each tuple, shape (n,).
    heads: Rows
    tails: Rows
    places: Rows
    # factual, salience, bridge, confidence: the tuples' confidences in [0, 1], shape (n,).
    factual: Floats
    salience: Floats
    bridge: Floats
    confidence: Floats

    @classmethod
    def of(cls, tuples: Iterable[EvidenceTuple], passages: Sequence[str]) -> TupleTable:
        """Tabulate the tuples of passages; raises SettingError for unknown passages or wrong confidences."""
        rows = list(tuples)
        vertices = sorted({end for row in rows for end in (row.head, row.tail)})
        vertex = {name: number for number, name in enumerate(vertices)}
        place = {name: number for number, name in enumerate(passages)}
        if len(place) < len(passages) or any(row.passage_id not in place for row in rows):
            raise SettingError("passages must be distinct, and hold every tuple", where="tuples")
        confidences = np.array(
            [(row.factual, row.salience, row.bridge, row.confidence) for row in rows], dtype=np.float64
        ).reshape(-1, 4)
        if not ((confidences >= 0.0) & (confidences <= 1.0)).all():
            raise SettingError("a confidence lies outside [0, 1]", where="tuples")
        return cls(
            tuple(vertices),
            tuple(passages),
            np.array([vertex[row.head] for row in rows], dtype=np.int64),
            np.array([vertex[row.tail] for row in rows], dtype=np.int64),
            np.array([place[row.passage_id] for row in rows], dtype=np.int64),
            *confidences.T,
        )

    def __len__(self) -> int:
        return len(self.heads)

    def endpoints(self) -> csr_array:
        """Sum the confidences of a passage's tuples that begin or end in a vertex: sparse, shape (p, v)."""
        return incidence(
            np.tile(self.places, 2),
            np.concatenate([self.heads, self.tails]),
            np.tile(self.confidence, 2),
            (len(self.passages), len(self.vertices)),
        )


def incidence(rows: Rows, columns: Rows, values: Floats, shape: tuple[int, int]) -> csr_array:
    """A sparse float64 matrix of a shape whose entries are the sums of the values at each place."""
    from scipy.sparse import coo_array

    return coo_array((values, (rows, columns)), shape=shape).tocsr()


class KeySpace(Protocol):
    """Keys over the tuples of a corpus; its passages are the values."""

    @property
    def id(self) -> str:
        """Name and settings."""
        ...

    @property
    def table(self) -> TupleTable:
        """The tuples that the keys were made of."""
        ...

    def scores(self, seeds: Floats) -> Floats:
        """Score the passages, shape (p,), from weights of seed vertices, shape (v,)."""
        ...


_TOKEN = re.compile(r"[A-Za-z0-9_\-\u4e00-\u9fff]+")
_ENTITY = re.compile(r"\b[A-Z][A-Za-z0-9_-]*(?:\s+[A-Z][A-Za-z0-9_-]*){0,4}\b")


def tokens(text: str) -> list[str]:
    """The runs of letters, digits, ``_``, ``-`` and Han characters of a text, in lower case."""
    return [found.lower() for found in _TOKEN.findall(text)]


def entities(question: str) -> set[str]:
    """The runs of one to five capitalised words of a question, in lower case."""
    return {found.lower() for found in _ENTITY.findall(question)}


class VertexSeeds:
    """Finds the vertices of a key space that a question mentions; raises SettingError for a sharpness below 1.

    Parameters
    ----------
    vertices
        Their names, length v.
    by_rarity
        Count a token by how few vertices have it, ``log(1 + v / holders)``, instead of all alike. Among the candidates
        of one question all alike is the paper's way; in a whole corpus "the" and "of" would seed most of it.
    sharpness
        Power, from 1, to which a share of tokens is raised: the higher, the less a vertex weighs that has only part of
        its tokens from the question.
    """

    def __init__(self, vertices: Sequence[str], *, by_rarity: bool = False, sharpness: float = 1.0) -> None:
        if not 1.0 <= sharpness < math.inf:
            raise SettingError("the sharpness of seeds is below 1", where="key space")
        self._sharpness = sharpness
        rows_of: dict[str, list[int]] = defaultdict(list)
        named: dict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(vertices):
            named[name.lower()].append(row)
            for word in set(tokens(name)):
                rows_of[word].append(row)
        self._holders = {word: np.array(rows, dtype=np.int64) for word, rows in rows_of.items()}
        self._weights = {
            word: math.log1p(len(vertices) / len(rows)) if by_rarity else 1.0 for word, rows in self._holders.items()
        }
        self._named = dict(named)
        whole = self._shared(self._holders, len(vertices))
        self._whole = np.where(whole > 0.0, whole, 1.0)

    def seeds(self, question: str) -> Floats:
        """Weigh the vertices, shape (v,).

        A vertex that is an entity of the question weighs 1, whatever its case; another weighs the share of its distinct
        tokens that the question has, raised to the sharpness.
        """
        weights = (self._shared(set(tokens(question)), len(self._whole)) / self._whole) ** self._sharpness
        for name in entities(question):
            weights[self._named.get(name, [])] = 1.0
        return weights

    def _shared(self, words: Iterable[str], count: int) -> Floats:
        """The weight of those words that each vertex has."""
        shared = np.zeros(count)
        for word in words:
            if word in self._holders:
                shared[self._holders[word]] += self._weights[word]
        return shared
