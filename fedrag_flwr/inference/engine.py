"""One device's inference: which path a question takes, over which evidence, and why."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedrag_flwr.inference.cognizer import Cognizer, Verdict
from fedrag_flwr.inference.fitting import Fitting
from fedrag_flwr.inference.hops import Hops
from fedrag_flwr.inference.memorizer import Memorizer
from fedrag_flwr.inference.rewriting import Rewrite, Rewriter, is_said, tells
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import (
    Answer,
    AnswerPath,
    Clock,
    Cost,
    EvidenceUnit,
    Fact,
    Granularity,
    Match,
    MemoryItem,
    OpenQuestion,
    Question,
    Vector,
    Want,
)
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis
from fedrag_flwr.text.segment import subject_of

LEAST_REACH = 0.5  # nearness at which a name is taken for what a description stands for
SURE_REACH = 0.7  # nearness at which the model is asked about the name instead
LEAST_SECOND = 0.75  # score at which a memory answers a question with the first hop taken
RECALLED = 3  # times top-k memories are looked through for one that fits


@dataclass(frozen=True, slots=True)
class EvidenceLimits:
    """How many units and memories the model may read, and how many memories localise them (K)."""

    passages: int
    sentences: int
    top_k: int
    notes: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with what was computed from it once."""

    question: Question
    vector: Vector
    analysis: QuestionAnalysis


@dataclass(frozen=True, slots=True)
class _Lead:
    """What memory says to a question: the matches, and the one that answers it.

    `via` is the first hop, where `asked` is not the question as it came but one with a name in a description's place.
    """

    asked: _Asked
    matches: Sequence[Match]
    known: Match | None = None
    via: Rewrite | None = None


