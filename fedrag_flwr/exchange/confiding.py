"""A home's part in confiding questions to an enclave: it seals them, and opens the answers."""

from __future__ import annotations

import time
from collections.abc import Iterable

from fedrag_flwr import wire
from fedrag_flwr.errors import CipherError, WireError
from fedrag_flwr.exchange.boxes import context_of
from fedrag_flwr.privacy.sealing import BoxKey, seal
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    ConfidedQuestion,
    ConfideRequest,
    Question,
    SealedMessage,
    SealedMessages,
)


def confide(
    device: str, key: BoxKey, request: ConfideRequest, questions: Iterable[Question], run: str
) -> SealedMessages:
    """Seal questions of this home for the enclave, with the key for which it is to seal the answers.

    Raises
    ------
    WireError
        A question is asked at another home.
    """
    if any(question.home != device for question in request.questions):
        raise WireError("a question of another home", where="ConfideRequest")
    start, boxes = time.perf_counter(), []
    for question in questions:
        data = wire.pack(ConfidedQuestion(question, key.public), run=run)
        box = seal(data, request.enclave, context_of("question", run, question.id, device))
        boxes.append(SealedMessage(question.id, device, box))
    return SealedMessages(device, tuple(boxes), time.perf_counter() - start)


def open_answers(device: str, key: BoxKey, messages: Iterable[SealedMessage], run: str) -> list[Answer]:
    """The answers that the enclave sealed for this home.

    Raises
    ------
    CipherError
        A box is another's.
    WireError
        A box holds something else than the answer to its question.
    """
    answers: list[Answer] = []
    for message in messages:
        data = key.open(message.box, context_of("answer", run, message.question_id, device))
        batch = wire.unpack(data, AnswerBatch, run=run)
        if [one.question_id for one in batch.answers] != [message.question_id] or batch.device != device:
            raise CipherError("an answer to another question", where="AnswerBatch")
        answers += batch.answers
    return answers
