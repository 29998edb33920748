"""Who takes part in a run: the nodes that connect, the keys behind devices' names, and how many are enough."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import FederationError
from fedrag_flwr.files import replace_file
from fedrag_flwr.home_paths import is_name
from fedrag_flwr.records import DeviceCard
from fedrag_flwr.settings import FederationSettings
from fedrag_flwr.sqlite_errors import own_errors
from strategies.transport import Transport


@dataclass(frozen=True, slots=True)
class NameKeys:
    """One file a name, which holds the public key of its device; who deletes a file lets another key have the name.

    Names are such as a device may have.
    """

    folder: Path  # holds the files

    def fits(self, name: str, key: bytes) -> bool:
        """Whether a name is known under this key, or not known yet."""
        return self._known(name) in (b"", key)

    def keep(self, name: str, key: bytes) -> None:
        """Know a name under a key from now on, if it has one and the name is not known yet; raises StoreError where the
        file cannot be written.
        """
        if key and not self._known(name):
            with own_errors(self.folder, name):
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                replace_file(self.folder / name, key)

    def _known(self, name: str) -> bytes:
        path = self.folder / name
        return path.read_bytes() if path.is_file() else b""


def wait_for_nodes(transport: Transport, wanted: int, patience: float) -> list[int]:
    """The nodes that connect within so many seconds, at most a round's; those that do not are named as missing."""
    deadline = transport.clock() + min(transport.timeout, patience)
    while len(node_ids := sorted(transport.grid.get_node_ids())) < wanted and transport.clock() < deadline:
        transport.pause_for_nodes()
    for number in range(len(node_ids), wanted):
        transport.traffic = transport.traffic.lose(f"device {number + 1} of {wanted}", "it never connected")
    return node_ids


def admit(cards: Mapping[int, DeviceCard], transport: Transport, known: NameKeys) -> dict[int, DeviceCard]:
    """The devices with documents whose names are theirs alone, by node and in the order of their names.

    The transport calls them so from then on, and misses the others. A name that is known under another key is not
    theirs who claim it, and does not count as claimed.
    """
    admitted = {}
    named = {node_id: card for node_id, card in cards.items() if is_name(card.name)}
    strangers = {node_id for node_id, card in named.items() if not known.fits(card.name, card.key)}
    claimed = Counter(card.name for node_id, card in named.items() if node_id not in strangers)
    for node_id, card in sorted(cards.items(), key=lambda pair: pair[1].name):
        if not card.sources:  # a node without documents takes no part
            continue
        if node_id not in named:  # it would lead out of folders that are called after devices
            transport.miss(node_id, "it calls itself what no device may be called")
        elif node_id in strangers:
            transport.miss(node_id, f"it calls itself {card.name}, which is known under another key")
        elif claimed[card.name] > 1:  # nobody knows which of them it is
            transport.miss(node_id, f"{claimed[card.name]} devices call themselves {card.name}")
        else:
            known.keep(card.name, card.key)
            admitted[node_id] = card
            transport.names[node_id] = card.name
    return admitted


def quorum_of(federation: FederationSettings, asked: int) -> int:
    """How many devices are enough of those asked, or of those the run was set up for."""
    needed = federation.quorum * max(asked, federation.devices)
    return max(1, math.ceil(round(needed, 9)))  # 0.56 of 25 is 14, and a little more in binary


def require_quorum(transport: Transport, federation: FederationSettings, present: int, asked: int, phase: str) -> None:
    """Refuse to go on with fewer devices than the quorum of those asked, or of those the run was set up for; raises
    FederationError where too few are present, and names those that are missing.
    """
    needed = quorum_of(federation, asked)
    if present < needed:
        reasons = "; ".join(f"{name}: {why}" for name, why in transport.traffic.missing.items())
        raise FederationError(
            f"{present} devices took part, {needed} are needed{': ' + reasons if reasons else ''}",
            where=phase,
            fix="mend the devices named, or lower federation.quorum",
        )
