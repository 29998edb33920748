"""A home's part in confiding questions to an enclave: it seals them, and opens the answers."""

from __future__ import annotations

import time
from collections.abc import Iterable

from fedrag_flwr import wire
from fedrag_flwr.errors import CipherError, WireError
from fedrag_flwr.exchange.sealed import context_of
from fedrag_flwr.privacy.sealing import SealingKey, seal
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    EnclaveQuestion,
    EnclaveRequest,
    Question,
    SealedMessage,
    SealedMessages,
)


def seal_for_enclave(
    device: str, key: SealingKey, request: EnclaveRequest, questions: Iterable[Question], run: str
) -> SealedMessages:
    """Seal questions of this home for the enclave, with the key for which it is to seal the answers.

    Raises
    ------
    WireError
        A question is asked at another home.
    """
    if any(question.home != device for question in request.questions):
        raise WireError("a question of another home", where="ConfideRequest")
    start, sealed_messages = time.perf_counter(), []
    for question in questions:
        data = wire.pack(EnclaveQuestion(question, key.public), run=run)
        sealed = seal(data, request.enclave, context_of("question", run, question.id, device))
        sealed_messages.append(SealedMessage(question.id, device, sealed))
    return SealedMessages(device, tuple(sealed_messages), time.perf_counter() - start)


def open_answers(device: str, key: SealingKey, messages: Iterable[SealedMessage], run: str) -> list[Answer]:
    """The answers that the enclave sealed for this home.

    Raises
    ------
    CipherError
        A sealed message is another's.
    WireError
        A sealed message holds something else than the answer to its question.
    """
    answers: list[Answer] = []
    for message in messages:
        data = key.open(message.sealed, context_of("answer", run, message.question_id, device))
        batch = wire.unpack(data, AnswerBatch, run=run)
        if [one.question_id for one in batch.answers] != [message.question_id] or batch.device != device:
            raise CipherError("an answer to another question", where="AnswerBatch")
        answers += batch.answers
    return answers
