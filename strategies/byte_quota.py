"""How much a device may send to the server in a run, before it is left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST_UNASKED = 64  # replies that nobody waits for; a few come when a message was sent again


@dataclass(slots=True)
class ByteQuota:
    """Counts what each node sends.

    Parameters
    ----------
    most_bytes
        Payload bytes of one node in the run of one system.
    """

    most_bytes: int
    _bytes: Counter[int] = field(default_factory=Counter)
    _unasked: Counter[int] = field(default_factory=Counter)

    def take(self, node_id: int, size: int) -> None:
        """Count a reply's payload, in bytes."""
        self._bytes[node_id] += size

    def take_unasked(self, node_id: int) -> None:
        """Count a reply that nobody waits for."""
        self._unasked[node_id] += 1

    def spent(self, node_id: int) -> str:
        """Why a node is left out, or "" where it is not."""
        if self._bytes[node_id] > self.most_bytes:
            return f"it sent more than {self.most_bytes} bytes (federation.most-bytes)"
        if self._unasked[node_id] > MOST_UNASKED:
            return f"it sent more than {MOST_UNASKED} replies that nobody waited for"
        return ""
