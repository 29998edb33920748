"""What strategies share in which devices help each other: evidence of owners, and answers here or at home."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from fedrag_flwr.answering.server import answer_over
from fedrag_flwr.privacy.vectors import verified
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    Cost,
    Evidence,
    EvidenceBatch,
    EvidenceRequest,
    EvidenceUnit,
    FinishRequest,
    Question,
    RetrieveBy,
    RetrieveRequest,
    failed,
)
from fedrag_flwr.records.isolate import isolated
from fedrag_flwr.wire import LIMITS
from strategies.base import FederatedRag
from strategies.transport import Request

_ROOM = LIMITS[FinishRequest] * 3 // 4  # for evidence; the rest is for the questions
_EACH = 512  # bytes of a unit beside its text
_LEAST = _ROOM // 10_000 + 1  # bytes that evidence is counted for: a request holds no more than so many pieces


@dataclass(slots=True)
class Help:
    """What owners gave for one question, and the seconds that it took the slowest: they work at the same time."""

    evidence: list[Evidence] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def units(self) -> list[EvidenceUnit]:
        """The evidence of all owners."""
        return [unit for part in self.evidence for unit in part.units]


Requests = Mapping[int, Mapping[str, EvidenceRequest]]  # by node and question


class HelpingRag(FederatedRag):
    """Devices ask owners for evidence: one message to an owner for all questions of a round."""

    def ask_owners(self, requests: Requests, by: RetrieveBy) -> dict[str, Help]:
        """Gather evidence by question; what was not asked for, or is in another's name, is dropped and named."""
        help_given: dict[str, Help] = defaultdict(Help)
        budget = self.settings.inference.remote_units
        outgoing = [Request(node_id, RetrieveRequest(tuple(asked.values()), by)) for node_id, asked in requests.items()]
        batches = self.transport.exchange(outgoing, "query.retrieve", EvidenceBatch)
        for node_id, batch in batches.items():
            owner_name, asked = self.transport.name(node_id), dict(requests[node_id])
            for part in batch.evidence:
                honest = all(unit.origin == owner_name for unit in part.units)
                if asked.pop(part.question_id, None) is not None and honest and len(part.units) <= budget:
                    given = help_given[part.question_id]
                    given.evidence.append(part)
                    given.seconds = max(given.seconds, self.transport.worked(batch.seconds) / len(requests[node_id]))
                else:
                    self.transport.miss(node_id, "it sent evidence that was not asked for, or in another's name")
        return help_given

    def requests(self, wanted: Iterable[tuple[str, int | None, tuple[str, ...]]]) -> Requests:
        """Ask for evidence on open questions, each at a node and of these hyperedges, or of any.

        A device whose encoder gives vectors of another length is not asked.
        """
        requests: dict[int, dict[str, EvidenceRequest]] = defaultdict(dict)
        for question_id, node_id, hyperedges in wanted:
            vector = self.open[question_id].vector
            if node_id is not None and vector.shape == (self.cards[node_id].dimension,):
                asked = EvidenceRequest(question_id, vector, hyperedges, self.settings.inference.remote_units)
                requests[node_id][question_id] = asked
        return requests

    def waiting(self) -> dict[int, list[Question]]:
        """The open questions, by the node of their home."""
        waiting: dict[int, list[Question]] = defaultdict(list)
        for question_id in self.open:
            question = self.questions[question_id]
            if (home := self.node_of(question.home)) is not None:
                waiting[home].append(question)
        return waiting

    def finish_at_home(self, help_given: Mapping[str, Help]) -> None:
        """Let each home answer its open questions with what it was given."""
        waiting = self.waiting()
        outgoing = []
        for node_id, asked in waiting.items():
            given = [part for one in asked if one.id in help_given for part in help_given[one.id].evidence]
            outgoing.append(Request(node_id, FinishRequest(tuple(asked), self._fitting(given), self.mode)))
        for node_id, batch in self.transport.exchange(outgoing, "query.finish", AnswerBatch).items():
            self.take(node_id, batch)

    def _fitting(self, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """As much evidence as goes into one request: the longest stays out, and who gave it is named."""
        reason = "it sent more evidence than goes into one message with the others'"
        return tuple(self.transport.fit(evidence, _size, _ROOM, self._giver, reason))

    def _giver(self, evidence: Evidence) -> int | None:
        return self.node_of(evidence.units[0].origin) if evidence.units else None


_MOST_READ = 16  # units whose scores are looked at: more than the words that are read


class ServingRag(HelpingRag):
    """The server answers with its own models, and sends each home its answers."""

    @property
    def reads_questions(self) -> bool:
        """The server writes the answers."""
        return True

    def answer_here(self, help_given: Mapping[str, Help]) -> None:
        """Answer the open questions for which owners gave something."""
        answers: list[Answer] = []
        for question_id in list(self.open):
            given = help_given.get(question_id)
            if given is None or not given.units:
                continue
            answer = isolated(question_id, partial(self._answered_here, question_id, given))
            self.answers[question_id] = answer
            del self.open[question_id]
            if not failed(answer):
                answers.append(answer)
        self.deliver(answers)

    def _answered_here(self, question_id: str, given: Help) -> Answer:
        tools, start = self.tools.models, time.perf_counter()
        vector = self.open[question_id].vector
        units = verified(given.units, vector, tools.encoder, _MOST_READ)
        scoring = Cost(seconds=time.perf_counter() - start)
        answer = answer_over(self.questions[question_id], units, self.settings, tools, "server")
        return replace(answer, cost=answer.cost + scoring)


def _size(evidence: Evidence) -> int:
    """About the bytes that evidence takes in a request."""
    return max(_LEAST, sum(len(one.text.encode()) + len(one.title.encode()) + _EACH for one in evidence.units))
