"""Messages of which who relays them learns little: encrypted questions and scores, sealed messages, group keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fedrag_flwr.records.answers import Question
from fedrag_flwr.records.base import AnswerMode, Bound, Ciphertext, Key, Name, RetrieveBy, Sealed, Seconds, SumParts
from fedrag_flwr.records.messages import EvidenceRequest


@dataclass(frozen=True, slots=True)
class PeerKey:
    """A device and the key for which messages to it are sealed."""

    device: Name
    key: Key


@dataclass(frozen=True, slots=True)
class OwnedRows:
    """So many consecutive summaries of one owner."""

    owner: Name
    rows: Annotated[int, Bound(low=1, high=1_000_000)]


@dataclass(frozen=True, slots=True)
class RoundedOverview:
    """The vectors of all devices' summaries, a byte for each value; only their directions count."""

    dimension: Annotated[int, Bound(low=1, high=8_192)]
    owners: Annotated[tuple[OwnedRows, ...], Bound(items=100_000)]
    codes: Annotated[bytes, Bound(size=2**26)]  # int8, row after row


@dataclass(frozen=True, slots=True)
class SealRequest:
    """Asks a device for the vectors of its summaries, sealed for members of the federation."""

    members: Annotated[tuple[PeerKey, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class EncryptRequest:
    """Asks a home for its open questions' vectors under its own key; `known` is the fingerprint that is known here."""

    questions: Annotated[tuple[Question, ...], Bound(items=10_000)]
    server: Key
    known: Name
    by: RetrieveBy = "graph"  # what owners look for evidence with


@dataclass(frozen=True, slots=True)
class EncryptedQuestion:
    """A question's vector under its home's key, and a tag for the server."""

    question_id: Name
    ciphertext: Ciphertext
    tag: Key


@dataclass(frozen=True, slots=True)
class EncryptedQuestions:
    """A home's encrypted questions, and its rotation keys where the server does not know them yet."""

    device: Name
    fingerprint: Name
    public: Annotated[bytes, Bound(size=2**24)]
    questions: Annotated[tuple[EncryptedQuestion, ...], Bound(items=10_000)]
    seconds: Seconds = 0.0


@dataclass(frozen=True, slots=True)
class EncryptedScores:
    """The scores of all summaries for one question under its home's key, and a tag for the home."""

    question_id: Name
    chunks: Annotated[tuple[Ciphertext, ...], Bound(items=64)]
    tag: Key


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """Asks a home to choose owners for its open questions, by its overview, or by the scores that are here."""

    questions: Annotated[tuple[Question, ...], Bound(items=10_000)]
    peers: Annotated[tuple[PeerKey, ...], Bound(items=100_000)]
    server: Key
    owners: Annotated[tuple[OwnedRows, ...], Bound(items=100_000)] = ()
    scores: Annotated[tuple[EncryptedScores, ...], Bound(items=10_000)] = ()
    by: RetrieveBy = "graph"  # what owners look for evidence with


@dataclass(frozen=True, slots=True)
class SealedMessage:
    """What only its receiver can open, the question that it concerns, and the device at the other end."""

    question_id: Name
    device: Name
    sealed: Sealed


@dataclass(frozen=True, slots=True)
class SealedMessages:
    """Sealed messages on their way; `device` is the one that sends them, or that they are sent to."""

    device: Name
    messages: Annotated[tuple[SealedMessage, ...], Bound(items=100_000)]
    seconds: Seconds = 0.0


@dataclass(frozen=True, slots=True)
class SealedSummaries:
    """The vectors of a device's summaries, sealed with a key of their own, and that key, sealed for each reader."""

    device: Name
    number: Annotated[int, Bound(low=1, high=2**62)]  # rises with each sealing
    sealed: Annotated[bytes, Bound(size=2**26)]
    keys: Annotated[tuple[SealedMessage, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class SealedOverview:
    """What members sealed for one of them, and their keys."""

    members: Annotated[tuple[PeerKey, ...], Bound(items=100_000)]
    summaries: Annotated[tuple[SealedSummaries, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class SealedFinish:
    """Open questions with the evidence that other devices sealed for their home."""

    questions: Annotated[tuple[Question, ...], Bound(items=10_000)]
    messages: Annotated[tuple[SealedMessage, ...], Bound(items=100_000)]
    mode: AnswerMode = "memory"


@dataclass(frozen=True, slots=True)
class HiddenRequest:
    """What stands in a sealed message for an owner: the request, and the key for which the evidence is to be sealed."""

    reply: Key
    by: RetrieveBy
    request: EvidenceRequest


@dataclass(frozen=True, slots=True)
class EnclaveRequest:
    """Asks a home to seal its questions for an enclave."""

    questions: Annotated[tuple[Question, ...], Bound(items=10_000)]
    enclave: Key


@dataclass(frozen=True, slots=True)
class EnclaveQuestion:
    """What is sealed for an enclave: the question, and the key for which the answer is to be sealed."""

    question: Question
    reply: Key


@dataclass(frozen=True, slots=True)
class SumTerm:
    """What a device adds to a sum: its numbers under its group's key, and a tag for the server; empty if it has none.

    `parts` hold the numbers in order, 2,048 each.
    """

    parts: SumParts = ()
    tag: Key = b""


NO_TERM = SumTerm()


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Asks a device to make a group's key and seal it to peers, or to take the one that its only peer sealed."""

    peers: Annotated[tuple[PeerKey, ...], Bound(items=100_000)]
    sealed: Sealed = b""
