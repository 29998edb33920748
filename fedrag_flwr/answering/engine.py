"""One device's answers: recall, retrieve, read, judge, explain."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fedrag_flwr.answering.cells import PASSAGES, WHOLE_TABLE, RowAnswer, best_cell, cells_of
from fedrag_flwr.answering.explain import MASKED, fills_mask, says_mask
from fedrag_flwr.answering.extremes import asks_extreme, extreme_cells
from fedrag_flwr.answering.judge import (
    LEAST_CELL,
    MOST_SOURCES,
    Judge,
    Judged,
    judged_over,
    read_features,
    shipped_judge,
    told,
    weighed,
)
from fedrag_flwr.answering.lookup import looked_up
from fedrag_flwr.answering.passages import EvidenceStore, PassageOrder, ranked_together, whole
from fedrag_flwr.answering.persons import tells_of_persons
from fedrag_flwr.answering.quote import best_quote, is_open
from fedrag_flwr.answering.read import Draft, Reader
from fedrag_flwr.answering.recall import Recall, Recalled
from fedrag_flwr.answering.sentences import RankedText
from fedrag_flwr.errors import PromptError
from fedrag_flwr.memory.fusion.merge import references
from fedrag_flwr.models.base import Encoder, Heard
from fedrag_flwr.records import (
    Answer,
    Clock,
    Cost,
    EvidenceUnit,
    Match,
    OpenQuestion,
    Question,
    Vector,
    Want,
    because,
)
from fedrag_flwr.retrieval.base import Retriever, shortened
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.options import without_options
from fedrag_flwr.text.pipeline import Pipeline

_MOST_WANTS = 64
_MOST_LOOKS = 64  # each holds some 150 kB, the sentences of ten passages
Near = Callable[[Vector], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read, and from which confidence it counts."""

    passages: int  # home's first ones, which are read whole
    quotes: bool  # whether open questions are answered by a quote, without the model
    top_k: int  # memories whose owners are asked
    abstain_below: float  # confidence below which no answer is given
    ask_below: float  # confidence below which others are asked


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's text with what was computed from it once; the vector has shape (dimension,)."""

    text: str
    vector: Vector
    analysis: QuestionAnalysis


@dataclass(frozen=True, slots=True)
class Look:
    """What home found for a question that stays open: its ranked passages, and its own answer where it was asked."""

    asked: Asked
    ranked: Sequence[RankedText]
    home: Judged | None = None


class Looks:
    """The looks of open questions, of the last ones, each until it is taken."""

    def __init__(self, most: int = _MOST_LOOKS) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], Look] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, question: Question, look: Look) -> None:
        """Keep what was found until the question is finished."""
        with self._lock:
            self._kept[question.id, question.text] = look
            self._kept.move_to_end((question.id, question.text))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def see(self, question: Question) -> Look | None:
        """What is kept for a question; it stays."""
        return self._kept.get((question.id, question.text))

    def take(self, question: Question) -> Look | None:
        """What is kept for a question; it is forgotten."""
        with self._lock:
            return self._kept.pop((question.id, question.text), None)


