"""A device's part in training the controller on encrypted sums: it alone, with its peers, sees moments and weights."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.ordering.sources import FEATURES
from fedrag_flwr.privacy.ckks.sandbox import Sandbox
from fedrag_flwr.privacy.ckks.sums import GroupCipher
from fedrag_flwr.privacy.sealing import BoxKey, seal, tag
from fedrag_flwr.records import (
    Ciphertext,
    ControllerRequest,
    ControllerUpdate,
    GroupRequest,
    SealedMessage,
    SealedMessages,
)
from fedrag_flwr.retrieval import Moments

_LOG = logging.getLogger(__name__)
_STEP = 1e-4  # to which sums over all examples are rounded
_CONSTANT = 1e-5  # a feature's variance below which rounding may have made it
Floats = NDArray[np.float64]
Train = Callable[[ControllerRequest], ControllerUpdate]


class PrivateTraining:
    """Holds the group's key, and puts a plain step of training between decryption and encryption.

    Parameters
    ----------
    device
        The device's name.
    folder
        Where the group's key is kept.
    box
        Opens what peers seal for this device.
    sandbox
        Where SEAL runs.
    """

    def __init__(self, device: str, folder: Path, box: BoxKey, sandbox: Sandbox) -> None:
        self._device = device
        self._secret = folder / "group.key"
        self._box = box
        self._cipher = GroupCipher(self._secret, sandbox)

    def join(self, request: GroupRequest) -> SealedMessages:
        """Make the group's key and seal it to the peers, or take the one that a peer made.

        Raises
        ------
        CipherError
            The box is another's, or holds no key.
        """
        with suppress(FileNotFoundError):
            self._secret.unlink()
        if request.box:
            self._cipher.take(self._box.open(request.box, _context(self._device)))
            return SealedMessages(self._device, ())
        self._cipher.make()
        key = self._secret.read_bytes()
        boxes = []
        for peer in request.peers:
            try:
                boxes.append(SealedMessage("", peer.device, seal(key, peer.key, _context(peer.device))))
            except CipherError as error:
                _LOG.warning("%s takes no part in the sums: %s", peer.device, error.what)
        return SealedMessages(self._device, tuple(boxes))

    def train(
        self, request: ControllerRequest, noise: float, rng: np.random.Generator, train: Train
    ) -> ControllerUpdate:
        """One step: read the sums, train as on plain numbers, and encrypt what comes of it.

        Parameters
        ----------
        request
            Its numbers stand in encrypted sums.
        noise
            Standard deviation of what is added to each encrypted number.
        rng
            Draws the noise.
        train
            Takes the plain step.

        Raises
        ------
        CipherError
            The sums are not of this group.
        """
        update = train(self._plain(request))
        if not update.examples:
            return update
        weighed = np.append(np.array(update.values), 1.0) * update.examples
        ciphertexts = tuple(self._cipher.encrypt(weighed, noise, rng))
        made = tag(self._box.tag_key(request.server), *tagged_update(self._device, request, ciphertexts))
        return replace(update, examples=1, values=(), ciphertexts=ciphertexts, tag=made)

    def _plain(self, request: ControllerRequest) -> ControllerRequest:
        width = len(FEATURES.names)
        mean, deviation, weights = np.zeros(0), np.zeros(0), np.zeros(width + 1)
        if request.moments_sum:
            moments = self._average(request.moments_sum, 2 * width)
            scaling = Moments(moments[:width], _unless_constant(moments[:width], moments[width:])).scaling
            mean, deviation = scaling.mean, scaling.deviation
        if request.weights_sum:
            weights = self._average(request.weights_sum, width + 1)
        return replace(
            request,
            encrypted=False,
            moments_sum=(),
            weights_sum=(),
            mean=tuple(mean.tolist()),
            deviation=tuple(deviation.tolist()),
            weights=tuple(weights.tolist()),
        )

    def _average(self, ciphertexts: tuple[Ciphertext, ...], count: int) -> Floats:
        total = self._cipher.total(ciphertexts, count + 1, _STEP)
        if total[-1] < 0.5:
            raise CipherError("a sum over no example", where="sum")
        return np.asarray(total[:-1] / total[-1], dtype=np.float64)


def tagged_update(device: str, asked: ControllerRequest, ciphertexts: Sequence[bytes]) -> tuple[bytes, ...]:
    """What the tag of a device's encrypted numbers stands for: who gave them, and in which step."""
    return (b"update", device.encode(), asked.stage.encode(), str(asked.round).encode(), *ciphertexts)


def _unless_constant(mean: Floats, square: Floats) -> Floats:
    """The mean squares, those of constant features without what rounding added."""
    return np.where(square - mean**2 < _CONSTANT, mean**2, square)


def _context(device: str) -> str:
    return f"fedrag group key for {device}"
