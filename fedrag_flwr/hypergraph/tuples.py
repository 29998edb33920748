"""Evidence tuples as columns of numbers over a vocabulary of vertices: what every key space is built from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """The tuples of a corpus: n rows over v vertices and p passages.

    Parameters
    ----------
    vertices
        The heads and tails as they are written, in ascending order.
    passages
        Ids of all passages, those without a tuple too.
    heads, tails, places
        Vertex, vertex and passage of each tuple, shape (n,).
    factual, salience, bridge, confidence
        The tuples' confidences in [0, 1], shape (n,).
    """

    vertices: tuple[str, ...]
    passages: tuple[str, ...]
    heads: Rows
    tails: Rows
    places: Rows
    factual: Floats
    salience: Floats
    bridge: Floats
    confidence: Floats

    @classmethod
    def of(cls, tuples: Iterable[EvidenceTuple], passages: Sequence[str]) -> TupleTable:
        """Tabulate the tuples of passages.

        Raises
        ------
        SettingError
            A passage id occurs twice, a tuple names another passage, or a confidence is outside [0, 1].
        """
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
