"""The one set of CKKS parameters that all sides use, and how a matrix is laid out for its product with a vector.

128-bit security by the homomorphic encryption standard (109 bits of modulus at degree 4,096), one multiplication deep.
Matrices stand as generalised diagonals (Halevi and Shoup) with the baby-step giant-step split: for a vector x that is
repeated through all slots, ``M x = sum_g rot_g( sum_b  rot_-g(diagonal_(g+b)) * rot_b(x) )``, b over the baby and g
over the giant steps.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError

Floats = NDArray[np.float32]
DEGREE = 4096
SLOTS = DEGREE // 2  # values of one ciphertext
MODULUS_BITS = (40, 29, 40)
MODULI = (1_099_511_390_209, 536_813_569, 1_099_511_480_321)  # what SEAL makes of these bits; anything else is refused
QUESTION_SCALE = 2.0**36  # large beside the noise of encryption, small enough for one 40-bit prime after rescaling
ROW_SCALE = 2.0**29
SCORE_SCALE = QUESTION_SCALE * ROW_SCALE / MODULI[1]
MOST_SCORE = 1.01  # of a cosine that was decrypted with the right key

MOST_CIPHERTEXT = 96 * 2**10
MOST_KEYS = 16 * 2**20
MOST_ROWS = 32 * SLOTS
_HEADER = struct.Struct("<HBBBBHQ")  # magic, its own size, version (two), compression, reserved, size
_EXPECTED = (0xA15E, 16, 4, 3, 2, 0)  # SEAL 4.3, zstandard


def check_bytes(data: bytes, most: int) -> bytes:
    """Refuse bytes that cannot be a SEAL object of this version and of at most so many bytes; raises CipherError where
    they cannot.
    """
    if not _HEADER.size < len(data) <= most:
        raise CipherError(f"{len(data)} bytes, where at most {most} are allowed", where="ciphertext")
    *header, size = _HEADER.unpack_from(data)
    if tuple(header) != _EXPECTED or size != len(data):
        raise CipherError(
            "it does not begin as a ciphertext or key of this version does",
            where="ciphertext",
            fix="both sides must run the same version of TenSEAL",
        )
    return data


def padded(dimension: int) -> int:
    """The power of two to which vectors are padded; raises CipherError where they do not fit into one ciphertext."""
    width = 1 << max(1, (dimension - 1).bit_length())
    if dimension < 1 or width > SLOTS:
        raise CipherError(f"vectors of {dimension} values do not fit into one ciphertext", where="dimension")
    return width


def steps(width: int) -> tuple[int, int]:
    """How many baby and how many giant steps make up a padded width; baby steps, which all chunks share, are more."""
    bits = width.bit_length() - 1
    baby = 1 << (bits - bits // 2)
    return baby, width // baby


def rotations(width: int) -> list[int]:
    """The slots by which ciphertexts are rotated: one Galois key each."""
    baby, giant = steps(width)
    return [*range(1, baby), *range(baby, baby * giant, baby)]


def galois_element(rotation: int) -> int:
    """The Galois element of a rotation to the left."""
    return pow(3, rotation, 2 * DEGREE)


def chunks(rows: int) -> int:
    """Ciphertexts that so many numbers take, such as the scores of so many rows."""
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
