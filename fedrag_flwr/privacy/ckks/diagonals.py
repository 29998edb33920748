"""A matrix laid out for the product with an encrypted vector: generalised diagonals, chunk by chunk.

Halevi and Shoup's diagonals with the baby-step giant-step split: for a vector x that is repeated through all slots,
``M x = sum_g rot_g( sum_b  rot_-g(diagonal_(g+b)) * rot_b(x) )``, b over the baby and g over the giant steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.privacy.ckks.parameters import SLOTS, padded

Floats = NDArray[np.float32]


def chunks(rows: int) -> int:
    """Ciphertexts that the scores of so many rows take."""
    return -(-rows // SLOTS)


def chunk(matrix: Floats, number: int) -> Floats:
    """A chunk's rows, padded with zeros to shape (SLOTS, padded dimension)."""
    part = matrix[number * SLOTS : (number + 1) * SLOTS]
    whole = np.zeros((SLOTS, padded(matrix.shape[1])), dtype=np.float32)
    whole[: len(part), : part.shape[1]] = part
    return whole


def diagonal(whole: Floats, baby: int, giant: int) -> Floats:
    """The diagonal of one baby and one giant step, rotated back by the giant step; shape (SLOTS,)."""
    rows = np.arange(SLOTS)
    return np.roll(whole[rows, (rows + baby + giant) % whole.shape[1]], giant)


def repeated(vector: Floats) -> Floats:
    """A vector, padded and repeated through all slots; shape (SLOTS,)."""
    width = padded(len(vector))
    one = np.zeros(width, dtype=np.float32)
    one[: len(vector)] = vector
    return np.tile(one, SLOTS // width)
