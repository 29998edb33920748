"""A device's part in training the controller on encrypted sums: it alone, with its peers, sees moments and weights."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError, WireError
from fedrag_flwr.exchange.sealed import context_of, open_secret, seal_secret
from fedrag_flwr.files import making_in
from fedrag_flwr.privacy.ckks.sandbox import Sandbox
from fedrag_flwr.privacy.ckks.sums import GroupCipher
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.seals import SealingKey, tag
from fedrag_flwr.records import (
    ControllerRequest,
    ControllerUpdate,
    GroupRequest,
    PeerKey,
    SealedMessages,
    SumParts,
    SumTerm,
)
from fedrag_flwr.retrieval.controller_fitting import Moments
from fedrag_flwr.retrieval.evidence_sources import FEATURES

_LOG = logging.getLogger(__name__)
_KEPT = 16  # runs
_UNDONE = ".new"  # a key that is being made
_WHAT = "group key"
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Holds each run's group key, which the server lacks; whatever is summed up goes through here."""

    device: str  # the device's name
    folder: Path  # where the last runs' group keys are kept
    sealed: SealingKey  # opens what peers seal for this device, and tags what it sends
    export: ExportFilter  # notes what leaves
    sandbox: Sandbox  # where SEAL runs

    def join(self, request: GroupRequest, run: str) -> SealedMessages:
        """Make a run's group key and seal it to the peers, or take the one that a peer made; raises CipherError where
        the sealed message is another's, or holds no key of that peer, and WireError where a sealed message comes
        without the one peer that made it.

        Where it was made for these peers before, that one is sealed again: some may hold it.
        Anybody can seal a sealed message for this device; that the named peer did is proven by a tag beside the key.
        """
        if request.sealed:
            if len(request.peers) != 1:
                raise WireError("a sealed key comes from one peer", where="GroupRequest")
            context, [peer] = context_of(_WHAT, run, "", self.device), request.peers
            key = open_secret(_WHAT, request.sealed, self.sealed, peer.key, context)
            self._forget(run)
            self._cipher(run).take(key)
            self._drop_old()
            _LOG.info("sums go under the key of %s (%s)", peer.device, hashlib.sha256(peer.key).hexdigest()[:16])
            return SealedMessages(self.device, ())
        key = self._made(request.peers, run)
        self._drop_old()
        sealed_messages = []
        for peer in request.peers:
            context = context_of(_WHAT, run, "", peer.device)
            try:
                sealed_messages.append(seal_secret(_WHAT, key, self.sealed, peer, context))
            except CipherError as error:
                _LOG.warning("%s takes no part in the sums: %s", peer.device, error.what)
        return SealedMessages(self.device, tuple(sealed_messages))

    def give(self, step: str, server: bytes, values: Values, run: str, noise: float = 0.0) -> SumTerm:
        """This device's term of a sum; raises CipherError where a number is too large, or there is no key of a group,
        and PrivacyError where the numbers are none that the export filter knows.

        Parameters
        ----------
        step
            What the sum is of.
        server
            The key of the server that adds up.
        values
            Shape (n,).
        run
            In which it is summed up.
        noise
            Standard deviation of what is added to each number; 0 for none.
        """
        released = self.export.release_sum(values)
        rng = np.random.default_rng()  # nobody may foresee this noise
        parts = tuple(self._cipher(run).encrypt(released, noise, rng))
        return SumTerm(parts, tag(self.sealed.tag_key(server), *tagged_term(self.device, step, parts)))

    def read(self, total: Sequence[bytes], count: int, run: str) -> Values:
        """A run's sum of so many numbers, rounded, shape (count,); raises CipherError where it is no sum of this
        group's.
        """
        return self._cipher(run).total(total, count)

    def _made(self, peers: Sequence[PeerKey], run: str) -> bytes:
        """The key that this device made for a run and these peers; for others, who could read what was summed, anew."""
        told = "\x1f".join(f"{peer.device} {peer.key.hex()}" for peer in peers)
        secret = self.folder / f"{_name(run)}-{_digest(told)}.key"
        if not secret.exists():
            self._forget(run)
            fresh = secret.with_suffix(_UNDONE)
            GroupCipher(fresh, self.sandbox).make()
            fresh.replace(secret)
        return secret.read_bytes()

    def _cipher(self, run: str) -> GroupCipher:
        """Under the key that was made or taken last; where there is none, under one that is to be taken."""
        kept = [*self._keys(run), self.folder / f"{_name(run)}.key"]
        return GroupCipher(kept[0], self.sandbox)

    def _keys(self, run: str) -> list[Path]:
        return sorted(self.folder.glob(f"{_name(run)}*.key"))

    def _forget(self, run: str) -> None:
        """Drop a run's key before another takes its place."""
        for old in (*self._keys(run), *self.folder.glob(f"{_name(run)}*{_UNDONE}")):
            old.unlink(missing_ok=True)

    def _drop_old(self) -> None:
        """Delete the keys of all but the last runs: nobody tells a device that a run has ended."""
        with making_in(self.folder):
            kept = (path for form in (".key", _UNDONE) for path in self.folder.glob(f"group*{form}"))
            keys = sorted(kept, key=lambda path: path.stat().st_mtime_ns)
            for old in keys[:-_KEPT]:
                old.unlink()


