"""The vertices that a question names: where traversal of a key space starts (HKVM-RAG section IV-D)."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError

Floats = NDArray[np.float64]
_TOKEN = re.compile(r"[A-Za-z0-9_\-\u4e00-\u9fff]+")
_ENTITY = re.compile(r"\b[A-Z][A-Za-z0-9_-]*(?:\s+[A-Z][A-Za-z0-9_-]*){0,4}\b")


def tokens(text: str) -> list[str]:
    """The runs of letters, digits, ``_``, ``-`` and Han characters of a text, in lower case."""
    return [found.lower() for found in _TOKEN.findall(text)]


def entities(question: str) -> set[str]:
    """The runs of one to five capitalised words of a question, in lower case."""
    return {found.lower() for found in _ENTITY.findall(question)}


class VertexSeeds:
    """Finds the vertices of a key space that a question mentions.

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

    Raises
    ------
    SettingError
        The sharpness is below 1.
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
