"""Questions of the people at a device that a federation may help with: they wait, are offered, and are closed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.errors import PrivacyError, StoreError
from fedrag_flwr.memory.store.outbox import DeliveredAnswers, Outbox
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.records import Answer, Question, WaitingBatch, WaitingRequest, declined
from fedrag_flwr.settings import Settings

_LOG = logging.getLogger(__name__)
MOST_AT_ONCE = 16  # questions that a device brings to a run at once
TRIES = 3  # runs of help after which a question is closed as declined
GIVEN_UP = "nobody in the federation could help"
OWN_ALONE = "this device answers in runs what its own people ask, and nothing else"


@dataclass(frozen=True, slots=True)
class Admission:
    """What a device makes of a run's questions before it answers any."""

    questions: tuple[Question, ...]  # those that it answers, with their texts
    own: frozenset[str]  # the ids of those that people here have asked; each may be withdrawn while it is answered
    refused: tuple[Answer, ...]  # what is told of those that the run words and this device does not answer


@dataclass(frozen=True, slots=True)
class DeviceWaiting:
    """A device's outbox, and what came of its questions."""

    device: str  # the device's name
    # outbox, delivered: the questions that wait, and answers to those that did.
    outbox: Outbox
    delivered: DeliveredAnswers
    export: ExportFilter  # through which texts of questions leave, where a strategy needs them
    settings: Settings  # of the run

    def let_wait(self, question: Question) -> bool:
        """Put a question into the outbox if this device has one; whether it waits now.

        What keeps it from waiting costs nobody the answer that home has.
        """
        if not self.settings.serving.outbox:
            return False
        try:
            self.outbox.put(question)
        except StoreError as error:
            _LOG.warning("a question cannot wait: %s", error.what)
            return False
        return True

    def offer(self, request: WaitingRequest) -> WaitingBatch:
        """Questions that a run may take up now: without their texts, or with them as they may leave.

        A device that shows its questions to nobody (`exchange` is download or encrypted) offers none to a strategy that
        reads them or has an enclave. A question that no run could close in `TRIES` tries is closed as declined; one
        whose text cannot be released has spent a try, and costs no other.
        """
        if not self.settings.serving.outbox or ((request.texts or request.enclave) and self._hides):
            return WaitingBatch(self.device, ())
        taken, given_up = self.outbox.offer(min(request.most, MOST_AT_ONCE), TRIES)
        self.delivered.put(declined(name, GIVEN_UP) for name in given_up)
        for name in given_up:
            self.outbox.withdraw(name)
        texts = [self._released(one.text) if request.texts else "" for one in taken]
        questions = [
            Question(one.id, text, self.device)
            for one, text in zip(taken, texts, strict=True)
            if text or not request.texts
        ]
        return WaitingBatch(self.device, tuple(questions))

    def released(self, questions: Sequence[Question]) -> list[Question]:
        """Questions with the texts of those that wait here as they may leave; one that may not is left out.

        Those that came with a text stand first: whoever asks has it. A device that shows its questions to nobody leaves
        out all that wait.
        """
        hidden = [question for question in questions if not question.text]
        recalled = [] if self._hides else self.outbox.recalled(hidden)
        waiting = [replace(question, text=self._released(question.text)) for question in recalled]
        return [question for question in (*questions, *waiting) if question.text]

    def admit(self, questions: Sequence[Question]) -> Admission:
        """Choose the questions of a run that this device answers."""
        admitted = self.admitted(questions)
        ids = frozenset(question.id for question in admitted)
        refused = tuple(declined(one.id, OWN_ALONE) for one in questions if one.text and one.id not in ids)
        if self._own_alone:
            return Admission(tuple(admitted), ids, refused)
        untold = frozenset(question.id for question in questions if not question.text)
        own = untold | self.outbox.among(question.id for question in questions)
        return Admission(tuple(admitted), own, refused)

    def admitted(self, questions: Sequence[Question]) -> list[Question]:
        """Of a run's questions those that this device answers, with the texts of those that wait here.

        Where it answers its own people alone, those are all, whatever text the run has put to them: one that comes
        with a text, since somebody else had to read it, is answered as it may leave; one without, as it was asked.
        """
        if not self._own_alone:
            return self.outbox.recalled(questions)
        told = {question.id for question in questions if question.text}
        recalled = self.outbox.recalled([replace(question, text="") for question in questions])
        known = [
            replace(question, text=self._released(question.text)) if question.id in told else question
            for question in recalled
        ]
        return [question for question in known if question.text]

    def receive(self, answers: Sequence[Answer]) -> frozenset[str]:
        """Keep answers that were made elsewhere for this device; the ids of those of which nothing leaves."""
        names = [answer.question_id for answer in answers]
        own = self.outbox.among(names)
        self.delivered.put(answer for answer in answers if answer.question_id not in own)
        self.keep(answers)
        return frozenset(names) if self._own_alone else own

    def keep(self, answers: Iterable[Answer]) -> None:
        """Keep answers to waiting questions, as home reads them; a question that stays without one waits on."""
        told = [answer for answer in answers if answer.text]
        waiting = self.outbox.among(answer.question_id for answer in told)
        closed = [answer for answer in told if answer.question_id in waiting]
        if closed:
            self.delivered.put(closed)
        for answer in closed:
            self.outbox.withdraw(answer.question_id)

    @property
    def _own_alone(self) -> bool:
        return self.settings.privacy.answers == "waiting"

    @property
    def _hides(self) -> bool:
        return self.settings.exchange in ("download", "encrypted")

    def _released(self, text: str) -> str:
        """A question's text as it may leave; empty where it may not."""
        try:
            return self.export.release_question(text)
        except PrivacyError as error:
            _LOG.warning("a waiting question stays here: %s", error.what)
            return ""