def _name(run: str) -> str:
    return f"group-{_digest(run)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def tagged_term(device: str, step: str, parts: Sequence[bytes]) -> tuple[bytes, ...]:
    """What the tag of a term stands for: whose it is, and in which step."""
    return (b"term", device.encode(), step.encode(), *parts)


_CONSTANT = 1e-5  # a feature's variance below which rounding may have made it
Floats = NDArray[np.float64]
Train = Callable[[ControllerRequest], ControllerUpdate]


@dataclass(frozen=True, slots=True)
class PrivateTraining:
    """Puts a plain step of training between reading a sum and giving a term."""

    sums: GroupSums  # of this device's groups

    def train(self, request: ControllerRequest, noise: float, train: Train, run: str) -> ControllerUpdate:
        """One step: read the sums, train as on plain numbers, and encrypt what comes of it; raises CipherError where
        the sums are not of this group.

        `noise` is the standard deviation of what is added to each encrypted number.
        """
        update = train(self._plain(request, run))
        if not update.examples:
            return update
        weighed = np.append(np.array(update.values), 1.0) * update.examples
        term = self.sums.give(request.step, request.server, weighed, run, noise)
        return replace(update, examples=1, values=(), term=term)

    def _plain(self, request: ControllerRequest, run: str) -> ControllerRequest:
        width = len(FEATURES.names)
        mean, deviation, weights = np.zeros(0), np.zeros(0), np.zeros(width + 1)
        if request.moments_sum:
            moments = self._average(request.moments_sum, 2 * width, run)
            scaling = Moments(moments[:width], _unless_constant(moments[:width], moments[width:])).scaling
            mean, deviation = scaling.mean, scaling.deviation
        if request.weights_sum:
            weights = self._average(request.weights_sum, width + 1, run)
        return replace(
            request,
            encrypted=False,
            moments_sum=(),
            weights_sum=(),
            mean=tuple(mean.tolist()),
            deviation=tuple(deviation.tolist()),
            weights=tuple(weights.tolist()),
        )

    def _average(self, total: SumParts, count: int, run: str) -> Floats:
        numbers = self.sums.read(total, count + 1, run)
        if numbers[-1] < 0.5:
            raise CipherError("a sum over no example", where="sum")
        return np.asarray(numbers[:-1] / numbers[-1], dtype=np.float64)


def _unless_constant(mean: Floats, square: Floats) -> Floats:
    """The mean squares, those of constant features without what rounding added."""
    return np.where(square - mean**2 < _CONSTANT, mean**2, square)
