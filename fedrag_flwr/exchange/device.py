"""What a device sends and takes sealed: private routing, summaries for members alone, and questions for an enclave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fedrag_flwr.exchange.enclave import open_answers, seal_for_enclave
from fedrag_flwr.exchange.routing import FILE as NUMBERS
from fedrag_flwr.exchange.routing import PrivateRouting, SummaryNumbers
from fedrag_flwr.exchange.sealed import open_evidence
from fedrag_flwr.exchange.summaries import PrivateSummaries
from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox
from fedrag_flwr.privacy.ckks.scores import QuestionCipher
from fedrag_flwr.privacy.seals import SealingKey
from fedrag_flwr.records import Answer, EnclaveRequest, Evidence, Question, SealedMessage, SealedMessages

if TYPE_CHECKING:
    from fedrag_flwr.device import EdgeDevice


@dataclass(frozen=True, slots=True)
class SealedExchange:
    """A device's keys and what they are for."""

    device: str  # the device's name
    key: SealingKey  # for which others seal
    # routing, summaries: its parts in private routing, and in summaries for members alone.
    routing: PrivateRouting
    summaries: PrivateSummaries
    # Puts texts, as they may leave, to questions that come without.
    release: Callable[[Sequence[Question]], Sequence[Question]]
    most: int  # units of evidence that an owner may give for one question

    @classmethod
    def of(cls, device: EdgeDevice) -> Self:
        """The exchange of a device, with CKKS keys that are made when they are first needed."""
        name, key, encoder, settings = device.name, device.key, device.models.encoder, device.settings
        graph, waiting, most = device.graph, device.waiting, settings.inference.remote_units
        cipher = QuestionCipher(device.kept, encoder.dimension, shared_sandbox())
        own = (name, key, cipher, encoder, device.export)
        routing = PrivateRouting(*own, graph.known_summaries, waiting.admitted, device.answers.seeker, settings)
        numbers = SummaryNumbers(device.kept / NUMBERS)
        shown = (device.giving.overview, graph.keep_overview)
        summaries = PrivateSummaries(name, key, numbers, encoder, *shown, settings.routing)
        return cls(name, key, routing, summaries, waiting.released, most)

    def close(self) -> None:
        """Close its files, where any were opened."""
        self.summaries.close()

    def evidence(self, messages: Sequence[SealedMessage], run: str) -> list[Evidence]:
        """What owners sealed for this device."""
        return list(open_evidence(self.key, messages, self.most, run))

    def seal_for_enclave(self, request: EnclaveRequest, run: str) -> SealedMessages:
        """Seal own questions for an enclave, as they may leave: nothing here proves whose key it is."""
        return seal_for_enclave(self.device, self.key, request, self.release(request.questions), run)

    def answers(self, sealed: SealedMessages, run: str) -> list[Answer]:
        """What an enclave sealed for this device."""
        return open_answers(self.device, self.key, sealed.messages, run)
