"""TenSEAL's own product of an encrypted vector and a plain matrix, as a reference for speed and scores."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import tenseal
from numpy.typing import NDArray

from fedrag_flwr.privacy.ckks.parameters import DEGREE, MODULUS_BITS, SLOTS

Floats = NDArray[np.float32]
_SCALE = 2.0**29


@dataclass(frozen=True, slots=True)
class Told:
    """One question's scores, and what they cost."""

    scores: NDArray[np.float64]
    server_seconds: float
    server_cpu: float
    device_seconds: float
    bytes_up: int
    bytes_down: int


class MatmulReference:
    """`CKKSVector.matmul` over columns of at most slots - d + 1 rows: beyond that it is wrong without a word.

    Parameters
    ----------
    rows
        Shape (n, dimension), unit rows.
    """

    def __init__(self, rows: Floats) -> None:
        self._context = tenseal.context(tenseal.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=list(MODULUS_BITS))
        self._context.global_scale = _SCALE
        self._context.generate_galois_keys()
        self.bytes_once = len(self._context.serialize(save_secret_key=False))
        most = SLOTS - rows.shape[1] + 1
        self._chunks = [rows[start : start + most].T.tolist() for start in range(0, len(rows), most)]

    def ask(self, question: Floats) -> Told:
        """Encrypt, multiply and decrypt; sizes are those of the serialised vectors."""
        start = time.perf_counter()
        asked = tenseal.ckks_vector(self._context, question.tolist())
        sent, before = time.perf_counter(), time.process_time()
        scored = [asked.matmul(part) for part in self._chunks]
        done, cpu = time.perf_counter(), time.process_time() - before
        scores = np.concatenate([np.array(part.decrypt()) for part in scored])
        end = time.perf_counter()
        up, down = len(asked.serialize()), sum(len(part.serialize()) for part in scored)
        return Told(scores, done - sent, cpu, sent - start + end - done, up, down)
