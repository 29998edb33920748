"""What strategies share in which the server answers: over what owners gave, and home is told."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from fedrag_flwr.answering.server import answer_over
from fedrag_flwr.privacy.vectors import verified
from fedrag_flwr.records import Answer, AnswerBatch, Cost, ImportReport, failed
from fedrag_flwr.records.isolate import isolated
from strategies.help import Help, HelpingRag
from strategies.transport import Request

_MOST_READ = 16  # units whose scores are looked at: more than the words that are read


class ServingRag(HelpingRag):
    """The server answers with its own models, and sends each home its answers."""

    @property
    def reads_questions(self) -> bool:
        """The server writes the answers."""
        return True

    def answer_here(self, help_given: Mapping[str, Help]) -> None:
        """Answer the open questions for which owners gave something."""
        batches: dict[int, list[Answer]] = defaultdict(list)
        for question_id in list(self.open):
            given = help_given.get(question_id)
            if given is None or not given.units:
                continue
            answer = isolated(question_id, partial(self._answered_here, question_id, given))
            self.answers[question_id] = answer
            del self.open[question_id]
            if not failed(answer) and (home := self.node_of(self.questions[question_id].home)) is not None:
                batches[home].append(answer)
        outgoing = [
            Request(node_id, AnswerBatch(self._transport.name(node_id), tuple(answers), (), 0.0))
            for node_id, answers in batches.items()
        ]
        self._transport.exchange(outgoing, "query.deliver", ImportReport)

    def _answered_here(self, question_id: str, given: Help) -> Answer:
        tools, start = self.tools.models, time.perf_counter()
        vector = self.open[question_id].vector
        units = verified(given.units, vector, tools.encoder, _MOST_READ)
        scoring = Cost(seconds=time.perf_counter() - start)
        answer = answer_over(self.questions[question_id], units, self.settings, tools, "server")
        return replace(answer, cost=answer.cost + scoring)
