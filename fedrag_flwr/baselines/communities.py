"""Communities of entities and their summaries, asked from the question's own entities (GraphRAG's idea, local search).

Edge et al. 2024, "From local to global: a graph RAG approach to query-focused summarization".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.baselines.entities import entities, named, shared_sentences
from fedrag_flwr.baselines.reading import Construction, Meter, Reading
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.baselines.summaries import Summarizer
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.segment import under_title

_SUMMARIES = 3  # that are read for one question
_LEAST_SENTENCES = 2


@dataclass(frozen=True, slots=True)
class Community:
    """A community of entities: the sentences that name most of all its members, and their passages."""

    id: str
    anchors: frozenset[str]
    sentences: tuple[int, ...]
    passages: tuple[str, ...]


class Communities:
    """Finds communities of what a question names, or of what stands beside it, and the nearest passages in them.

    Where a question names nothing that is known, the communities with the nearest summaries are taken.

    Parameters
    ----------
    substrate
        The device's documents and model.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        pairs = shared_sentences(substrate.passages)
        self._communities = _found(substrate, leiden(pairs, substrate.seed))
        self._beside: defaultdict[str, set[str]] = defaultdict(set)
        for one, other in pairs:
            self._beside[one].add(other)
            self._beside[other].add(one)
        summarizer = Summarizer(substrate)
        self._summaries = [_summary(substrate, summarizer, one) for one in self._communities]
        self._vectors = substrate.encode_kept(self._summaries)
        self.below = {one.id: one.passages for one in self._communities}
        self.construction = Construction(summarizer.cost, (f"communities={len(self._communities)}", *summarizer.counts))

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the best summaries, then the passages of their communities, the nearest first, then other passages."""
        asked = {fact.anchor for fact in named(self._substrate.pipeline.question(question).facts)}
        beside = {other for anchor in asked & self._beside.keys() for other in self._beside[anchor]}
        scores = self._vectors @ self._substrate.questions.whole(question) if self._communities else np.zeros(0)
        order = sorted(
            range(len(self._communities)),
            key=lambda row: (
                self._communities[row].anchors.isdisjoint(asked),
                self._communities[row].anchors.isdisjoint(beside),
                -float(scores[row]),
                row,
            ),
        )[:_SUMMARIES]
        summaries = [
            self._substrate.unit(self._communities[row].id, self._summaries[row], float(scores[row])) for row in order
        ]
        ranked = [found.passage_id for found in self._substrate.dense.rank(question, len(self._substrate.passages))]
        inside = {name for row in order for name in self._communities[row].passages}
        passages = sorted(ranked, key=lambda name: name not in inside)[: self._substrate.limits.passages]
        return [*summaries, *self._substrate.passage_units(question, passages)]


def communities(substrate: Substrate) -> Reading:
    """Summaries of the communities near a question, and their passages."""
    found = Communities(substrate)
    return Reading(substrate, found, found.below)


def _found(substrate: Substrate, community_of: Mapping[str, int]) -> list[Community]:
    """Communities with at least two sentences, the largest first; a sentence belongs where most of its entities do."""
    members: defaultdict[int, list[int]] = defaultdict(list)
    for passage in substrate.passages:
        for sentence in passage.sentences:
            votes = Counter(
                community_of[fact.anchor] for fact in entities(passage, sentence) if fact.anchor in community_of
            )
            if votes:
                best = min(votes, key=lambda number: (-votes[number], number))
                members[best].append(substrate.places[sentence.id])
    kept = sorted((rows for rows in members.items() if len(rows[1]) >= _LEAST_SENTENCES), key=lambda one: -len(one[1]))
    return [
        Community(
            f"community-{place}",
            frozenset(anchor for anchor, own in community_of.items() if own == number),
            tuple(rows),
            tuple(dict.fromkeys(substrate.sentences[row].passage_id for row in rows)),
        )
        for place, (number, rows) in enumerate(kept)
    ]


def leiden(pairs: Counter[tuple[str, str]], seed: int) -> dict[str, int]:
    """Cut a weighted graph into communities by modularity (Traag et al. 2019): the community of each vertex."""
    import graspologic_native  # type: ignore[import-untyped, unused-ignore]

    if not pairs:
        return {}
    edges = [(head, tail, float(count)) for (head, tail), count in sorted(pairs.items())]
    _, found = graspologic_native.leiden(edges, seed=seed)
    return dict(sorted(found.items()))


def _summary(substrate: Substrate, summarizer: Summarizer, community: Community) -> str:
    sentences = [substrate.sentences[row] for row in community.sentences]
    texts = [under_title(substrate.by_id[one.passage_id].title, one.text) for one in sentences]
    return summarizer.summarize(texts, substrate.sentence_vectors[list(community.sentences)])
