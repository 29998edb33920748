"""The vertices that a question names: where traversal of a key space starts (HKVM-RAG section IV-D)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
    """

    def __init__(self, vertices: Sequence[str]) -> None:
        holders: dict[str, list[int]] = defaultdict(list)
        named: dict[str, list[int]] = defaultdict(list)
        lengths = np.ones(len(vertices))
        for row, name in enumerate(vertices):
            words = set(tokens(name))
            lengths[row] = max(1, len(words))
            named[name.lower()].append(row)
            for word in words:
                holders[word].append(row)
        self._lengths = lengths
        self._holders = {word: np.array(rows, dtype=np.int64) for word, rows in holders.items()}
        self._named = dict(named)

    def seeds(self, question: str) -> Floats:
        """Weigh the vertices, shape (v,).

        A vertex that is an entity of the question weighs 1, whatever its case; another weighs the share of its distinct
        tokens that the question has.
        """
        shared = np.zeros(len(self._lengths))
        for word in set(tokens(question)):
            if word in self._holders:
                shared[self._holders[word]] += 1.0
        weights = shared / self._lengths
        for name in entities(question):
            weights[self._named.get(name, [])] = 1.0
        return weights
