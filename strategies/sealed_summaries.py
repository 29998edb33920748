"""The server as a post office for summaries that only the devices can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fedrag_flwr.records import DeviceCard, ImportReport, PeerKey, SealedOverview, SealedSummaries, SealRequest
from fedrag_flwr.wire import LIMITS
from strategies.help import fitting
from strategies.transport import Request, Transport

_ROOM = LIMITS[SealedOverview] * 3 // 4  # for sealed messages and their keys; the rest is for the members
_MOST_KEY = 256  # bytes of the sealed message in which a key and a tag stand
_EACH = 512  # bytes of a device's summaries beside their sealed message


def relay_summaries(transport: Transport, cards: Mapping[int, DeviceCard], most: int) -> int:
    """Let devices seal their summaries for each other, and hand each what is for it; who is left out is named.

    Parameters
    ----------
    transport
        Of the strategy.
    cards
        Of the devices that take part, by node.
    most
        Bytes that one device's summaries may take.

    Returns
    -------
    int
        The most summaries that a device holds now.
    """
    members = tuple(PeerKey(card.name, card.key) for card in cards.values())
    asked = [Request(node_id, SealRequest(members)) for node_id in cards]
    given: list[SealedSummaries] = []
    for node_id, sealed in transport.exchange(asked, "query.seal_summaries", SealedSummaries).items():
        if sealed.device != transport.name(node_id):
            transport.miss(node_id, "it sealed summaries in another device's name")
        elif len(sealed.sealed) > most or any(len(key.sealed) > _MOST_KEY for key in sealed.keys):
            transport.miss(node_id, "it sealed more than a device's summaries take (routing.most)")
        else:
            given.append(sealed)
    nodes = {card.name: node_id for node_id, card in cards.items()}
    outgoing = []
    for node_id, card in cards.items():
        parts = _for(card.name, given)
        kept, out = fitting([_size(part) for part in parts], _ROOM)
        for place in out:
            transport.miss(nodes[parts[place].device], "its summaries do not go into a letter with the others'")
        outgoing.append(Request(node_id, SealedOverview(members, tuple(parts[place] for place in kept))))
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


def _size(sealed: SealedSummaries) -> int:
    return len(sealed.sealed) + len(sealed.keys) * (_MOST_KEY + _EACH) + _EACH
