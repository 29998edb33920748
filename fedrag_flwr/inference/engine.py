"""One device's inference: which path a question takes, over which evidence, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fedrag_flwr.errors import PromptError
from fedrag_flwr.inference.cognizer import Cognizer, Shown, Verdict
from fedrag_flwr.inference.evidence import EvidenceOrder, EvidenceShelf, read_as
from fedrag_flwr.inference.leads import LEAST_REACH, Lead, Leads
from fedrag_flwr.inference.open_looks import Look, OpenLooks
from fedrag_flwr.inference.reader import Reading, read, shown_facts
from fedrag_flwr.inference.reading import Candidate
from fedrag_flwr.inference.support import shortened, within
from fedrag_flwr.inference.trust import judged
from fedrag_flwr.inference.voices import heard
from fedrag_flwr.memory.fusion.fusing import references
from fedrag_flwr.privacy.nearness import rescored
from fedrag_flwr.records import (
    Answer,
    AnswerPath,
    ChosenPath,
    Clock,
    Cost,
    Decision,
    EvidenceUnit,
    Match,
    OpenQuestion,
    Question,
    Vector,
    Want,
    because,
)
from fedrag_flwr.retrieval import Retriever

_MOST_SOURCES = _MOST_WANTS = 64
Near = Callable[[Vector], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Engine:
    """Answers questions on one device; makes no difference between simulation and deployment.

    Parameters
    ----------
    leads
        What memory says to a question: the fast path.
    shelf
        The device's own evidence.
    cognizer
        The slow path.
    order
        Which passages the slow path takes its evidence from; None: those of the sentences nearest to the question.
    ordered
        Of its first passages so many give their sentences.
    clock
        Seconds for timing.
    looks
        What was found for questions that stay open, so that whoever finishes them does not look again.
    named
        Whether a name out of home's documents may stand in a description's place where others are asked: not where a
        door masks any.
    """

    leads: Leads
    shelf: EvidenceShelf
    cognizer: Cognizer
    order: EvidenceOrder | None = None
    ordered: int = 10
    clock: Clock = time.perf_counter
    looks: OpenLooks = field(default_factory=OpenLooks)
    named: bool = False

    # --- the three modes ------------------------------------------------------------------------

    def closed_book(self, question: Question) -> Answer:
        """The model alone."""
        start = self.clock()
        verdict = self.cognizer.recite(question.text)
        verdict = verdict.timed(self.clock() - start)
        return self._answer(question, verdict, "cognizer", ())

    def from_passages(self, question: Question, retriever: Retriever | None = None) -> Answer:
        """Plain retrieval-augmented generation: the model reads the nearest passages, or a retriever's first."""
        start = self.clock()
        [asked] = self.leads.read([question.text])
        most = self.leads.limits.passages
        if retriever is None:
            units = self.shelf.nearest("paragraph", asked.vector, most)
        else:
            units = self.shelf.passages([one.passage_id for one in retriever.rank(question.text, most)], asked.vector)
        units = within(units, self.leads.limits.words)
        verdict = self.cognizer.answer(question.text, asked.analysis, units, always=True)
        verdict = verdict.timed(self.clock() - start)
        return self._answer(question, verdict, "cognizer", units)

    def from_memory(self, question: Question) -> Answer | OpenQuestion:
        """Memory if it is near enough; else evidence at home, or an open question that names whom to ask."""
        start = self.clock()
        lead = self.leads.lead(question.text)
        if lead.known is not None:
            return self._recalled(question, lead, lead.known, self.clock() - start)
        if wants := self._wants(question, lead.matches):
            self.looks.keep(question, Look(lead))
            return OpenQuestion(question.id, lead.abroad(named=self.named), wants, self.clock() - start)
        return self._reasoned(question, lead, (), start, self._read(lead, self._home(lead), ()))

    def assisted(
        self, question: Question, near: Near | None = None, *, reading: bool = True, owners: bool = False
    ) -> Answer | OpenQuestion:
        """Memory if it is near enough, or what home's evidence says beyond doubt; else an open question.

        Parameters
        ----------
        question
            The question.
        near
            Gives the devices to ask for its vector; None for nobody.
        reading
            Whether home's own evidence may close it without the model.
        owners
            Whether to ask the owners of the nearest memories' hyperedges, too.
        """
        start = self.clock()
        lead = self.leads.lead(question.text)
        if lead.known is not None:
            return self._recalled(question, lead, lead.known, self.clock() - start)
        home = self._home(lead) if reading else None
        if home is not None and (told := self._read(lead, home, ())).certain:
            answer = self._reasoned(question, lead, (), start, told)
            if answer.text:
                return answer
        self.looks.keep(question, Look(lead, home))
        wants = {want.owner: want for want in self._wants(question, lead.matches)} if owners else {}
        vector = lead.abroad(named=self.named)
        for owner in near(vector) if near is not None else ():
            wants.setdefault(owner, Want(question.id, owner, ()))
        named = tuple(wants.values())[:_MOST_WANTS]
        return OpenQuestion(question.id, vector, named, self.clock() - start)

    def sought(self, question: Question) -> tuple[Vector, tuple[Want, ...]]:
        """The vector by which others are asked, and whom memory names."""
        look = self.looks.see(question)
        lead = self.leads.lead(question.text) if look is None else look.lead
        return lead.abroad(named=self.named), self._wants(question, lead.matches)

    def at_home(self, question: Question) -> tuple[Answer, bool]:
        """Memory if it is near enough, else home's evidence; and whether that leaves no doubt."""
        start = self.clock()
        lead = self.leads.lead(question.text)
        if lead.known is not None:
            return self._recalled(question, lead, lead.known, self.clock() - start), True
        reading = self._read(lead, self._home(lead), ())
        answer = self._reasoned(question, lead, (), start, reading)
        return answer, reading.certain and bool(answer.text)

    def recall(self, question: Question) -> Answer | None:
        """What memory alone answers; None where it does not know."""
        start = self.clock()
        lead = self.leads.lead(question.text)
        return None if lead.known is None else self._recalled(question, lead, lead.known, self.clock() - start)

    def finish(self, question: Question, foreign: Sequence[EvidenceUnit]) -> Answer:
        """Answer an open question at home with whatever other devices gave; how near that is home measures itself."""
        start = self.clock()
        look = self.looks.take(question) or Look(self.leads.lead(question.text))
        lead, home = look.lead, self._home(look.lead) if look.home is None else look.home
        given = rescored(list(map(shortened, foreign)), lead.asked.vector, self.leads.encoder)
        try:
            return self._reasoned(question, lead, given, start, self._read(lead, home, given))
        except PromptError:  # what others gave may be more than the model can read: home's own evidence is not
            if not given:
                raise
        answer = self._reasoned(question, lead, (), start, self._read(lead, home, ()))
        return answer.decided(because("help", "the model cannot read what others gave"))

    # --- steps ----------------------------------------------------------------------------------

    def _recalled(self, question: Question, lead: Lead, known: Match, seconds: float) -> Answer:
        item = known.item
        said = (
            f"memory {known.score:.2f} >= {self.leads.memorizer.delta:.2f} "
            f"(similarity {known.similarity:.2f}, anchors {known.cover:.2f}), {item.kind} item of {item.origin}"
        )
        owned = (f"{owner}/{edge}" for owner, edge in references(item) if edge)
        return Answer(
            question_id=question.id,
            text=item.answer,
            path="memorizer",
            score=known.score,
            decisions=(because("memory", said, known.score, self.leads.memorizer.delta), *_hop(lead)),
            sources=(f"{item.origin}/{item.id}", *self._via(lead), *owned)[:_MOST_SOURCES],
            cost=Cost(seconds=seconds),
        )

    def _unknown(self, lead: Lead) -> tuple[Decision, ...]:
        """Why memory did not answer."""
        if not lead.matches:
            return ()
        best, delta = max(match.score for match in lead.matches), self.leads.memorizer.delta
        said = f"memory {best:.2f} < {delta:.2f}" if best < delta else f"memory {best:.2f}, but no answer to this"
        return (because("memory", said, best, delta),)

    def _home(self, lead: Lead) -> list[Candidate]:
        """Home's sentences among which evidence is chosen."""
        return self.shelf.gather(lead.asked.vector, lead.matches, self._first_passages(lead.asked.text))

    def _read(self, lead: Lead, home: Sequence[Candidate], foreign: Sequence[EvidenceUnit]) -> Reading:
        """What home's evidence and foreign units say without the model."""
        asked = lead.asked
        return read(asked.text, asked.analysis, [*home, *self._read_foreign(foreign)], self.cognizer.sure)

    def _reasoned(
        self,
        question: Question,
        lead: Lead,
        foreign: Sequence[EvidenceUnit],
        start: float,
        reading: Reading,
    ) -> Answer:
        asked = lead.asked
        name = lead.via.name if lead.via else ""
        first = self._shown(lead, self._chosen(reading, foreign, name))
        further = self._shown(lead, self._further(reading, foreign, name, first.units))
        verdict = self.cognizer.answer(
            asked.text,
            asked.analysis,
            first.units,
            first.memories,
            shown_facts(reading, first.units, first.memories),
            reading,
            further=further,
            wording=question.text,
        )
        units, memories = (further if verdict.again else first).both
        told = [*(unit for unit in units if unit.origin == self.shelf.device), *foreign]
        verdict = heard(verdict, self.shelf.device, told, memories, self.leads.memorizer.least_voices)
        verdict = judged(verdict, reading, self.cognizer.least_trust).timed(self.clock() - start)
        verdict = verdict.after(*self._unknown(lead), *_hop(lead), *_given(foreign))
        remote = any(unit.origin != self.shelf.device for unit in units)
        answer = self._answer(question, verdict, "remote" if remote else "cognizer", units)
        used = (f"{item.origin}/{item.id}" for item in memories)
        sources = (*self._via(lead), *used, *answer.sources)[:_MOST_SOURCES]
        return replace(answer, sources=sources, paths=self._paths(asked.text, units))

    def _first_passages(self, question: str) -> list[str] | None:
        """The passages that the order puts first; None without one."""
        if self.order is None:
            return None
        return [one.passage_id for one in self.order.rank(question, self.ordered)]

    def _paths(self, question: str, units: Sequence[EvidenceUnit]) -> tuple[ChosenPath, ...]:
        """Why the passages of home's units were chosen, in the order of the units."""
        if self.order is None:
            return ()
        home = [unit.id.rpartition(".")[0] for unit in units if unit.origin == self.shelf.device]
        return self.order.paths(question, list(dict.fromkeys(home)))

    def _read_foreign(self, units: Sequence[EvidenceUnit]) -> list[Candidate]:
        """Foreign units with their typed facts."""
        facts = self.leads.pipeline.facts([unit.text for unit in units]) if units else []
        return [Candidate(unit, told) for unit, told in zip(units, facts, strict=True)]

    def _chosen(self, reading: Reading, foreign: Sequence[EvidenceUnit], name: str) -> list[EvidenceUnit]:
        """What the model reads; with a first hop's `name` all sentences compete, as unlikely ones may say it."""
        worth = None if name else reading.units(self.shelf.most, self.shelf.fewest, self.shelf.device)
        units = self._likeliest(reading, worth, foreign, name)
        source = reading.told_by() if reading.known else None
        return units if source is None else self._with_source(units, source)

    def _with_source(self, units: list[EvidenceUnit], source: EvidenceUnit) -> list[EvidenceUnit]:
        """Units with that from which an answer was read: home's instead of another's that says the same."""
        source, said = shortened(source), read_as(source)
        twin = next((place for place, unit in enumerate(units) if read_as(unit) == said), None)
        if twin is None:
            return [*units, source]
        if source.origin != self.shelf.device or units[twin].origin == self.shelf.device:
            return units
        return [*units[:twin], source, *units[twin + 1 :]]

    def _further(
        self, reading: Reading, foreign: Sequence[EvidenceUnit], name: str, units: Sequence[EvidenceUnit]
    ) -> list[EvidenceUnit]:
        """What a model that writes freely reads where it finds no answer in `units`; empty where there is no more."""
        if not self.cognizer.free or not self.shelf.again:
            return []
        more = self._likeliest(reading, None, foreign, name, self.shelf.again)
        known = set(map(read_as, units))
        return [] if all(read_as(unit) in known for unit in more) else more

    def _likeliest(
        self,
        reading: Reading,
        worth: Sequence[EvidenceUnit] | None,
        foreign: Sequence[EvidenceUnit],
        name: str,
        most: int | None = None,
    ) -> list[EvidenceUnit]:
        """The likeliest of the sentences that are worth it, or of all; half of the room is for any foreign ones."""
        likely = reading.likelihood()
        odds = {(unit.origin, unit.id): score for unit, score in likely}
        own: list[EvidenceUnit] = []
        abroad: list[EvidenceUnit] = []
        for unit in [unit for unit, _ in likely] if worth is None else worth:
            (own if unit.origin == self.shelf.device else abroad).append(unit)
        if self.shelf.mixing == "half":
            abroad = list(foreign)
        return self.shelf.select(own, abroad, name, lambda unit: odds[unit.origin, unit.id], most)

    def _shown(self, lead: Lead, units: Sequence[EvidenceUnit]) -> Shown:
        return Shown(units, lead.notes(units, self.leads.limits.notes))

    def _wants(self, question: Question, matches: Sequence[Match]) -> tuple[Want, ...]:
        edges: dict[str, list[str]] = {}
        for match in matches:
            for owner, edge in references(match.item):
                if owner != self.shelf.device:
                    edges.setdefault(owner, []).extend([edge] if edge else [])
        named = [Want(question.id, owner, tuple(dict.fromkeys(ids))[:64]) for owner, ids in sorted(edges.items())]
        return tuple(named[:_MOST_WANTS])

    @staticmethod
    def _via(lead: Lead) -> tuple[str, ...]:
        """The source of the first hop."""
        return (f"{lead.via.source.origin}/{lead.via.source.id}",) if lead.via else ()

    def _answer(self, question: Question, verdict: Verdict, path: AnswerPath, units: Sequence[EvidenceUnit]) -> Answer:
        return Answer(
            question_id=question.id,
            text=verdict.text,
            path=path if verdict.text else "abstained",
            score=verdict.score,
            decisions=verdict.decisions,
            sources=tuple(f"{unit.origin}/{unit.id}" for unit in units),
            cost=verdict.cost,
            evidence=tuple(units),
        )


def _hop(lead: Lead) -> tuple[Decision, ...]:
    if not lead.via:
        return ()
    said = f'"{lead.via.name}" ({lead.via.reach:.2f}) for what the question describes'
    return (because("description", said, lead.via.reach, LEAST_REACH),)


def _given(foreign: Sequence[EvidenceUnit]) -> tuple[Decision, ...]:
    """Whose help came to home."""
    owners = sorted({unit.origin for unit in foreign})
    return (because("help", f"evidence of {', '.join(owners)}"),) if owners else ()
