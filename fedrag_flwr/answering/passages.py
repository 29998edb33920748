"""What a device's store offers: ranked passages, and passages for others (FD-RAG eq. 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fedrag_flwr.answering.cells import cells_of
from fedrag_flwr.answering.sentences import RankedText
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import missing
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import ChosenPath, Document, EvidenceUnit, Granularity, Passage, Vector
from fedrag_flwr.retrieval.base import Ranking, searchable_text
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.segment import document_of, passage_of

POOL = 64  # near sentences that are offered to others
WHOLE_WORDS = 400  # of evidence that are read where passages are not read whole
RANKED = 10  # passages whose sentences are looked at


class PassageOrder(Protocol):
    """Ranks a device's passages, and says why."""

    def rank(self, question: str, most: int) -> Ranking:
        """At most so many passages, best first."""
        ...

    def beside(self, question: str, own: Sequence[str], given: Sequence[ParsedPassage]) -> Ranking:
        """Some own passages and those that others gave, ranked together."""
        ...

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """The answer paths to those of the passages that the question reaches by one."""
        ...


@dataclass(frozen=True, slots=True)
class EvidenceStore:
    """A device's own passages and sentences."""

    device: str  # the device's name, the origin of its units
    store: MemoryStore  # holds sentences, passages and hyperedges
    most: int = RANKED  # first passages whose sentences are looked at for a question

    def ranked(self, question: str, vector: Vector, order: PassageOrder | None) -> list[RankedText]:
        """The first passages for a question, with their sentences; without an order the nearest ones."""
        if order is None:
            scores, ids = self.store.index("paragraph").search(vector[None, :], self.most)
            found = list(zip(ids[0], map(log_odds_of, scores[0]), strict=True))
        else:
            found = [(one.passage_id, one.score) for one in order.rank(question, self.most)]
        passages = self.store.passages([name for name, _ in found])
        units = self.store.units("sentence", [own.id for one in passages for own in one.sentences])
        near = dict(zip(units.ids, map(float, units.vectors @ vector), strict=True))
        return [
            RankedText(
                one.id,
                one.title,
                [own.text for own in one.sentences],
                [near[own.id] for own in one.sentences],
                odds,
                self.device,
            )
            for one, (_, odds) in zip(passages, found, strict=True)
        ]

    def passages(self, ids: Sequence[str], vector: Vector) -> list[EvidenceUnit]:
        """Whole passages in the order given, each with its cosine to a vector of shape (dimension,).

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

    def nearest(self, granularity: Granularity, vector: Vector, count: int) -> list[EvidenceUnit]:
        """The units of a granularity that come nearest to a vector of shape (dimension,), best first."""
        scores, ids = self.store.index(granularity).search(vector[None, :], count)
        return self._load(granularity, dict(zip(ids[0], map(float, scores[0]), strict=True)))

    def nearest_sentences(self, vector: Vector, count: int) -> list[EvidenceUnit]:
        """The sentences that come nearest to a vector, best first."""
        return self.nearest("sentence", vector, count)

    def units_of(self, hyperedges: Sequence[str], vector: Vector) -> list[EvidenceUnit]:
        """The sentences of own hyperedges, those nearest to a vector first."""
        wanted = set(hyperedges)
        if not wanted:
            return []
        edges = self.store.hyperedges(ids=sorted(wanted))
        members = {member for edge in edges if edge.granularity == "sentence" for member in edge.members}
        paragraphs = {member for edge in edges if edge.granularity == "paragraph" for member in edge.members}
        members |= {s.id for p in self.store.passages(sorted(paragraphs)) for s in p.sentences} if paragraphs else set()
        units = self.store.units("sentence", members)
        return self._load("sentence", dict(zip(units.ids, map(float, units.vectors @ vector), strict=True)))

    def around(self, sentences: Sequence[EvidenceUnit], most: int) -> list[EvidenceUnit]:
        """The whole passages that hold ranked sentences, each once and with the score of its best sentence."""
        best: dict[str, float] = {}
        for one in sentences:
            best.setdefault(passage_of(one.id), one.score)
        return self._load("paragraph", dict(list(best.items())[:most]))

    def table(self, passage_id: str) -> list[EvidenceUnit]:
        """The rows of the table of which a passage is a row: the passages of its document with its title and head."""
        passages = self.store.passages(self.store.contribution(document_of(passage_id)).passages)
        table = next((_table_of(one) for one in passages if one.id == passage_id), None)
        same = [one for one in passages if table is not None and _table_of(one) == table]
        return [EvidenceUnit(one.id, one.text, self.device, 1.0, one.title) for one in same]

    def _load(self, granularity: Granularity, scores: Mapping[str, float]) -> list[EvidenceUnit]:
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        ids = [unit_id for unit_id, _ in ranked]
        if granularity == "paragraph":
            passages = {p.id: p for p in self.store.passages(ids)}
            return [EvidenceUnit(i, passages[i].text, self.device, s, passages[i].title) for i, s in ranked]
        sentences = {s.id: s for s in self.store.sentences(ids)}
        titles = {p.id: p.title for p in self.store.passages(sorted({s.passage_id for s in sentences.values()}))}
        return [EvidenceUnit(i, sentences[i].text, self.device, s, titles[sentences[i].passage_id]) for i, s in ranked]


def _table_of(passage: Passage) -> tuple[str, str] | None:
    """What the rows of one table have in common: title, and head of the first column; None for other passages."""
    cells = cells_of(passage.text)
    return (passage.title, cells[0][0]) if cells else None


def log_odds_of(cosine: float) -> float:
    """What stands in for a passage's log-odds where nobody ranked it."""
    return 10.0 * float(cosine) - 5.0


