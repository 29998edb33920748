"""Entities of a question and vertices of a graph: matched exactly, else by meaning above a threshold (HyFedRAG 3.3)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fedrag_flwr.memory.store.index import VectorIndex
from fedrag_flwr.models.base import TextEncoder
from fedrag_flwr.sources.graph.contents import Named
from fedrag_flwr.sources.graph.paths import Vertex
from fedrag_flwr.sources.source_search import Entity
from fedrag_flwr.text.words import normalise_anchor

_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")  # "Asthma (disorder)" is asthma, too
_MOST_WORDS = 10  # of a name that is looked for in a question

Matches = dict[Vertex, float]


class EntityIndex:
    """The names of a graph's vertices."""

    def __init__(self, vertices: Sequence[Named], encoder: TextEncoder) -> None:
        self._encoder = encoder
        self._exact: defaultdict[str, list[Vertex]] = defaultdict(list)
        self.vertices: Mapping[Vertex, Named] = {one.vertex: one for one in vertices}
        by_name: defaultdict[str, list[Vertex]] = defaultdict(list)
        for one in vertices:
            by_name[_QUALIFIER.sub("", one.name) or one.name].append(one.vertex)
            for form in {normalise_anchor(one.name), normalise_anchor(_QUALIFIER.sub("", one.name))} - {""}:
                self._exact[form].append(one.vertex)
        self._named = dict(by_name)
        self._near = VectorIndex(list(by_name), encoder.encode(list(by_name))) if by_name else None

    def named_in(self, question: str) -> list[Entity]:
        """Find vertices' names in a question, the longest first and each word once: no tagger knows all of them."""
        words = question.split()
        found: list[Entity] = []
        taken: set[int] = set()
        for length in range(min(_MOST_WORDS, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                span = range(start, start + length)
                anchor = normalise_anchor(" ".join(words[start : start + length]))
                if anchor in self._exact and taken.isdisjoint(span):
                    taken.update(span)
                    found.append(Entity(" ".join(words[start : start + length]), anchor))
        return found

    def match(self, entities: Sequence[Entity], threshold: float, k: int) -> list[Matches]:
        """Match each entity to vertices: 1 for an equal name, else its cosine from a threshold, of at most k names.

        Parameters
        ----------
        threshold
            The least cosine (tau; the paper's is 0.9 of another model's score).
        k
            Names that an entity may match by meaning.
        """
        found: list[Matches] = [dict.fromkeys(self._exact.get(one.anchor, ()), 1.0) for one in entities]
        open_places = [place for place, matches in enumerate(found) if not matches]
        if open_places and self._near is not None:
            vectors = self._encoder.encode([entities[place].text for place in open_places])
            scores, names = self._near.search(np.asarray(vectors, dtype=np.float32), k)
            for place, row, near in zip(open_places, scores, names, strict=True):
                for score, name in zip(row, near, strict=True):
                    if score >= threshold:
                        found[place].update(dict.fromkeys(self._named[name], float(min(score, 1.0))))
        return found
