"""The server relays what it cannot read: sealed requests to owners and their evidence, and sealed summaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fedrag_flwr.records import (
    DeviceCard,
    EvidenceBatch,
    ImportReport,
    PeerKey,
    SealedMessage,
    SealedMessages,
    SealedOverview,
    SealedSummaries,
    SealRequest,
)
from fedrag_flwr.wire import LIMITS, most_bytes
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
    named. An owner may give so many units for one question. Gives the evidence, and the seconds that the slowest owner
    took for each question.
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
                transport.miss(node, "it sent a sealed message that was not asked for, or in another's name")
                continue
            expected.discard(message.question_id)
            if len(message.sealed) > most:
                transport.miss(node, "it sent a sealed message that is larger than the evidence may be")
                continue
            found.append((node, message))
            seconds[message.question_id] = max(seconds[message.question_id], worked / len(asked[node]))
    return found, seconds


def fitting_messages(transport: Transport, sent: Sequence[Sent]) -> list[SealedMessage]:
    """As many sealed messages as go into one request: the largest stay out, and who sent them is named."""
    reason = "it sent more in sealed messages than goes into one message with the others'"
    return [message for _, message in transport.fit(sent, lambda one: _size(one[1]), _ROOM, lambda one: one[0], reason)]


def _size(message: SealedMessage) -> int:
    return len(message.sealed) + len(message.question_id.encode()) + len(message.device.encode()) + _EACH


# --- summaries that only the devices can read ------------------------------------------------------

_SUMMARIES_ROOM = LIMITS[SealedOverview] * 3 // 4  # for sealed messages and their keys; the rest is for the members
_MOST_KEY = 256  # bytes of the sealed message in which a key and a tag stand
_SUMMARIES_EACH = 512  # bytes of a device's summaries beside their sealed message


def relay_summaries(transport: Transport, cards: Mapping[int, DeviceCard], most: int) -> int:
    """Let devices seal their summaries for each other, and hand each what is for it; who is left out is named.

    Those of one device may take `most` bytes. Gives the most summaries that a device holds now.
    """
    members = tuple(PeerKey(card.name, card.key) for card in cards.values())
    asked = [Request(node_id, SealRequest(members)) for node_id in cards]
    given: list[SealedSummaries] = []
    for node_id, sealed in transport.exchange(asked, "query.seal_summaries", SealedSummaries).items():
        if len(sealed.sealed) > most or any(len(key.sealed) > _MOST_KEY for key in sealed.keys):
            transport.miss(node_id, "it sealed more than a device's summaries take")
        else:
            given.append(sealed)
    nodes = {card.name: node_id for node_id, card in cards.items()}
    outgoing, reason = [], "its summaries do not go into one message with the others'"
    for node_id, card in cards.items():
        parts = _for(card.name, given)
        kept = transport.fit(parts, _summaries_size, _SUMMARIES_ROOM, lambda part: nodes[part.device], reason)
        outgoing.append(Request(node_id, SealedOverview(members, tuple(kept))))
    held = 0
    for node_id, report in transport.exchange(outgoing, "query.sealed_overview", ImportReport).items():
        held = max(held, report.accepted)
        for name in nodes.keys() & set(report.refused):
            transport.miss(nodes[name], f"{transport.name(node_id)} refused its summaries")
    return held


def _for(reader: str, given: list[SealedSummaries]) -> tuple[SealedSummaries, ...]:
    """What was sealed for one reader, with its keys alone."""
    keys = {sealed.device: tuple(key for key in sealed.keys if key.device == reader) for sealed in given}
    return tuple(replace(sealed, keys=keys[sealed.device]) for sealed in given if keys[sealed.device])


def _summaries_size(sealed: SealedSummaries) -> int:
    return len(sealed.sealed) + len(sealed.keys) * (_MOST_KEY + _SUMMARIES_EACH) + _SUMMARIES_EACH