class Engine:
    """Answers questions on one device from its store; makes no difference between simulation and deployment.

    Parameters
    ----------
    device
        The device's name, the origin of its own items and units.
    store, encoder, pipeline
        What the device knows and how it reads.
    memorizer, cognizer
        The two paths.
    hops
        The second hop over memory.
    fitting
        What memories call a name, for the first hop.
    limits
        How much evidence the slow path reads.
    clock
        Seconds for timing.
    """

    def __init__(
        self,
        device: str,
        store: MemoryStore,
        encoder: Encoder,
        pipeline: Pipeline,
        memorizer: Memorizer,
        hops: Hops,
        fitting: Fitting,
        cognizer: Cognizer,
        limits: EvidenceLimits,
        clock: Clock = time.perf_counter,
    ) -> None:
        self.device = device
        self.store = store
        self.encoder = encoder
        self.pipeline = pipeline
        self.memorizer = memorizer
        self.hops = hops
        self.rewriter = Rewriter(memorizer.matcher, fitting, encoder, pipeline, self.nearest_sentences)
        self.cognizer = cognizer
        self.limits = limits
        self.clock = clock

    # --- the three modes ------------------------------------------------------------------------

    def closed_book(self, question: Question) -> Answer:
        """The model alone."""
        verdict = self.cognizer.recite(question.text)
        return self._answer(question, verdict, "cognizer", ())

    def from_passages(self, question: Question) -> Answer:
        """Plain retrieval-augmented generation: the model reads the nearest passages."""
        start = self.clock()
        asked = self._ask(question)
        units = self._nearest("paragraph", asked.vector, self.limits.passages)
        verdict = self.cognizer.answer(question.text, asked.analysis, units, always=True)
        verdict = self._timed(verdict, self.clock() - start)
        return self._answer(question, verdict, "cognizer", units)

    def from_memory(self, question: Question) -> Answer | OpenQuestion:
        """Memory if it is near enough; else evidence at home, or an open question that names whom to ask."""
        start = self.clock()
        lead = self._lead(question)
        if lead.known is not None:
            return self._recalled(question, lead, self.clock() - start)
        if wants := self._wants(question, lead.matches):
            return OpenQuestion(question.id, lead.asked.vector, wants, self.clock() - start)
        return self._reasoned(question, lead, (), start)

    def finish(self, question: Question, foreign: Sequence[EvidenceUnit]) -> Answer:
        """Answer an open question at home with whatever other devices gave."""
        start = self.clock()
        return self._reasoned(question, self._lead(question), foreign, start)

    def nearest_sentences(self, vector: Vector, count: int) -> list[EvidenceUnit]:
        """The device's own sentences that come nearest to a vector, best first."""
        return self._nearest("sentence", vector, count)

    def evidence_for(self, vector: Vector, hyperedges: Sequence[str], budget: int) -> list[EvidenceUnit]:
        """The units of own hyperedges that come nearest to another's question; nothing beyond those hyperedges."""
        return self._units_of(hyperedges, vector)[:budget]

    # --- steps ----------------------------------------------------------------------------------

    def _ask(self, question: Question) -> _Asked:
        return self._ask_all([question])[0]

    def _ask_all(self, questions: Sequence[Question]) -> list[_Asked]:
        texts = [question.text for question in questions]
        analyses, vectors = self.pipeline.questions(texts), self.encoder.encode(texts)
        return [_Asked(*parts) for parts in zip(questions, vectors, analyses, strict=True)]

    def _lead(self, question: Question) -> _Lead:
        """What memory says to a question as it came; where it does not answer that, to one with the first hop taken."""
        asked = self._ask(question)
        matches = self._recall(asked)
        known = self.memorizer.answer(question.text, asked.analysis, matches)
        if known is not None:
            return _Lead(asked, matches, known)
        return self._second_lead(asked, matches) or _Lead(asked, self._localised(asked, matches))

    def _second_lead(self, asked: _Asked, first: Sequence[Match]) -> _Lead | None:
        """The best reading of a question with a name in a description's place; None where no name is near enough."""
        rewrites = [r for r in self.rewriter.rewrites(asked.question.text, asked.analysis) if r.reach >= LEAST_REACH]
        renamed = self._ask_all([replace(asked.question, text=rewrite.question) for rewrite in rewrites])
        best, best_score = None, 0.0
        for rewrite, second in zip(rewrites, renamed, strict=True):
            said = [m for m in self._recall(second) if is_said(rewrite.name, m.item.question)]
            telling = [m for m in said if m.score >= LEAST_SECOND and tells(second.question.text, rewrite.name, m.item)]
            known = self.memorizer.answer(second.question.text, second.analysis, telling)
            about = _distinct([*said, *self.hops.about(rewrite.name, second.vector, self.limits.top_k)])
            score = 2 * rewrite.reach + ((known or about[0]).score if about else 0.0) + (known is not None)
            if score > best_score and (known or rewrite.reach >= SURE_REACH):
                half = self.limits.notes // 2
                best_score = score
                best = _Lead(second, _distinct([*about[:half], *first[:half], *about[half:]]), known, rewrite)
        return best

    def _recall(self, asked: _Asked) -> list[Match]:
        return self.memorizer.recall(asked.vector, asked.analysis, RECALLED * self.limits.top_k)

    def _localised(self, asked: _Asked, matches: Sequence[Match]) -> list[Match]:
        """The memories that localise evidence: the best matches (eq. 14), and those that a second hop reaches.

        The ones that the model reads stand first: half of its notes from each.
        """
        k, half = self.limits.top_k, self.limits.notes // 2
        second = self.hops.follow(asked.question.text, asked.analysis, asked.vector, matches, half)
        shown = max(self.limits.notes - len(second), 1)
        return [*matches[:shown], *second, *matches[shown:k]]

    def _recalled(self, question: Question, lead: _Lead, seconds: float) -> Answer:
        match = lead.known
        assert match is not None
        item = match.item
        return Answer(
            question_id=question.id,
            text=item.answer,
            path="memorizer",
            score=match.score,
            explanation=(
                f"memory {match.score:.2f} >= {self.memorizer.delta:.2f} "
                f"(similarity {match.similarity:.2f}, anchors {match.cover:.2f}), {item.kind} item of {item.origin}"
            ),
            sources=(
                f"{item.origin}/{item.id}",
                *("/".join(_owner_of(item.origin, reference)) for reference in item.hyperedges),
            ),
            cost=Cost(seconds=seconds),
        )

    def _reasoned(self, question: Question, lead: _Lead, foreign: Sequence[EvidenceUnit], start: float) -> Answer:
        asked = lead.asked
        units = self.select(asked.vector, lead.matches, foreign, lead.via.name if lead.via else "")
        memories = [match.item for match in lead.matches[: self.limits.notes]]
        facts = self._facts(units, memories)
        verdict = self.cognizer.answer(asked.question.text, asked.analysis, units, memories, facts)
        verdict = self._timed(verdict, self.clock() - start)
        remote = any(unit.origin != self.device for unit in units)
        answer = self._answer(question, verdict, "remote" if remote else "cognizer", units)
        used = tuple(f"{item.origin}/{item.id}" for item in memories)
        return replace(answer, sources=(*used, *answer.sources)[:64])

    def select(
        self, vector: Vector, matches: Sequence[Match], foreign: Sequence[EvidenceUnit], name: str = ""
    ) -> list[EvidenceUnit]:
        """A question's evidence: units of the matches' hyperedges (eq. 14), the nearest sentences, foreign units.

        Units that say the `name` that the first hop led to come before the others.
        """

        def order(unit: EvidenceUnit) -> tuple[bool, float, str]:
            return (bool(name) and not is_said(name, f"{unit.title} {unit.text}"), -unit.score, unit.id)

        named = self._units_of(self._own_hyperedges(matches), vector)
        home = sorted(_merge(named, self.nearest_sentences(vector, self.limits.sentences)), key=order)
        abroad = sorted(foreign, key=order)[: self.limits.sentences // 2]
        return home[: self.limits.sentences - len(abroad)] + abroad

    def _facts(self, units: Sequence[EvidenceUnit], memories: Sequence[MemoryItem]) -> list[Fact]:
        """The typed facts of evidence (eq. 15): of its units, and the answers of memories."""
        titles = list(dict.fromkeys(unit.title for unit in units))
        found = [fact for facts in self.pipeline.facts([unit.text for unit in units]) for fact in facts]
        found += [Fact(title, "NAME", normalise_anchor(title)) for title in map(subject_of, titles) if title]
        return found + [Fact(m.answer, m.answer_type, normalise_anchor(m.answer)) for m in memories if m.answer_type]

    def _own_hyperedges(self, matches: Sequence[Match]) -> list[str]:
        own = [
            edge
            for match in matches
            for owner, edge in (_owner_of(match.item.origin, reference) for reference in match.item.hyperedges)
            if owner == self.device
        ]
        resolved = self.store.resolve_opaque(own)  # composed items name our hyperedges by opaque id
        return [resolved[edge][1] if edge in resolved else edge for edge in own]

    def _wants(self, question: Question, matches: Sequence[Match]) -> tuple[Want, ...]:
        edges: dict[str, list[str]] = {}
        for match in matches:
            for reference in match.item.hyperedges:
                owner, edge = _owner_of(match.item.origin, reference)
                if owner != self.device:
                    edges.setdefault(owner, []).append(edge)
        return tuple(Want(question.id, owner, tuple(dict.fromkeys(ids))[:64]) for owner, ids in sorted(edges.items()))

    def _nearest(self, granularity: Granularity, vector: Vector, count: int) -> list[EvidenceUnit]:
        scores, ids = self.store.index(granularity).search(vector[None, :], count)
        return self._load(granularity, dict(zip(ids[0], map(float, scores[0]), strict=True)))

    def _units_of(self, hyperedges: Sequence[str], vector: Vector) -> list[EvidenceUnit]:
        wanted = set(hyperedges)
        if not wanted:
            return []
        edges = self.store.hyperedges(ids=sorted(wanted))
        members = {member for edge in edges if edge.granularity == "sentence" for member in edge.members}
        paragraphs = {member for edge in edges if edge.granularity == "paragraph" for member in edge.members}
        members |= {s.id for p in self.store.passages(sorted(paragraphs)) for s in p.sentences} if paragraphs else set()
        units = self.store.units("sentence")
        rows = [i for i, unit_id in enumerate(units.ids) if unit_id in members]
        scores = units.vectors[rows] @ vector if rows else np.zeros(0)
        return self._load("sentence", {units.ids[row]: float(s) for row, s in zip(rows, scores, strict=True)})

    def _load(self, granularity: Granularity, scores: Mapping[str, float]) -> list[EvidenceUnit]:
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        ids = [unit_id for unit_id, _ in ranked]
        if granularity == "paragraph":
            passages = {p.id: p for p in self.store.passages(ids)}
            return [EvidenceUnit(i, passages[i].text, self.device, s, passages[i].title) for i, s in ranked]
        sentences = {s.id: s for s in self.store.sentences(ids)}
        titles = {p.id: p.title for p in self.store.passages(sorted({s.passage_id for s in sentences.values()}))}
        return [EvidenceUnit(i, sentences[i].text, self.device, s, titles[sentences[i].passage_id]) for i, s in ranked]

    def _answer(self, question: Question, verdict: Verdict, path: AnswerPath, units: Sequence[EvidenceUnit]) -> Answer:
        return Answer(
            question_id=question.id,
            text=verdict.text,
            path=path if verdict.text else "abstained",
            score=verdict.score,
            explanation=verdict.explanation,
            sources=tuple(f"{unit.origin}/{unit.id}" for unit in units),
            cost=verdict.cost,
            evidence=tuple(units),
        )

    @staticmethod
    def _timed(verdict: Verdict, seconds: float) -> Verdict:
        # A replayed generation keeps the seconds that it took when it was measured.
        total = verdict.cost.seconds + seconds if verdict.cost.replayed else seconds
        return replace(verdict, cost=replace(verdict.cost, seconds=total))


def _owner_of(origin: str, reference: str) -> tuple[str, str]:
    """Owner and id of a hyperedge reference: composed items name each owner as ``owner/id``."""
    owner, slash, edge = reference.rpartition("/")
    return (owner, edge) if slash else (origin, reference)


def _distinct(matches: Iterable[Match]) -> list[Match]:
    return list({match.item.id: match for match in reversed(list(matches))}.values())[::-1]


def _merge(*groups: Sequence[EvidenceUnit]) -> list[EvidenceUnit]:
    seen: dict[tuple[str, str], EvidenceUnit] = {}
    for group in groups:
        for unit in group:
            seen.setdefault((unit.origin, unit.id), unit)
    return list(seen.values())
