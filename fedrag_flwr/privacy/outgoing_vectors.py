"""Vectors of what leaves: made anew of texts that were rewritten, all in float16 precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedrag_flwr.errors import PrivacyError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import MemoryItem, Vector


class OutgoingVectors:
    """Makes the vectors that leave a device.

    Parameters
    ----------
    encoder
        Encodes what was rewritten.
    device
        The device's name, for errors.
    """

    def __init__(self, encoder: Encoder, device: str) -> None:
        self._encoder = encoder
        self._device = device

    def rounded(self, vector: Vector) -> Vector:
        """One vector, shape (dimension,), as float32 of float16 precision.

        Raises
        ------
        PrivacyError
            If it is not a finite vector of the encoder's dimension.
        """
        if vector.shape != (self._encoder.dimension,) or not np.isfinite(vector).all():
            raise PrivacyError("a vector is not finite or has a wrong shape", where=self._device)
        return vector.astype(np.float16).astype(np.float32)

    def of_items(self, passed: Sequence[tuple[MemoryItem, Bundle]]) -> list[Vector]:
        """The vector of each memory's question as it was rewritten."""
        # Also where a surrogate happens to be the name itself: a vector that is only then the stored one would tell.
        changed = [
            index for index, (item, bundle) in enumerate(passed) if bundle.changes or bundle.prose[0] != item.question
        ]
        vectors = [item.embedding for item, _ in passed]
        if changed:
            encoded = self._encoder.encode([passed[index][1].prose[0] for index in changed])
            for index, vector in zip(changed, encoded, strict=True):
                vectors[index] = vector
        return [self.rounded(vector) for vector in vectors]

    def of_texts(self, texts: Mapping[str, str], given: Mapping[str, Vector]) -> dict[str, Vector]:
        """The vector of each text by its key; that which is given where one is."""
        alone = [name for name in texts if name not in given]
        own = zip(alone, self._encoder.encode([texts[name] for name in alone]), strict=True)
        return {name: self.rounded(vector) for name, vector in (*given.items(), *own)}