def whole(ranked: Sequence[RankedText]) -> list[EvidenceUnit]:
    """Ranked passages as they stand."""
    return [
        EvidenceUnit(one.id, " ".join(one.sentences), one.origin, min(max([*one.cosines, -1.0]), 1.0), one.title)
        for one in ranked
    ]


def ranked_together(
    question: str,
    vector: Vector,
    ranked: Sequence[RankedText],
    given: Sequence[EvidenceUnit],
    order: PassageOrder | None,
    encoder: Encoder,
    pipeline: Pipeline,
) -> list[RankedText]:
    """Home's ranked passages and what others gave, ranked anew as one pool: what stands first, helps most.

    Parameters
    ----------
    question, vector
        The question, and its vector of shape (dimension,).
    ranked
        Home's first passages.
    given
        Other devices' units; each is parsed like a document. Their scores are claims and count for nothing.
    order
        Home's; None: by the cosine of the passages' vectors.
    encoder, pipeline
        Read what was given.
    """
    units = {f"{unit.origin}/{unit.id}": unit for unit in sorted(given, key=lambda one: (one.origin, one.id))}
    documents = [Document(name, unit.title, unit.text, name) for name, unit in units.items()]
    parsed = [one for passages in pipeline.parse(documents) for one in passages]
    texts = [one.text for own in parsed for one in own.passage.sentences]
    cosines = iter((encoder.encode(texts) @ vector).tolist() if texts else ())
    pool = {one.id: one for one in ranked}
    for own in parsed:
        passage, unit = own.passage, units[document_of(own.passage.id)]
        said = [one.text for one in passage.sentences]
        pool[passage.id] = RankedText(unit.id, passage.title, said, [next(cosines) for _ in said], 0.0, unit.origin)
    if order is None:
        near = encoder.encode([searchable_text(own.passage) for own in parsed]) @ vector if parsed else ()
        odds = {one.id: one.log_odds for one in ranked}
        odds |= {own.passage.id: log_odds_of(score) for own, score in zip(parsed, near, strict=True)}
    else:
        found = order.beside(question, [one.id for one in ranked], parsed)
        odds = {one.passage_id: one.score for one in found}
    best = sorted(odds, key=lambda name: -odds[name])
    return [replace(pool[name], log_odds=odds[name]) for name in best]
