"""The private names that an export filter looks for in all that leaves, kept up with what the documents show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from fedrag_flwr.privacy.items import item_bundle
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.register import Register
from fedrag_flwr.records import MemoryItem


class PrivateNames:
    """What an export filter knows to be private, of the documents as they are and of all that it has met.

    Parameters
    ----------
    known
        The names that the operators share.
    searched
        Whether any operator looks for them; otherwise none counts as known.
    """

    def __init__(self, known: KnownNames, searched: bool) -> None:
        self._known = known
        self._searched = searched
        self._register = Register()
        self._inform: Callable[[], None] = _nothing_new

    def __len__(self) -> int:
        """How many names are looked for; it only grows."""
        return len(self._known) if self._searched else 0

    def informed_by(self, inform: Callable[[], None]) -> None:
        """Have `know` called where documents have changed, before texts that were read by then are rewritten.

        So no text leaves under what older documents show than those that it is from.
        """
        self._inform = inform

    def know(self, register: Register) -> None:
        """Look from now on also for what the device's documents show to be private."""
        self._register = register
        self._known.consult(register)

    def tell(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Give the bundles with what the documents show of the names in them, after asking whether those changed."""
        self._inform()
        return [self._register.tell(bundle) for bundle in bundles]

    def leads(self) -> Mapping[str, str]:
        """The names by digest, with the digests of their first words."""
        return self._known.leads() if self._searched else {}

    def pending(self) -> frozenset[str]:
        """Digests of the names learnt since `settle`: what was shared before may hold them in clear."""
        return self._known.pending() if self._searched else frozenset()

    def settle(self, names: Iterable[str]) -> None:
        """Record that what was shared before names were known is withdrawn or will be released anew."""
        self._known.settle(names)

    def holding(self, items: Iterable[MemoryItem], names: frozenset[str]) -> list[str]:
        """Give the ids of the memories in which one of these names stands."""
        return [item.id for item in items if self._known.find(item_bundle(item), names)]

    def close(self) -> None:
        """Close their file."""
        self._known.close()


def _nothing_new() -> None:
    """Where an export filter is used without a device, nobody has documents that change."""
