"""SEAL's CKKS through `tenseal.sealapi`, as the worker uses it: what is loaded is checked before it is worked with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tenseal.sealapi as seal
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.privacy.ckks.parameters import (
    DEGREE,
    MODULI,
    MODULUS_BITS,
    MOST_CIPHERTEXT,
    MOST_KEYS,
    check_bytes,
    galois_element,
)

Values = NDArray[np.float64]


class Scheme:
    """The context, and SEAL's objects to bytes and back.

    Raises
    ------
    CipherError
        This build of SEAL makes other parameters.
    """

    def __init__(self) -> None:
        parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(DEGREE)
        parameters.set_coeff_modulus(seal.CoeffModulus.Create(DEGREE, list(MODULUS_BITS)))
        self.context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
        if not self.context.parameters_set() or tuple(one.value() for one in parameters.coeff_modulus()) != MODULI:
            raise CipherError("this build of SEAL makes other parameters", where="tenseal", fix="install tenseal 0.3")
        self.encoder = seal.CKKSEncoder(self.context)
        self.evaluator = seal.Evaluator(self.context)
        self._file = _scratch()  # SEAL's binding reads and writes files only

    def encode(self, values: NDArray[np.floating], scale: float) -> seal.Plaintext:
        """Encode values, shape (n <= SLOTS,), at the top level."""
        plain = seal.Plaintext()
        self.encoder.encode(values.tolist(), scale, plain)
        return plain

    def encrypt(self, secret: seal.SecretKey, values: NDArray[np.floating], scale: float) -> bytes:
        """Encrypt under a secret key; one half of such a ciphertext is sent as the seed that makes it."""
        encryptor = seal.Encryptor(self.context, secret)
        return self.dump(encryptor.encrypt_symmetric(self.encode(values, scale)))

    def decrypt(self, secret: seal.SecretKey, ciphertext: seal.Ciphertext) -> Values:
        """Decrypt, shape (SLOTS,)."""
        plain = seal.Plaintext()
        seal.Decryptor(self.context, secret).decrypt(ciphertext, plain)
        return np.array(self.encoder.decode_double(plain), dtype=np.float64)

    def ciphertext(self, data: bytes, *, scale: float, fresh: bool) -> seal.Ciphertext:
        """Load a foreign ciphertext of one expected form.

        Parameters
        ----------
        data
            As it came.
        scale
            That it must have.
        fresh
            Whether it must be as encryption leaves it, or one level below, as a score is.

        Raises
        ------
        CipherError
            It is anything else.
        """
        found = seal.Ciphertext()
        self._load(found, check_bytes(data, MOST_CIPHERTEXT))
        level = self.context.first_parms_id() if fresh else self.context.last_parms_id()
        right = found.size() == 2 and found.is_ntt_form() and found.scale == scale and not found.is_transparent()
        if not right or list(found.parms_id()) != list(level):
            raise CipherError("a ciphertext of another form than was asked for", where="ciphertext")
        return found

    def galois_keys(self, data: bytes, rotations: Sequence[int]) -> seal.GaloisKeys:
        """Load foreign rotation keys: these rotations', no more and no fewer.

        Raises
        ------
        CipherError
            They are anything else.
        """
        found = seal.GaloisKeys()
        self._load(found, check_bytes(data, MOST_KEYS))
        if found.size() != len(rotations) or not all(found.has_key(galois_element(one)) for one in rotations):
            raise CipherError("keys for other rotations than are needed", where="keys")
        return found

    def secret_key(self, path: str) -> seal.SecretKey:
        """Load this device's own secret key."""
        found = seal.SecretKey()
        found.load(self.context, path)
        return found

    def dump(self, found: seal.Ciphertext) -> bytes:
        """A ciphertext or a set of keys as bytes."""
        found.save(self._file)
        return Path(self._file).read_bytes()

    def _load(self, empty: seal.Ciphertext, data: bytes) -> None:
        Path(self._file).write_bytes(data)
        try:
            empty.load(self.context, self._file)
        except (RuntimeError, ValueError, MemoryError, OSError) as error:
            raise CipherError("bytes that SEAL refuses", where="ciphertext") from error


def _scratch() -> str:
    """A file in memory, which is gone with the process however that ends; where there are none, one on disk."""
    if hasattr(os, "memfd_create"):
        return f"/proc/self/fd/{os.memfd_create('seal')}"
    handle, path = tempfile.mkstemp(prefix="fedrag-")
    os.close(handle)
    return path
