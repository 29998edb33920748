"""The server as a post office: sealed requests to owners, and their sealed evidence back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fedrag_flwr.records import EvidenceBatch, SealedMessage, SealedMessages
from fedrag_flwr.wire import LIMITS, most_bytes
from strategies.help import fitting
from strategies.transport import Request, Transport

_ROOM = (
    LIMITS[SealedMessages] * 3 // 4
)  # for sealed messages; the rest is for what stands around them, and for questions
_EACH = 32  # bytes of a sealed message beside itself and its names

Sent = tuple[int, SealedMessage]  # a sealed message, and the node that it came from


def fetch_sealed(
    transport: Transport, asked: Mapping[int, Sequence[SealedMessage]], units: int
) -> tuple[list[Sent], dict[str, float]]:
    """Hand owners their sealed messages and take theirs.

    One that was not asked for, is in another's name, or is larger than the evidence may be, is dropped and its owner
    named.

    Parameters
    ----------
    transport
        Of the strategy.
    asked
        Requests by the owner's node, one for each question.
    units
        Units of evidence that an owner may give for a question.

    Returns
    -------
    tuple[list[SealedMessage], dict[str, float]]
        The evidence, and the seconds that the slowest owner took for each question.
    """
    outgoing = [
        Request(node, SealedMessages(transport.name(node), tuple(sealed_messages)))
        for node, sealed_messages in asked.items()
    ]
    most = most_bytes(EvidenceBatch, evidence=1, units=units)
    found: list[Sent] = []
    seconds: dict[str, float] = defaultdict(float)
    for node, batch in transport.exchange(outgoing, "query.retrieve_sealed", SealedMessages).items():
        expected, worked = {message.question_id for message in asked[node]}, transport.worked(batch.seconds)
        for message in batch.messages:
            if message.device != transport.name(node) or message.question_id not in expected:
                transport.miss(node, "it sent a box that was not asked for, or in another's name")
                continue
            expected.discard(message.question_id)
            if len(message.sealed) > most:
                transport.miss(node, "it sent a box that is larger than the evidence may be")
                continue
            found.append((node, message))
            seconds[message.question_id] = max(seconds[message.question_id], worked / len(asked[node]))
    return found, seconds


def fitting_messages(transport: Transport, sent: Sequence[Sent]) -> list[SealedMessage]:
    """As many sealed messages as go into one request: the largest stay out, and who sent them is named."""
    kept, out = fitting([_size(message) for _, message in sent], _ROOM)
    for place in out:
        transport.miss(sent[place][0], "it sent more in boxes than goes into a letter with the others'")
    return [sent[place][1] for place in kept]


def _size(message: SealedMessage) -> int:
    return len(message.sealed) + len(message.question_id.encode()) + len(message.device.encode()) + _EACH