@dataclass(frozen=True, slots=True)
class Engine:
    """Answers questions on one device; makes no difference between simulation and deployment."""

    recall: Recall  # the memories
    evidence_store: EvidenceStore  # the device's passages
    reader: Reader  # asks the model
    # encoder, pipeline: read the question.
    encoder: Encoder
    pipeline: Pipeline
    limits: Limits  # how much is read, and from which confidence it counts
    order: PassageOrder | None = None  # ranks passages; None: by the cosine of their vectors
    judge: Judge = field(default_factory=shipped_judge)  # gives answers their confidence
    clock: Clock = time.perf_counter  # seconds for timing
    # What was found for questions that stay open, so that whoever finishes them does not look again.
    looks: Looks = field(default_factory=Looks)

    # --- ways of answering ----------------------------------------------------------------------

    def closed_book(self, question: Question) -> Answer:
        """The model alone."""
        start = self.clock()
        asked = self.asked(question.text)
        draft = self.reader.recite(question.text)
        return self._plain(question, asked, draft, (), start, "the model alone")

    def plain(self, question: Question, retriever: Retriever | None = None) -> Answer:
        """The ranking's first passages, whole, in the model's own chat template under one instruction (the floor)."""
        start = self.clock()
        asked = self.asked(question.text)
        most, order = self.limits.passages, retriever or self.order
        if order is None:
            units = self.evidence_store.nearest("paragraph", asked.vector, most)
        else:
            found = order.rank(question.text, most)
            units = self.evidence_store.passages([one.passage_id for one in found], asked.vector)
        draft = self.reader.plain(question.text, units)
        return self._plain(question, asked, draft, units, start, f"the model over {len(units)} whole passages")

    def at_home(
        self, question: Question, *, memory: bool = True, reading: bool = True, heard: Heard | None = None
    ) -> Answer:
        """Memory where it knows, else the device's own passages; either can be left out, for comparison.

        `heard` is told what the model writes: all of it so far, each time that it grows. The answer may be none.
        """
        start = self.clock()
        asked = self.asked(question.text)
        if memory and (known := self.recall.known(asked.text, asked.vector, asked.analysis)) is not None:
            return self._recalled(question, known, self.clock() - start)
        if not reading:
            unknown = because("memory", "memory does not know")
            return Answer(question.id, "", "abstained", 0.0, cost=Cost(self.clock() - start), decisions=(unknown,))
        ranked = self.evidence_store.ranked(asked.text, asked.vector, self.order)
        return self._answer(question, asked, self._read(asked, ranked, heard), start)

    def ranked(self, question: str) -> list[RankedText]:
        """The passages that are looked at for a question, best first."""
        return self.evidence_store.ranked(question, self.asked(question).vector, self.order)

    def drafted(self, question: str) -> Judged:
        """What is read in home's passages, with its features, before anything is declined."""
        asked = self.asked(question)
        return self._read(asked, self.evidence_store.ranked(question, asked.vector, self.order))

    def ask(
        self, question: Question, near: Near | None = None, *, reading: bool = True, owners: bool = True
    ) -> Answer | OpenQuestion:
        """Memory where it knows, or home's passages where the answer is sure; else an open question.

        Parameters
        ----------
        question
            The question.
        near
            Gives the devices to ask for its vector; None for nobody.
        reading
            Whether home's own passages may close it.
        owners
            Whether to ask the owners of the nearest memories.
        """
        start = self.clock()
        asked = self.asked(question.text)
        if (known := self.recall.known(asked.text, asked.vector, asked.analysis)) is not None:
            return self._recalled(question, known, self.clock() - start)
        ranked = self.evidence_store.ranked(asked.text, asked.vector, self.order)
        wants = {want.owner: want for want in self._wants(question, asked)} if owners else {}
        for owner in near(asked.vector) if near is not None else ():
            wants.setdefault(owner, Want(question.id, owner, ()))
        home = self._read(asked, ranked) if reading or (not wants and near is None) else None
        if home is not None and (home.confidence >= self.limits.ask_below or (not wants and near is None)):
            return self._answer(question, asked, home, start)
        self.looks.keep(question, Look(asked, ranked, home))
        return OpenQuestion(question.id, asked.vector, tuple(wants.values())[:_MOST_WANTS], self.clock() - start)

    def sought(self, question: Question) -> tuple[Vector, tuple[Want, ...]]:
        """The vector by which others are asked, and whom memory names."""
        look = self.looks.see(question)
        asked = self.asked(question.text) if look is None else look.asked
        return asked.vector, self._wants(question, asked)

    def sure(self, answer: Answer) -> bool:
        """Whether nobody else needs to be asked: memory knows, or the answer is likely enough."""
        return answer.path == "memorizer" or (bool(answer.text) and answer.score >= self.limits.ask_below)

    def finish(self, question: Question, foreign: Sequence[EvidenceUnit]) -> Answer:
        """Answer an open question with what other devices gave; it changes home's own answer only for a surer one."""
        start = self.clock()
        look = self.looks.take(question)
        if look is None:
            asked = self.asked(question.text)
            look = Look(asked, self.evidence_store.ranked(asked.text, asked.vector, self.order))
        asked, ranked = look.asked, look.ranked
        home = look.home or self._read(asked, ranked)
        if not foreign:
            return self._answer(question, asked, home, start)
        together = ranked_together(
            *(asked.text, asked.vector, ranked, list(map(shortened, foreign))),
            *(self.order, self.encoder, self.pipeline),
        )
        if all(one.origin == self.evidence_store.device for one in together[: self.limits.passages]):
            return self._answer(question, asked, home, start).decided(because("help", "home's own passages come first"))
        try:
            helped = self._read(asked, together)
        except PromptError:  # what others gave may be more than the model can read: home's own passages are not
            answer = self._answer(question, asked, home, start)
            return answer.decided(because("help", "the model cannot read what others gave"))
        said = helped.draft.text
        masked = says_mask(asked.text, said) or fills_mask(asked.text, said, helped.units, self.evidence_store.device)
        best = helped if helped.confidence > home.confidence and not masked else home
        best = best.costing(home, helped)
        owners = sorted({unit.origin for unit in foreign})
        answer = self._answer(question, asked, best, start)
        if masked:
            return answer.decided(because("help", MASKED))
        return answer.decided(because("help", f"evidence of {', '.join(owners)}", helped.confidence, home.confidence))

    # --- steps ----------------------------------------------------------------------------------

    def asked(self, text: str) -> Asked:
        """A question's text with its vector and analysis."""
        [vector] = self.encoder.encode([text])
        return Asked(text, vector, self.pipeline.question(text))

    def _recalled(self, question: Question, known: Recalled, seconds: float) -> Answer:
        match, item = known.match, known.match.item
        confidence = self.judge.of_memory(known)
        said = f"memory of {item.origin}: score {match.score:.2f}, tells {known.relation:.0%} of what is asked"
        owned = (f"{owner}/{edge}" for owner, edge in references(item) if edge)
        return Answer(
            question_id=question.id,
            text=item.answer,
            path="memorizer",
            score=confidence,
            decisions=(because("memory", said, match.score, self.recall.least),),
            sources=(f"{item.origin}/{item.id}", *owned)[:MOST_SOURCES],
            cost=Cost(seconds=seconds),
            recalled=item.question,
        )

    def _read(self, asked: Asked, ranked: Sequence[RankedText], heard: Heard | None = None) -> Judged:
        """A quote where the question is open, or a table's cell; else what the model says over the first passages."""
        _, options = without_options(asked.text)
        if not options and not tells_of_persons(asked.text, asked.analysis, whole(ranked)):
            return Judged(Draft("", by="names"), whole(ranked[: self.limits.passages]), 0.0)
        if self.limits.quotes and not options and is_open(asked.text):
            return self._quoted(asked, ranked, heard)
        if not options and (cell := self._tabled(asked, ranked)) is not None:
            if heard is not None:
                heard(cell.draft.text)
            return cell
        units = whole(ranked[: self.limits.passages])
        return judged_over(
            *(asked.text, asked.analysis, units, self.reader, self.judge, heard),
            abstain_below=self.limits.abstain_below,
        )

    def _quoted(self, asked: Asked, ranked: Sequence[RankedText], heard: Heard | None) -> Judged:
        """What the documents say, in their own words."""
        found = best_quote(asked.text, ranked, self.reader.told(asked.text, whole(ranked)))
        if found is None:
            return Judged(Draft(""), (), 0.0)
        if heard is not None:
            heard(found.text)
        chance = math.log(max(found.chance, 1e-6))
        draft = Draft(found.text, logprob=chance, least=chance, by="quote")
        units = whole([ranked[found.passage]])
        extract = self.reader.extract(asked.text, units)
        return weighed(asked.text, asked.analysis, draft, units, self.judge, extract)

    def _tabled(self, asked: Asked, ranked: Sequence[RankedText]) -> Judged | None:
        """What a table answers: by rows that are compared or looked up, or by a cell; never yes or no."""
        if asked.analysis.answer_type == "YESNO":
            return None
        rows, first = self._rows(asked, ranked)
        return rows if first else self._cell(asked, ranked) or rows

    def _cell(self, asked: Asked, ranked: Sequence[RankedText]) -> Judged | None:
        """The cell of a table that is likely enough to answer."""
        cell = best_cell(asked.text, asked.vector, ranked, self.encoder)
        if cell is None:
            return None
        confidence = self.judge.of_cell(asked.analysis, cell)
        if confidence < LEAST_CELL:
            return None
        return Judged(Draft(cell.said, by="cell"), whole([ranked[cell.passage]]), confidence)

    def _rows(self, asked: Asked, ranked: Sequence[RankedText]) -> tuple[Judged | None, bool]:
        """What the rows of one of home's tables answer best, and whether that comes before a single cell's answer."""
        home, seen, found = self.evidence_store, set[str](), list[tuple[RowAnswer, list[EvidenceUnit]]]()
        for one in ranked[:PASSAGES]:
            if one.origin != home.device or one.id in seen or not cells_of(" ".join(one.sentences)):
                continue
            units = home.table(one.id)
            seen.update(unit.id for unit in units)
            if (answer := self._of_table(asked, [unit.text for unit in units], one.title)) is not None:
                found.append((answer, units))
        if not found:
            return None, False
        best, units = max(found, key=lambda pair: pair[0].cells[0].near)
        judged = Judged(Draft(best.said, by="cell"), [units[cell.passage] for cell in best.cells], WHOLE_TABLE)
        return judged, best.first

    def _of_table(self, asked: Asked, rows: Sequence[str], title: str) -> RowAnswer | None:
        if asks_extreme(asked.text):
            return extreme_cells(asked.text, asked.vector, asked.analysis, rows, self.encoder, title)
        return looked_up(asked.text, rows, title)

    def _answer(self, question: Question, asked: Asked, judged: Judged, start: float) -> Answer:
        """A judged draft as an answer, with the answer paths to home's passages."""
        answer = told(question, judged, self.evidence_store.device, self.limits.abstain_below, self.clock() - start)
        home = [unit.id for unit in answer.evidence if unit.origin == self.evidence_store.device]
        paths = self.order.paths(asked.text, list(dict.fromkeys(home))) if self.order and home else ()
        return replace(answer, paths=paths)

    def _plain(
        self,
        question: Question,
        asked: Asked,
        draft: Draft,
        units: Sequence[EvidenceUnit],
        start: float,
        said: str,
    ) -> Answer:
        """What the model said, kept as it is; its confidence only stands beside it."""
        seconds = self.clock() - start
        features = read_features(asked.text, asked.analysis, draft, units, self.reader.extract(asked.text, units))
        return Answer(
            question_id=question.id,
            text=draft.text,
            path="cognizer" if draft.text else "abstained",
            score=self.judge.of_draft(features) if draft.text else 0.0,
            decisions=(because("model", said if draft.text else f"{said} does not know"),),
            sources=tuple(f"{unit.origin}/{unit.id}" for unit in units),
            cost=draft.timed(seconds),
            evidence=tuple(units),
        )

    def _wants(self, question: Question, asked: Asked) -> tuple[Want, ...]:
        """The other devices whose memories come near, each with its hyperedges."""
        edges: dict[str, list[str]] = {}
        for match in self._near(asked):
            for owner, edge in references(match.item):
                if owner != self.evidence_store.device:
                    edges.setdefault(owner, []).extend([edge] if edge else [])
        named = [Want(question.id, owner, tuple(dict.fromkeys(ids))[:64]) for owner, ids in sorted(edges.items())]
        return tuple(named[:_MOST_WANTS])

    def _near(self, asked: Asked) -> list[Match]:
        return self.recall.top(asked.vector, asked.analysis, self.limits.top_k)
