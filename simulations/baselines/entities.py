"""Baselines over the entities that sentences name: communities of them, and sentences as hyperedges among them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fedrag_flwr.records import EvidenceUnit, Fact, Passage, Sentence
from fedrag_flwr.retrieval import RankedPassage, Ranking, fuse
from fedrag_flwr.retrieval.base import within
from fedrag_flwr.text.segment import subject_of, under_title
from fedrag_flwr.text.support import NAMES
from fedrag_flwr.text.words import normalise_anchor
from simulations.baselines.reading import Construction, Meter, Reading, evidence_words
from simulations.baselines.substrate import Substrate
from simulations.baselines.summaries import Summarizer


def named(facts: Iterable[Fact]) -> list[Fact]:
    """The names among typed facts, each anchor once, in their order."""
    return list({fact.anchor: fact for fact in reversed(list(facts)) if fact.type in NAMES and fact.anchor}.values())[
        ::-1
    ]


def entities(passage: Passage, sentence: Sentence) -> list[Fact]:
    """The entities of a sentence: what its document's title names, for which pronouns stand, and the names in it."""
    subject = subject_of(passage.title)
    title = Fact(subject, "NAME", normalise_anchor(subject))
    return named([title, *sentence.facts])


def shared_sentences(passages: Sequence[Passage]) -> Counter[tuple[str, str]]:
    """How many sentences each pair of entities shares; a pair's anchors stand in ascending order."""
    return Counter(
        pair
        for passage in passages
        for sentence in passage.sentences
        for pair in combinations(sorted(fact.anchor for fact in entities(passage, sentence)), 2)
    )


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


_ENTITIES = 5  # nearest to each of the question's
_FIRST = 3  # nearest hyperedges whose own entities lead on
_HYPEREDGES = 12
_DEPTH = 60
_SHARE = 0.5  # of the evidence budget that passages may take; the rest is hyperedges


class Hyperedges:
    """Ranks hyperedges by their own cosine and by the entities that they share with the question or the nearest."""

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self._members: dict[str, list[str]] = {}
        self._incident: defaultdict[str, list[int]] = defaultdict(list)
        for passage in substrate.passages:
            for sentence in passage.sentences:
                self._members[sentence.id] = [fact.anchor for fact in entities(passage, sentence)]
                for name in self._members[sentence.id]:
                    self._incident[name].append(substrate.places[sentence.id])
        self._names = sorted(self._incident)
        self._vectors = substrate.encode_kept(self._names)
        self.construction = Construction(
            counts=(f"entities={len(self._names)}", f"hyperedges={len(substrate.sentences)}")
        )

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the best hyperedges' sentences, then the passages around them and near the question, fused by rank.

        What the passages hold is not read twice: the next hyperedges take its place.
        """
        substrate = self._substrate
        scores = substrate.sentence_scores(question)
        near = self._ranking({row: float(scores[row]) for row in range(len(scores))})
        linked = self._ranking(
            {
                row: reached * max(float(scores[row]), 0.0)
                for row, reached in joined(self._reached(question, near[:_FIRST]), self._incident).items()
            }
        )
        edges = [found.passage_id for found in fuse([near, linked], [1.0, 1.0], _DEPTH)]
        around = tuple(
            RankedPassage(name, 0.0)
            for name in dict.fromkeys(
                substrate.sentences[substrate.places[edge]].passage_id for edge in edges[:_HYPEREDGES]
            )
        )
        fused = fuse([around, substrate.dense.rank(question, _DEPTH)], [1.0, 1.0], substrate.limits.passages)
        words = substrate.limits.words
        passages = within(substrate.passage_units(question, [found.passage_id for found in fused]), int(_SHARE * words))
        held = " ".join(_spaced(passage.text) for passage in passages)
        others = [one for one in substrate.sentence_units(question, edges) if _spaced(one.text) not in held]
        return [*within(others[:_HYPEREDGES], words - evidence_words(passages)), *passages]

    def _reached(self, question: str, first: Ranking) -> dict[str, float]:
        """The entities nearest to those that the question names, and those of some hyperedges, with their cosines."""
        found: dict[str, float] = {}
        for edge in first:
            for name in self._members[edge.passage_id]:
                found[name] = max(found.get(name, 0.0), edge.score)
        facts = named(self._substrate.pipeline.question(question).facts)
        if not facts or not self._names:
            return found
        for row in self._substrate.encode([fact.anchor for fact in facts]) @ self._vectors.T:
            for place in np.argsort(-row, kind="stable")[:_ENTITIES].tolist():
                name = self._names[place]
                found[name] = max(found.get(name, 0.0), float(row[place]))
        return found

    def _ranking(self, scores: dict[int, float]) -> Ranking:
        best = sorted(scores, key=lambda row: (-scores[row], row))[:_DEPTH]
        return tuple(RankedPassage(self._substrate.sentences[row].id, scores[row]) for row in best)


def _spaced(text: str) -> str:
    """A text whose words one space parts, as they are where a passage is cut."""
    return " ".join(text.split())


def joined(reached: Mapping[str, float], incident: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """The hyperedges among some entities, each with the cosine of the best of its own."""
    found: dict[int, float] = {}
    for name, cosine in reached.items():
        for row in incident[name]:
            found[row] = max(found.get(row, 0.0), cosine)
    return found


def hyperedges(substrate: Substrate) -> Reading:
    """Hyperedges near a question or among its entities, with passages."""
    return Reading(substrate, Hyperedges(substrate))
