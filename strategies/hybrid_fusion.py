"""HyFedRAG: every device says what its sources hold on a question, de-identified; the server fuses what they say."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid

from fedrag_flwr.caching.fusion import FusionCaches
from fedrag_flwr.caching.report import Reporter
from fedrag_flwr.records import (
    Answer,
    AskedQuestion,
    Cost,
    EvidenceUnit,
    HitsBatch,
    HitsRequest,
    Question,
    because,
    declined,
)
from fedrag_flwr.records.isolate import isolated
from strategies.base import FederatedRag
from strategies.transport import Request

_AT_ONCE = 128  # questions of one round
_PREFETCHED = "prefetch"


@dataclass(slots=True)
class Told:
    """What devices told on one question, who did, the slowest's seconds, and the titles of what belongs to it."""

    units: list[EvidenceUnit] = field(default_factory=list)
    by: set[str] = field(default_factory=set)
    seconds: float = 0.0
    related: list[str] = field(default_factory=list)


class HybridFusion(FederatedRag):
    """All devices are asked, and the server answers from their summaries, through caches in three tiers.

    The question's text goes to all devices. Tier 1 lies at the devices. The server's tiers know the version of each
    device that they rest on: at the first contact of a run, and with each later reply, what rests on another version
    is deleted.
    """

    name = "hybrid-fusion"

    @property
    def reads_questions(self) -> bool:
        """All devices read it."""
        return True

    @cached_property
    def caches(self) -> FusionCaches:
        """The server's two tiers."""
        return self.tools.fusion_caches

    @cached_property
    def reporter(self) -> Reporter:
        """What writes answers and reports."""
        return Reporter.of(self.settings, self.tools.models, self.settings.hybrid.report)

    # --- contact ----------------------------------------------------------------------------------------

    def share(self) -> None:
        """Ask each device which version its sources are of, and forget what rests on another."""
        self.versions: dict[str, str] = {}
        self._told: dict[str, Told] = defaultdict(Told)
        self.counts |= dict.fromkeys(("cache-answers", "cache-inputs", "cache-summaries", "purged", "prefetched"), 0)
        self._take(self._ask_all(HitsRequest(()), self.there))
        taking_part = {self.transport.name(node_id) for node_id in self.builds}
        self.versions = {name: version for name, version in self.versions.items() if name in taking_part}

    def _ask_all(self, request: HitsRequest, nodes: Iterable[int]) -> dict[int, HitsBatch]:
        outgoing = [Request(node_id, request) for node_id in nodes]
        return self.transport.exchange(outgoing, "query.hits", HitsBatch)

    def _take(self, batches: Mapping[int, HitsBatch], asked: Iterable[str] = ()) -> None:
        """Take what devices told on questions; what is in another's name or beyond what was asked for is dropped."""
        questions, most, most_related = set(asked), self.settings.hybrid.records, self.settings.caching.prefetch
        for node_id, batch in sorted(batches.items()):
            name = self.transport.name(node_id)
            self.versions[name] = batch.version
            self.counts["cache-summaries"] += batch.reused
            waiting = set(questions)  # each is heard once
            worked = self.transport.worked(batch.seconds)
            for summary in batch.summaries:
                honest = all(unit.origin == name for unit in summary.units)
                fitting = len(summary.units) <= most and len(summary.related) <= most_related
                if summary.question_id not in waiting or not (honest and fitting):
                    self.transport.miss(node_id, "it told of hits that were not asked for, or in another's name")
                    continue
                waiting.remove(summary.question_id)
                told = self._told[summary.question_id]
                told.units += summary.units
                told.by.add(name)
                told.related += summary.related
                told.seconds = max(told.seconds, worked / max(1, len(batch.summaries)))
        self.counts["purged"] += self.caches.purge(self.versions)

    # --- questions --------------------------------------------------------------------------------------

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask in parts, so that what devices tell fits into one message of each."""
        for start in range(0, max(1, len(questions)), _AT_ONCE):
            super().ask(questions[start : start + _AT_ONCE])

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every device the questions that no cache answers, all in one message."""
        self._told.clear()
        for question in self.asking:
            start = time.perf_counter()
            if (cached := self.caches.answer(question.text, self.versions)) is not None:
                self.counts["cache-answers"] += 1
                cost = Cost(seconds=time.perf_counter() - start)
                again = replace(cached, question_id=question.id, path="cache", cost=cost)
                self.answers[question.id] = again.after(because("cache", "as the same question was answered"))
        self._asked = [question for question in self._open() if self._needs_devices(question)]
        request = self._request(self._asked)
        nodes = self.builds if request.questions else ()
        return self.transport.messages([Request(node_id, request) for node_id in nodes], "query.hits")

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Take what devices told."""
        asked = [question.id for question in self.asking]
        self._take(self.transport.open(replies, HitsBatch), asked)
        return MetricRecord({"answers": len(self.answers)})

    def resolve(self) -> None:
        """Answer what is open, send each home its answers, and prepare what may be asked next.

        Where a reply voided the input that a question was to be answered from, devices are asked it after all; last,
        as what they tell may be of another version again.
        """
        told = dict(self._told)
        self._answer(self._asked, told)
        self._answer([question for question in self._open() if not self._needs_devices(question)], told)
        told |= self._gather(self._open())
        self._answer(self._open(), told)
        self.deliver(_with_report(self.answers[question.id]) for question in self.asking)
        if self.settings.caching.prefetch:
            self._prefetch(list(told.values()))

    def _open(self) -> list[Question]:
        return [question for question in self.asking if question.id not in self.answers]

    def _answer(self, questions: Sequence[Question], told: Mapping[str, Told]) -> None:
        for question in questions:
            answered = partial(self._answered, question, told.get(question.id, Told()))
            self.answers[question.id] = isolated(question.id, answered)

    def _needs_devices(self, question: Question) -> bool:
        return self.caches.input(question.text, self.versions) is None

    def _request(self, questions: Sequence[Question]) -> HitsRequest:
        asked = tuple(AskedQuestion(question.id, question.text) for question in questions)
        return HitsRequest(asked, self.settings.hybrid.records, self.settings.caching.prefetch)

    def _input(self, question: Question, told: Told) -> tuple[tuple[EvidenceUnit, ...], bool]:
        """What the model reads for a question, from its tier or made of what devices told; and whether all told.

        What a device did not tell in time is not known to rest on it: that is not kept.
        """
        units = self.caches.input(question.text, self.versions)
        if units is not None:
            self.counts["cache-inputs"] += 1
            return units, True
        units, whole = self.reporter.input(question.text, told.units), told.by >= self.versions.keys()
        if units and whole:
            self.caches.keep_input(question.text, units, self.versions)
        return units, whole

    def _answered(self, question: Question, told: Told) -> Answer:
        """An answer from what devices told, which is kept if all of them did."""
        start = time.perf_counter()
        units, whole = self._input(question, told)
        spent = Cost(seconds=told.seconds + time.perf_counter() - start)
        if not units:
            return replace(declined(question.id, "no device holds anything on it"), cost=spent)
        answer = self.reporter.answer(question, units)
        if whole:
            self.caches.keep_answer(question.text, replace(answer, evidence=()), self.versions)
        return replace(answer, cost=answer.cost + spent)

    # --- what may be asked next -------------------------------------------------------------------------

    def _prefetch(self, told: Sequence[Told]) -> None:
        """Prepare inputs for records one hop from what was asked, and answers for those two hops away.

        A record is asked for by its title, as far as its device lets that leave. Nobody waits for it; what it costs is
        counted apart.
        """
        near = self._related(told, len(self.asking))
        first = self._gather(near)
        for question in near:
            isolated(question.id, partial(self._input, question, first[question.id]))
        far = self._related(list(first.values()), len(self.asking))
        second = self._gather(far)
        for question in far:
            isolated(question.id, partial(self._answered, question, second[question.id]))
        self.counts["prefetched"] += len(near) + len(far)

    def _related(self, told: Sequence[Told], asked: int) -> list[Question]:
        """Titles as questions that no tier knows yet, each once, at most so many for each question that was asked."""
        titles = dict.fromkeys(title for one in told for title in one.related)
        fresh = [title for title in titles if not self.caches.knows(title, self.versions)]
        most = min(self.settings.caching.prefetch * asked, _AT_ONCE)
        return [Question(f"{_PREFETCHED}-{number}", title, "") for number, title in enumerate(fresh[:most])]

    def _gather(self, questions: Sequence[Question]) -> dict[str, Told]:
        self._told.clear()
        if questions:
            self._take(self._ask_all(self._request(questions), self.builds), [question.id for question in questions])
        return {question.id: self._told.get(question.id, Told()) for question in questions}


def _with_report(answer: Answer) -> Answer:
    """An answer whose decisions hold its report, for the people at home."""
    return answer.decided(because("report", answer.report)) if answer.report else answer
