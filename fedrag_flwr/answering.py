"""How a device answers a question in each mode, and finishes one that others helped with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fedrag_flwr.controlling import DeviceController
from fedrag_flwr.engines import Engines
from fedrag_flwr.errors import FedragError
from fedrag_flwr.graphing import DeviceGraph
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Answer, AnswerMode, EvidenceUnit, Exchange, OpenQuestion, Question
from fedrag_flwr.walking import DeviceWalks

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeviceAnswers:
    """The ways in which a device answers.

    Parameters
    ----------
    engines, graph, walks, controller
        Its memory with evidence, its knowledge graph, its part in walks, and what orders passages.
    encoder
        Of questions.
    exchange
        Who may see a question on its way.
    """

    engines: Engines
    graph: DeviceGraph
    walks: DeviceWalks
    controller: DeviceController
    encoder: Encoder
    exchange: Exchange

    def ask(self, question: Question, mode: AnswerMode) -> Answer | OpenQuestion:
        """Answer one question at home, with its evidence."""
        if mode in ("graph", "gated"):
            return self.graph.ask(question, gated=mode == "gated")
        if mode == "walk":
            return self.walks.ask(question)
        if mode == "routed":
            return OpenQuestion(question.id, self.encoder.encode([question.text])[0], ())
        engine = self.engines.over("own" if mode == "own-memory" else "all")
        if mode == "closed-book":
            return engine.closed_book(question)
        if mode == "passages":
            return engine.from_passages(question)
        if mode == "controlled":
            return engine.from_passages(question, self.controller.retriever())
        if mode == "assisted":
            return engine.assisted(question, self.graph.near if self.exchange == "plain" else None)
        return engine.from_memory(question)

    def ask_at_home(self, question: Question) -> tuple[Answer, bool]:
        """Answer from memory, and with home's own evidence where memory is not enough; and whether home is sure."""
        engine = self.engines.over("all")
        outcome = engine.assisted(question, None)
        if isinstance(outcome, OpenQuestion):
            return engine.finish(question, ()), False
        return outcome, True

    def finish(self, question: Question, given: Sequence[EvidenceUnit], mode: AnswerMode) -> Answer | OpenQuestion:
        """Answer an open question with what other devices gave."""
        if mode == "gated":
            return self.graph.finish(question, given)
        if mode == "walk":
            return self.walks.finish(question, given)
        return self.engines.over("all").finish(question, given)

    def isolated(self, question: Question, act: Callable[[Question], Answer | OpenQuestion]) -> Answer | OpenQuestion:
        """Answer one question; what goes wrong with it costs no other question its answer."""
        try:
            return act(question)
        except FedragError as error:
            _LOG.error("question %s: %s", question.id, error.abroad)
            return Answer(question.id, "", "abstained", 0.0, f"failed: {type(error).__name__}")
