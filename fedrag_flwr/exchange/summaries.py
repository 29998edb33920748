"""Summaries that members of the federation alone can read: who relays them sees whose they are, and their size.

A device seals the vectors once, under a key made for them, and that key for each reader, together with a tag under the
key that both share: it proves who sealed what.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fedrag_flwr import wire
from fedrag_flwr.errors import CipherError, WireError
from fedrag_flwr.exchange.routing import SummaryNumbers, restored, rounded
from fedrag_flwr.exchange.sealed import context_of, open_secret, seal_secret
from fedrag_flwr.memory.store.summary_store import MOST_SUMMARIES
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.seals import SealingKey, seal_once
from fedrag_flwr.records import (
    ImportReport,
    OwnedRows,
    RoundedOverview,
    SealedOverview,
    SealedSummaries,
    SealRequest,
    SubgraphSummary,
    SummaryOverview,
)
from fedrag_flwr.settings import RoutingSettings

_LOG = logging.getLogger(__name__)
_WHAT, _KEY = "summaries", 32
_MOST_REFUSED = 64  # that a report names
_EACH = 160  # bytes of a summary beside its vector: its opaque id, its device's name, and what stands around them
_AROUND = 4_096  # bytes of a sealed message beside its summaries
Own = Callable[[], SummaryOverview]
Take = Callable[[SummaryOverview], ImportReport]


@dataclass(frozen=True, slots=True)
class PrivateSummaries:
    """Seals own summaries for members, and opens theirs."""

    device: str  # the device's name
    key: SealingKey  # for which others seal, and by which they know who sealed
    numbers: SummaryNumbers  # tell old summaries from new ones
    encoder: Encoder  # whose vectors they are
    # own, keep: give the vectors of own summaries as they leave, and keep those of all.
    own: Own
    keep: Take
    settings: RoutingSettings  # of the run

    def close(self) -> None:
        """Close the file of numbers, if it was opened."""
        self.numbers.close()

    def seal(self, request: SealRequest, run: str) -> SealedSummaries:
        """Own summaries as they are now, for the members that a request names; one without a usable key is left out."""
        number = self.numbers.next()
        context = self._context(self.device, number, run)
        sealed, secret = seal_once(self._packed(self.own(), run), context)
        keys = []
        for member in request.members:
            try:
                keys.append(seal_secret(_WHAT, secret, self.key, member, context, sealed))
            except CipherError as error:
                _LOG.warning("%s cannot read the summaries: %s", member.device, error.what)
        return SealedSummaries(self.device, number, sealed, tuple(keys))

    def take(self, sent: SealedOverview, run: str) -> ImportReport:
        """Keep the summaries that members sealed for this device, in place of all before.

        What was sealed by or for someone else, for another run or setting, was changed, or is not newer than what came
        before, is left out, and the report names its device.
        """
        members = {member.device: member.key for member in sent.members}
        found: dict[str, tuple[SubgraphSummary, ...]] = {}
        numbers: dict[bytes, int] = {}
        refused: list[str] = []
        for one in sent.summaries:
            try:
                if one.device in found:
                    raise WireError("they are there twice", where="SealedOverview")
                key = members.get(one.device, b"")
                found[one.device] = self._opened(one, key, run)
                numbers[key] = one.number
            except (CipherError, WireError) as error:
                _LOG.warning("the summaries of %s are left out: %s", one.device, error.what)
                refused.append(one.device)
        report = self.keep(SummaryOverview(tuple(one for told in found.values() for one in told)))
        self.numbers.keep(numbers)
        return replace(report, refused=tuple(dict.fromkeys(refused))[:_MOST_REFUSED])

    def _opened(self, sealed: SealedSummaries, sender: bytes, run: str) -> tuple[SubgraphSummary, ...]:
        """A member's summaries, once it is proven that they are its own and newer than those before."""
        if [message.device for message in sealed.keys] != [self.device]:
            raise CipherError("there is no key to them for this device", where="sealed message")
        context = self._context(sealed.device, sealed.number, run)
        secret = open_secret(_WHAT, sealed.keys[0].sealed, self.key, sender, context, sealed.sealed)
        if len(secret) != _KEY:
            raise CipherError("the key to them is none", where="sealed message")
        self.numbers.check(sender, sealed.number)
        told = self._unpacked(SealingKey(secret).open(sealed.sealed, context), run)
        if len(told) > MOST_SUMMARIES:
            raise WireError(f"a device may have {MOST_SUMMARIES:,} summaries", where="sealed message")
        for one in told:
            if one.origin != sealed.device or one.text or one.vector.shape != (self.encoder.dimension,):
                raise WireError("something else than vectors of its sender's summaries", where="sealed message")
        return told

    def _packed(self, overview: SummaryOverview, run: str) -> bytes:
        if self.settings.precision == "float16":
            return wire.pack(overview, run=run)
        vectors = [one.vector for one in overview.summaries]
        owners = [OwnedRows(self.device, len(vectors))] if vectors else []
        rows = np.array(vectors, dtype=np.float32).reshape(-1, self.encoder.dimension)
        return wire.pack(rounded(owners, rows), run=run)

    def _unpacked(self, data: bytes, run: str) -> tuple[SubgraphSummary, ...]:
        if self.settings.precision == "float16":
            return wire.unpack(data, SummaryOverview, run=run).summaries
        return restored(wire.unpack(data, RoundedOverview, run=run), self.encoder.dimension, MOST_SUMMARIES)

    def _context(self, sender: str, number: int, run: str) -> str:
        about = f"{number} {self.settings.precision} {self.encoder.id}"
        return context_of(_WHAT, run, about, sender)


def most_sealed(precision: str, dimension: int) -> int:
    """Bytes of the largest sealed message in which a device's summaries may stand, with vectors of a dimension."""
    each = dimension if precision == "int8" else 2 * dimension + _EACH
    return _AROUND + MOST_SUMMARIES * each
