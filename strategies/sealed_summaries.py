"""The server as a post office for summaries that only the devices can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fedrag_flwr.records import DeviceCard, ImportReport, PeerKey, SealedOverview, SealedSummaries, SealRequest
from strategies.courier import Courier, Letter


def relay_summaries(courier: Courier, cards: Mapping[int, DeviceCard]) -> int:
    """Let devices seal their summaries for each other, and hand each what is for it; who is refused is named.

    Parameters
    ----------
    courier
        Of the strategy.
    cards
        Of the devices that take part, by node.

    Returns
    -------
    int
        The most summaries that a device holds now.
    """
    members = tuple(PeerKey(card.name, card.key) for card in cards.values())
    asked = [Letter(node_id, SealRequest(members)) for node_id in cards]
    given: list[SealedSummaries] = []
    for node_id, sealed in courier.exchange(asked, "query.seal_summaries", SealedSummaries).items():
        if sealed.device == courier.name(node_id):
            given.append(sealed)
        else:
            courier.miss(node_id, "it sealed summaries in another device's name")
    letters = [Letter(node_id, SealedOverview(members, _for(card.name, given))) for node_id, card in cards.items()]
    nodes = {card.name: node_id for node_id, card in cards.items()}
    most = 0
    for node_id, report in courier.exchange(letters, "query.sealed_overview", ImportReport).items():
        most = max(most, report.accepted)
        for name in nodes.keys() & set(report.refused):
            courier.miss(nodes[name], f"{courier.name(node_id)} refused its summaries")
    return most


def _for(reader: str, given: list[SealedSummaries]) -> tuple[SealedSummaries, ...]:
    """What was sealed for one reader, with its keys alone."""
    keys = {sealed.device: tuple(key for key in sealed.keys if key.device == reader) for sealed in given}
    return tuple(replace(sealed, keys=keys[sealed.device]) for sealed in given if keys[sealed.device])
