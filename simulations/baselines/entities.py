"""Baselines over the entities that sentences name: communities of them, and sentences as hyperedges among them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from fedrag_flwr.knowledge_graph.communities import CutSettings, leiden
from fedrag_flwr.records import EvidenceUnit, Fact, Passage, Sentence
from fedrag_flwr.retrieval.base import RankedPassage, Ranking, within
from fedrag_flwr.text.segment import subject_of, under_title
from fedrag_flwr.text.words import normalise_anchor
from simulations.baselines.reading import Construction, Finder, Meter, evidence_words
from simulations.baselines.substrate import Substrate
from simulations.baselines.summaries import Summarizer
from simulations.bench.rank_fusion import fuse

NAMES = frozenset(
    {"PERSON", "ORG", "GPE", "LOC", "FAC", "NAME", "PRODUCT", "EVENT", "WORK_OF_ART", "NORP", "LAW", "LANGUAGE"}
)
_SUMMARIES = 3  # of communities that are read for one question
_LEAST_SENTENCES = 2
_ENTITIES = 5  # nearest to each of the question's
_FIRST = 3  # nearest hyperedges whose own entities lead on
_HYPEREDGES = 12
_DEPTH = 60
_SHARE = 0.5  # of the evidence budget that passages may take; the rest is hyperedges


def named(facts: Iterable[Fact]) -> list[Fact]:
    """The names among typed facts, each anchor once, in their order."""
    found: dict[str, Fact] = {}
    for fact in facts:
        if fact.type in NAMES and fact.anchor:
            found.setdefault(fact.anchor, fact)
    return list(found.values())


def entities(passage: Passage, sentence: Sentence) -> list[Fact]:
    """The entities of a sentence: what its document's title names, for which pronouns stand, and the names in it."""
    subject = subject_of(passage.title)
    return named([Fact(subject, "NAME", normalise_anchor(subject)), *sentence.facts])


def members_of(substrate: Substrate) -> list[list[str]]:
    """The anchors of each sentence's entities."""
    pairs = ((passage, sentence) for passage in substrate.passages for sentence in passage.sentences)
    return [[fact.anchor for fact in entities(*pair)] for pair in pairs]


class Communities(Finder):
    """Finds communities of what a question names, or of what stands beside it, and the nearest passages in them.

    Where a question names nothing that is known, the communities with the nearest summaries are taken. A sentence
    belongs where most of its entities do; communities have at least two sentences, and the largest come first.
    """

    def __init__(self, substrate: Substrate) -> None:
        super().__init__(substrate)
        members = members_of(substrate)
        pairs = Counter(pair for anchors in members for pair in combinations(sorted(anchors), 2))
        community_of = leiden(dict(pairs), CutSettings(most=10**9, least=1, seed=substrate.seed))
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for row, anchors in enumerate(members):
            if votes := Counter(community_of[anchor] for anchor in anchors if anchor in community_of):
                rows[min(votes, key=lambda number: (-votes[number], number))].append(row)
        large = {number: own for number, own in rows.items() if len(own) >= _LEAST_SENTENCES}
        kept = sorted(large.items(), key=lambda one: -len(one[1]))
        self._anchors = [{name for name, place in community_of.items() if place == number} for number, _ in kept]
        self._beside: defaultdict[str, set[str]] = defaultdict(set)
        for one, other in pairs:
            self._beside[one].add(other)
            self._beside[other].add(one)
        summarizer = Summarizer(substrate)
        self._summaries = [_summary(substrate, summarizer, own) for _, own in kept]
        self._vectors = substrate.encode_kept(self._summaries)
        self.below = {
            f"community-{place}": tuple(dict.fromkeys(substrate.sentences[row].passage_id for row in own))
            for place, (_, own) in enumerate(kept)
        }
        self.construction = Construction(summarizer.cost, (f"communities={len(kept)}", *summarizer.counts))

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the best summaries, then the passages of their communities, the nearest first, then other passages."""
        substrate, names = self._substrate, list(self.below)
        asked = {fact.anchor for fact in named(substrate.pipeline.question(question).facts)}
        beside = {other for anchor in asked & self._beside.keys() for other in self._beside[anchor]}
        scores = self._vectors @ substrate.questions.whole(question) if names else np.zeros(0)

        def farness(row: int) -> tuple[bool, bool, float, int]:
            own = self._anchors[row]
            return own.isdisjoint(asked), own.isdisjoint(beside), -float(scores[row]), row

        order = sorted(range(len(names)), key=farness)[:_SUMMARIES]
        summaries = [substrate.unit(names[row], self._summaries[row], float(scores[row])) for row in order]
        ranked = [found.passage_id for found in substrate.dense.rank(question, len(substrate.passages))]
        inside = {name for row in order for name in self.below[names[row]]}
        passages = sorted(ranked, key=lambda name: name not in inside)[: substrate.limits.passages]
        return [*summaries, *substrate.passage_units(question, passages)]


def _summary(substrate: Substrate, summarizer: Summarizer, rows: Sequence[int]) -> str:
    sentences = [substrate.sentences[row] for row in rows]
    texts = [under_title(substrate.by_id[one.passage_id].title, one.text) for one in sentences]
    return summarizer.summarize(texts, substrate.sentence_vectors[list(rows)])


class Hyperedges(Finder):
    """Ranks hyperedges by their own cosine and by the entities that they share with the question or the nearest."""

    def __init__(self, substrate: Substrate) -> None:
        super().__init__(substrate)
        self._members = members_of(substrate)
        self._incident: defaultdict[str, list[int]] = defaultdict(list)
        for row, anchors in enumerate(self._members):
            for name in anchors:
                self._incident[name].append(row)
        self._names = sorted(self._incident)
        self._vectors = substrate.encode_kept(self._names)
        counts = (f"entities={len(self._names)}", f"hyperedges={len(substrate.sentences)}")
        self.construction = Construction(counts=counts)

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the best hyperedges' sentences, then the passages around them and near the question, fused by rank.

        What the passages hold is not read twice: the next hyperedges take its place.
        """
        substrate, words = self._substrate, self._substrate.limits.words
        scores = substrate.sentence_scores(question)
        near = self._ranking(dict(enumerate(scores.tolist())))
        reached = joined(self._reached(question, near[:_FIRST]), self._incident)
        linked = self._ranking({row: cosine * max(float(scores[row]), 0.0) for row, cosine in reached.items()})
        edges = [found.passage_id for found in fuse([near, linked], [1.0, 1.0], _DEPTH)]
        holding = [substrate.sentences[substrate.places[edge]].passage_id for edge in edges[:_HYPEREDGES]]
        around = tuple(RankedPassage(name, 0.0) for name in dict.fromkeys(holding))
        fused = fuse([around, substrate.dense.rank(question, _DEPTH)], [1.0, 1.0], substrate.limits.passages)
        passages = within(substrate.passage_units(question, [found.passage_id for found in fused]), int(_SHARE * words))
        held = " ".join(_spaced(passage.text) for passage in passages)
        others = [one for one in substrate.sentence_units(question, edges) if _spaced(one.text) not in held]
        return [*within(others[:_HYPEREDGES], words - evidence_words(passages)), *passages]

    def _reached(self, question: str, first: Ranking) -> dict[str, float]:
        """The entities nearest to those that the question names, and those of some hyperedges, with their cosines."""
        found: dict[str, float] = {}
        for edge in first:
            for name in self._members[self._substrate.places[edge.passage_id]]:
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
