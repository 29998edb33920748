"""C-FedRAG: every device retrieves, and hits are ranked and read where the server cannot look: in an enclave."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from logging import WARNING

from flwr.common import log
from flwr.serverapp import Grid

from fedrag_flwr.errors import FederationError, FedragError, SettingError
from fedrag_flwr.exchange.enclave import EnclaveProcess
from fedrag_flwr.records import (
    AnswerBatch,
    AnswerMode,
    EnclaveQuestion,
    EnclaveRequest,
    PeerKey,
    Question,
    SealedMessage,
    SealedMessages,
    failure,
)
from fedrag_flwr.wire import most_bytes
from strategies.base import EVERY_EXCHANGE, FederatedRag
from strategies.outcome import RunOutcome
from strategies.sealed_relay import fetch_sealed, fitting_messages
from strategies.transport import Request

_MOST_SEALED = most_bytes(EnclaveQuestion)
_MOST_REQUESTS = 10_000  # of the enclave at once, so that they and what owners reply go into one message each
_AT_ONCE = 32  # questions that the enclave answers within one deadline


class ConfidentialBroadcast(FederatedRag):
    """Homes seal questions for an enclave, which asks all devices and answers; the server relays sealed messages.

    The server sees who asks, who replies and how much; owners see vectors of questions, and not whose. What the enclave
    is here, and what its key proves, is told in `fedrag_flwr.exchange.enclave`.
    """

    name = "confidential-broadcast"
    mode: AnswerMode = "routed"
    exchanges = EVERY_EXCHANGE
    uses_enclave = True
    _enclave: EnclaveProcess | None = None

    def share(self) -> None:
        """Start the enclave, whose key all sealed messages of this run are sealed for; raises FederationError where it
        does not start, and SettingError where its generator is not one that an enclave may ask.
        """
        try:
            self._started_enclave()
        except SettingError:  # it says what to set
            raise
        except FedragError as error:
            raise FederationError("the enclave does not start", where=self.name, fix="see `fedrag doctor`") from error

    def run(self, grid: Grid, run: str) -> RunOutcome:
        """Run all phases, and end the enclave with them."""
        try:
            return super().run(grid, run)
        finally:
            self.close()

    def close(self) -> None:
        """End the enclave, and with it its key."""
        if self._enclave is not None:
            self._enclave.close()
            self._enclave = None

    def ask(self, questions: Sequence[Question]) -> None:
        """Let homes seal their questions, all devices retrieve, and the enclave answer."""
        self.questions.update({question.id: question for question in questions})
        self.asking, self.open = tuple(questions), {}
        at_once = max(1, min(_AT_ONCE, _MOST_REQUESTS // len(self.builds)))
        for start in range(0, len(questions), at_once):
            part = questions[start : start + at_once]
            self.answers |= {one.id: failure(one.id, "the enclave did not answer") for one in part}
            try:
                self._ask_through_enclave(self._started_enclave(), part)
            except FedragError as error:  # whatever stops the enclave costs these answers, not the run
                log(WARNING, "the enclave failed: %s", error)
                self.close()  # the next one has another key
            self._note_answers()

    def _ask_through_enclave(self, enclave: EnclaveProcess, questions: Sequence[Question]) -> None:
        transport = self.transport
        by_home = self._by_home(questions)
        outgoing = [Request(node_id, EnclaveRequest(tuple(own), enclave.public)) for node_id, own in by_home.items()]
        sealed_question = transport.exchange(outgoing, "query.enclave", SealedMessages)
        sent = [
            (node_id, message) for node_id, sealed in sealed_question.items() for message in self._own(node_id, sealed)
        ]
        sealed_messages = fitting_messages(transport, sent)
        if not sealed_messages:
            return
        peers = [PeerKey(self.cards[node_id].name, self.cards[node_id].key) for node_id in self.builds]
        asked: dict[int, list[SealedMessage]] = defaultdict(list)
        start = time.perf_counter()
        requests = enclave.ask(SealedMessages("server", tuple(sealed_messages)), peers).messages
        enclosed = time.perf_counter() - start
        for message in requests:
            if (owner := self.node_of(message.device)) is not None:
                asked[owner].append(message)
        given, seconds = fetch_sealed(transport, asked, self.settings.inference.remote_units)
        evidence = fitting_messages(transport, given)
        self.tally({"sealed-messages": len(evidence)})
        answers: dict[int, list[SealedMessage]] = defaultdict(list)
        start = time.perf_counter()
        answered = enclave.answer(SealedMessages("server", tuple(evidence))).messages
        enclosed += time.perf_counter() - start
        for message in answered:
            if (home := self.node_of(message.device)) is not None:
                answers[home].append(message)
        back = [Request(home, SealedMessages(transport.name(home), tuple(sealed))) for home, sealed in answers.items()]
        for node_id, batch in transport.exchange(back, "query.open_answers", AnswerBatch).items():
            self.take(node_id, batch)
        # what the enclave did for all of them together: opening sealed messages, vectors of questions, sealing
        told = sum(self.answers[question.id].cost.seconds for question in questions)
        shared = max(0.0, enclosed - told) / len(questions)
        for node_id, sealed in sealed_question.items():
            worked = transport.worked(sealed.seconds) / len(by_home[node_id]) + shared
            for question in by_home[node_id]:
                self.charge(question.id, worked + seconds.get(question.id, 0.0))

    def _started_enclave(self) -> EnclaveProcess:
        if self._enclave is None:
            self._enclave = EnclaveProcess(self.settings, self.transport.run)
        return self._enclave

    def _by_home(self, questions: Sequence[Question]) -> dict[int, list[Question]]:
        asked: dict[int, list[Question]] = defaultdict(list)
        for question in questions:
            if (home := self.node_of(question.home)) in self.builds and home is not None:
                asked[home].append(question)
        return asked

    def _own(self, node_id: int, sealed: SealedMessages) -> list[SealedMessage]:
        """One message of a question's size for each of a home's own; others are dropped and the home named."""
        name = self.transport.name(node_id)
        own: dict[str, SealedMessage] = {}
        for one in sealed.messages:
            if one.device == name and self._asked_at(one.question_id, name) and len(one.sealed) <= _MOST_SEALED:
                own.setdefault(one.question_id, one)
        if len(own) < len(sealed.messages):
            self.transport.miss(node_id, "it sealed questions that are not its own, too large, or more than once")
        return list(own.values())
