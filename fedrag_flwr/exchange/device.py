"""What a device does with its keys: private routing, encrypted training, and all that comes and goes in boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from fedrag_flwr.exchange.enclave import open_answers, seal_for_enclave
from fedrag_flwr.exchange.routing import FILE as NUMBERS
from fedrag_flwr.exchange.routing import Overview, PrivateRouting, Seeker, SummaryNumbers
from fedrag_flwr.exchange.sealed import Retrieve, give_sealed, open_evidence
from fedrag_flwr.exchange.summaries import Own, PrivateSummaries, Take
from fedrag_flwr.exchange.sums import GroupSums, PrivateTraining
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox
from fedrag_flwr.privacy.ckks.scores import QuestionCipher
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.seals import SealingKey
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    AnswerMode,
    EnclaveRequest,
    Evidence,
    Question,
    SealedFinish,
    SealedMessages,
)
from fedrag_flwr.settings import Settings

Recall = Callable[[Sequence[Question]], Sequence[Question]]
Finish = Callable[[Sequence[Question], Sequence[Evidence], AnswerMode], AnswerBatch]


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What the exchange asks of its device.

    Parameters
    ----------
    overview, own, take
        Summaries that it knows, its own, and how it keeps others'.
    recall, release
        Puts texts to questions that come without: as people asked them, or as they may leave.
    seeker
        Who finds the names that a question is about.
    retrieve, finish
        What it does with requests and evidence once they are in clear.
    """

    overview: Overview
    own: Own
    take: Take
    recall: Recall
    release: Recall
    seeker: Seeker
    retrieve: Retrieve
    finish: Finish


@dataclass(frozen=True, slots=True)
class SealedExchange:
    """A device's keys and what they are for.

    Parameters
    ----------
    device
        The device's name.
    key
        For which others seal.
    routing, summaries, sums, training
        Its parts in private routing, in summaries for members alone, in encrypted sums, and in training on them.
    callbacks
        What it asks of its device.
    most
        Units of evidence that an owner may give for one question.
    """

    device: str
    key: SealingKey
    routing: PrivateRouting
    summaries: PrivateSummaries
    sums: GroupSums
    training: PrivateTraining
    callbacks: Callbacks
    most: int

    @classmethod
    def of(
        cls,
        device: str,
        key: SealingKey,
        folder: Path,
        encoder: Encoder,
        export: ExportFilter,
        settings: Settings,
        calls: Callbacks,
    ) -> Self:
        """With CKKS keys kept in a folder, made when they are first needed."""
        sandbox = shared_sandbox()
        cipher = QuestionCipher(folder, encoder.dimension, sandbox)
        routing = PrivateRouting(
            device, key, cipher, encoder, export, calls.overview, calls.recall, calls.seeker, settings
        )
        numbers = SummaryNumbers(folder / NUMBERS)
        summaries = PrivateSummaries(device, key, numbers, encoder, calls.own, calls.take, settings.routing)
        sums = GroupSums(device, folder, key, export, sandbox)
        most = settings.inference.remote_units
        return cls(device, key, routing, summaries, sums, PrivateTraining(sums), calls, most)

    def close(self) -> None:
        """Close its files, where any were opened."""
        self.summaries.close()

    def give(self, asked: SealedMessages, run: str) -> SealedMessages:
        """Evidence for requests in sealed messages, sealed for those who asked."""
        return give_sealed(self.device, self.key, asked, self.callbacks.retrieve, run)

    def finish_with(self, given: SealedFinish, run: str) -> AnswerBatch:
        """Answer open questions with what other devices sealed for this one."""
        evidence = open_evidence(self.key, given.messages, self.most, run)
        return self.callbacks.finish(given.questions, evidence, given.mode)

    def seal_for_enclave(self, request: EnclaveRequest, run: str) -> SealedMessages:
        """Seal own questions for an enclave, as they may leave: nothing here proves whose key it is."""
        return seal_for_enclave(self.device, self.key, request, self.callbacks.release(request.questions), run)

    def answers(self, sealed: SealedMessages, run: str) -> list[Answer]:
        """What an enclave sealed for this device."""
        return open_answers(self.device, self.key, sealed.messages, run)
