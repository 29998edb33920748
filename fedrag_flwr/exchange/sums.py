"""A device's part in encrypted sums: it agrees on a key with its peers, gives terms, and reads what they add up to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.privacy.ckks.sandbox import Sandbox
from fedrag_flwr.privacy.ckks.sums import GroupCipher
from fedrag_flwr.privacy.export import ExportDoor
from fedrag_flwr.privacy.sealing import BoxKey, seal, tag
from fedrag_flwr.records import GroupRequest, SealedMessage, SealedMessages, SumTerm

_LOG = logging.getLogger(__name__)
Values = NDArray[np.float64]


class GroupSums:
    """Holds the group's key, which the server lacks; whatever is summed up goes through here.

    Parameters
    ----------
    device
        The device's name.
    folder
        Where the group's key is kept.
    box
        Opens what peers seal for this device, and tags what it sends.
    door
        Notes what leaves.
    sandbox
        Where SEAL runs.
    """

    def __init__(self, device: str, folder: Path, box: BoxKey, door: ExportDoor, sandbox: Sandbox) -> None:
        self._device = device
        self._secret = folder / "group.key"
        self._box = box
        self._door = door
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

    def give(self, step: str, server: bytes, values: Values, noise: float = 0.0) -> SumTerm:
        """This device's term of a sum.

        Parameters
        ----------
        step
            What the sum is of.
        server
            The key of the server that adds up.
        values
            Shape (n,).
        noise
            Standard deviation of what is added to each number; 0 for none.

        Raises
        ------
        CipherError
            A number is too large, or there is no key of a group.
        PrivacyError
            The numbers are none that the door knows.
        """
        released = self._door.release_sum(values)
        parts = tuple(self._cipher.encrypt(released, noise, np.random.default_rng()))  # nobody may foresee this noise
        return SumTerm(parts, tag(self._box.tag_key(server), *tagged_term(self._device, step, parts)))

    def read(self, total: Sequence[bytes], count: int) -> Values:
        """A sum of so many numbers, rounded, shape (count,).

        Raises
        ------
        CipherError
            It is no sum of this group's.
        """
        return self._cipher.total(total, count)


def tagged_term(device: str, step: str, parts: Sequence[bytes]) -> tuple[bytes, ...]:
    """What the tag of a term stands for: whose it is, and in which step."""
    return (b"term", device.encode(), step.encode(), *parts)


def _context(device: str) -> str:
    return f"fedrag group key for {device}"
