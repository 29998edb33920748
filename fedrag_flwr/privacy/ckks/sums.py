"""Sums of devices' numbers that whoever adds them up cannot read: the devices share one key, which the server lacks.

Safe only while no device colludes with the server: each holds the key under which all others' numbers are encrypted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.files import write_private
from fedrag_flwr.privacy.ckks.parameters import MOST_CIPHERTEXT, check_bytes, chunks
from fedrag_flwr.privacy.ckks.sandbox import Sandbox

COLLUSION = (
    "encrypted sums: every device holds the key; they hide single devices' numbers from the server only while no "
    "device colludes with it"
)
_MOST_KEY = 2**18
STEP = 1e-4  # terms and sums are multiples of it: nothing finer than that leaves a device, or comes back
MOST = 2.0**24  # of one value of a sum; the modulus leaves room for 2^32
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroupCipher:
    """A device's part in encrypted sums under the key of its group."""

    secret: Path  # the file of the key
    sandbox: Sandbox  # where SEAL runs

    def make(self) -> None:
        """Make the group's key; one device does, and seals it to the others."""
        self.secret.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.sandbox.call("make_keys", secret=str(self.secret), dimension="0")

    def take(self, key: bytes) -> None:
        """Keep the group's key, which another device made, once it loads; where it does not there is none; raises
        CipherError where it is no secret key.
        """
        check_bytes(key, _MOST_KEY)
        self.secret.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(self.secret, key)
        try:
            self.sandbox.call("check_secret", secret=str(self.secret))
        except CipherError:
            self.secret.unlink()
            raise

    def encrypt(self, values: Values, noise: float, rng: np.random.Generator) -> list[bytes]:
        """Encrypt own numbers, shape (n,), rounded to multiples of `STEP`; so the noise is discrete, too; raises
        CipherError where a number is too large, or not finite.

        Parameters
        ----------
        values
            At most `MOST` in size.
        noise
            Standard deviation of the normal noise that is added to each; 0 for none.
        rng
            Draws it.
        """
        noised = values + rng.normal(0.0, noise, values.shape) if noise else values
        if not np.isfinite(noised).all() or np.abs(noised).max(initial=0.0) > MOST:
            raise CipherError(f"a number that is not finite, or larger than {MOST:g}", where="sum")
        body = _rounded(noised).tobytes()
        return self.sandbox.call("encrypt_values", [body], secret=str(self.secret))

    def total(self, ciphertexts: Sequence[bytes], count: int) -> Values:
        """Decrypt a sum of so many numbers, rounded to multiples of `STEP`, which hides what could tell the key; raises
        CipherError where it is no sum under this key.

        All devices read the same to the last bit, as honest terms add up to such multiples but for the scheme's errors.
        """
        if len(ciphertexts) != chunks(count):
            raise CipherError("there is another number of ciphertexts than the sum takes", where="sum")
        [found] = self.sandbox.call("decrypt_values", ciphertexts, secret=str(self.secret), most=str(MOST))
        values = np.frombuffer(found, dtype=np.float64)
        if len(values) < count:
            raise CipherError("the worker gave another number of values", where="sum")
        return _rounded(values[:count])


def _rounded(values: Values) -> Values:
    return np.ascontiguousarray(np.rint(values / STEP) * STEP, dtype=np.float64)


def add_ciphertexts(parties: Sequence[Sequence[bytes]], sandbox: Sandbox) -> list[bytes]:
    """Add up what parties encrypted under one key; no key is needed for it; raises CipherError where the parties sent
    different numbers of ciphertexts, or something that is none.
    """
    parts = len(parties[0]) if parties else 0
    if not parts or any(len(party) != parts for party in parties):
        raise CipherError("the parties sent different numbers of ciphertexts", where="sum")
    blobs = [check_bytes(blob, MOST_CIPHERTEXT) for party in parties for blob in party]
    return sandbox.call("add", blobs, parts=str(parts))
