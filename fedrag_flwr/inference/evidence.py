"""The evidence that a device's store offers: its sentences and passages near a question (FD-RAG eq. 14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fedrag_flwr.inference.reader import FEWEST
from fedrag_flwr.inference.reading import Candidate
from fedrag_flwr.inference.rewriting import is_said
from fedrag_flwr.inference.support import distinct, shortened, statement
from fedrag_flwr.memory.fusion.fusing import references
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.reading import missing
from fedrag_flwr.records import ChosenPath, EvidenceUnit, Granularity, Match, Vector
from fedrag_flwr.retrieval import Ranking
from fedrag_flwr.settings import Mixing

POOL = 64  # near sentences among which evidence is chosen


class EvidenceOrder(Protocol):
    """Says which of a device's passages evidence is taken from, and why."""

    def rank(self, question: str, most: int) -> Ranking:
        """At most so many passages, best first."""
        ...

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """The answer paths to those of the passages that the question reaches by one."""
        ...


@dataclass(frozen=True, slots=True)
class EvidenceShelf:
    """A device's own evidence.

    Parameters
    ----------
    device
        The device's name, the origin of its units.
    store
        Holds sentences, passages and hyperedges.
    most
        Most sentences of evidence for one question.
    fewest
        Of the likeliest sentences, home's and others' together, home's are read among so many at the least.
    again
        Most of a second reading, where the first holds no answer; 0: there is none.
    mixing
        Whose sentences are read: other devices' in half of the room and never more, or the likeliest of all.
    """

    device: str
    store: MemoryStore
    most: int
    fewest: int = FEWEST
    again: int = 0
    mixing: Mixing = "half"

    def gather(
        self, vector: Vector, matches: Sequence[Match], passages: Sequence[str] | None = None
    ) -> list[Candidate]:
        """The sentences among which evidence is chosen: those of some passages, and of the matches' hyperedges.

        Without `passages` the sentences nearest to the vector, of shape (dimension,), take their place.
        """
        named = self.units_of(self._own_hyperedges(matches), vector)
        near = self.nearest_sentences(vector, POOL) if passages is None else self.sentences_of(passages, vector)
        units = _merge(named, near)
        facts = {sentence.id: sentence.facts for sentence in self.store.sentences([unit.id for unit in units])}
        return [Candidate(unit, facts[unit.id], int(unit.id.rpartition(".")[2])) for unit in units]

    def select(
        self,
        home: Sequence[EvidenceUnit],
        foreign: Sequence[EvidenceUnit],
        name: str = "",
        likely: Callable[[EvidenceUnit], float] = lambda unit: unit.score,
        most: int | None = None,
    ) -> list[EvidenceUnit]:
        """A question's evidence: the likeliest units of home, and of foreign ones as `mixing` has it.

        The room is `self.most` units, or as many as are asked for. Of a very long one its start is read, so that it
        leaves room in the prompt for the others.

        Units that say the `name` that the first hop led to come before the others. What several units say takes one
        place, the best of theirs (`support.distinct`).
        """

        def order(unit: EvidenceUnit) -> tuple[bool, float, str]:
            return (bool(name) and not is_said(name, f"{unit.title} {unit.text}"), -likely(unit), unit.id)

        room = self.most if most is None else most
        placed = distinct(map(shortened, sorted([*home, *foreign], key=order)), self.device)
        best = placed if self.mixing == "half" else placed[:room]
        own = [unit for unit in best if unit.origin == self.device]
        abroad = [unit for unit in best if unit.origin != self.device]
        if self.mixing == "half":
            abroad = abroad[: room // 2]
            own = own[: room - len(abroad)]
        return _in_reading_order(own) + abroad

    def nearest_sentences(self, vector: Vector, count: int) -> list[EvidenceUnit]:
        """The sentences that come nearest to a vector, best first."""
        return self.nearest("sentence", vector, count)

    def _own_hyperedges(self, matches: Sequence[Match]) -> list[str]:
        own = [edge for match in matches for owner, edge in references(match.item) if owner == self.device and edge]
        resolved = self.store.resolve_opaque(own)  # composed items name our hyperedges by opaque id
        return [resolved[edge][1] if edge in resolved else edge for edge in own]

    def nearest(self, granularity: Granularity, vector: Vector, count: int) -> list[EvidenceUnit]:
        """The units of a granularity that come nearest to a vector of shape (dimension,), best first."""
        scores, ids = self.store.index(granularity).search(vector[None, :], count)
        return self._load(granularity, dict(zip(ids[0], map(float, scores[0]), strict=True)))

    def passages(self, ids: Sequence[str], vector: Vector) -> list[EvidenceUnit]:
        """Passages in the order given, each with its cosine to a vector of shape (dimension,).

        Raises
        ------
        NotFoundError
            One is not there any more.
        """
        units = self.store.units("paragraph", ids)
        row = {name: number for number, name in enumerate(units.ids)}
        if gone := [name for name in ids if name not in row]:
            raise missing("passage", gone)
        scores = {name: float(units.vectors[row[name]] @ vector) for name in ids}
        loaded = {unit.id: unit for unit in self._load("paragraph", scores)}
        return [loaded[name] for name in ids]

    def units_of(self, hyperedges: Sequence[str], vector: Vector) -> list[EvidenceUnit]:
        """The sentences of own hyperedges, those nearest to a vector first."""
        wanted = set(hyperedges)
        if not wanted:
            return []
        edges = self.store.hyperedges(ids=sorted(wanted))
        members = {member for edge in edges if edge.granularity == "sentence" for member in edge.members}
        paragraphs = {member for edge in edges if edge.granularity == "paragraph" for member in edge.members}
        members |= {s.id for p in self.store.passages(sorted(paragraphs)) for s in p.sentences} if paragraphs else set()
        return self._sentences(members, vector)

    def offered(self, hyperedges: Sequence[str], vector: Vector) -> list[EvidenceUnit]:
        """The sentences of own hyperedges, best first; without any those nearest to a vector of shape (dimension,)."""
        return self.units_of(hyperedges, vector) or self.nearest_sentences(vector, POOL)

    def sentences_of(self, passages: Sequence[str], vector: Vector) -> list[EvidenceUnit]:
        """The sentences of passages, those nearest to a vector first."""
        return self._sentences({s.id for p in self.store.passages(passages) for s in p.sentences}, vector)

    def _sentences(self, wanted: set[str], vector: Vector) -> list[EvidenceUnit]:
        units = self.store.units("sentence", wanted)
        return self._load("sentence", dict(zip(units.ids, map(float, units.vectors @ vector), strict=True)))

    def _load(self, granularity: Granularity, scores: Mapping[str, float]) -> list[EvidenceUnit]:
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        ids = [unit_id for unit_id, _ in ranked]
        if granularity == "paragraph":
            passages = {p.id: p for p in self.store.passages(ids)}
            return [EvidenceUnit(i, passages[i].text, self.device, s, passages[i].title) for i, s in ranked]
        sentences = {s.id: s for s in self.store.sentences(ids)}
        titles = {p.id: p.title for p in self.store.passages(sorted({s.passage_id for s in sentences.values()}))}
        return [EvidenceUnit(i, sentences[i].text, self.device, s, titles[sentences[i].passage_id]) for i, s in ranked]


def _in_reading_order(units: Sequence[EvidenceUnit]) -> list[EvidenceUnit]:
    """Sentences of one passage together and as they stand in it, the passages in the order of their first one here."""
    passages: dict[str, list[tuple[int, EvidenceUnit]]] = {}
    for unit in units:
        passage, _, place = unit.id.rpartition(".")
        passages.setdefault(passage, []).append((int(place), unit))
    return [unit for sentences in passages.values() for _, unit in sorted(sentences, key=lambda pair: pair[0])]


def read_as(unit: EvidenceUnit) -> tuple[str, str]:
    """What is read of a unit, in the form in which statements compare."""
    return statement(shortened(unit))


def _merge(*groups: Sequence[EvidenceUnit]) -> list[EvidenceUnit]:
    seen: dict[tuple[str, str], EvidenceUnit] = {}
    for group in groups:
        for unit in group:
            seen.setdefault((unit.origin, unit.id), unit)
    return list(seen.values())
