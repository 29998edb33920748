"""The process in which SEAL runs: it holds the little that must be kept, and may crash without harm to its parent."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
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
    MOST_SCORE,
    QUESTION_SCALE,
    ROW_SCALE,
    SCORE_SCALE,
    SLOTS,
    check_bytes,
    chunk,
    chunks,
    diagonal,
    galois_element,
    padded,
    repeated,
    rotations,
    steps,
)
from fedrag_flwr.processes import private_streams, read_frames, write_frames

Told = Mapping[str, str]
Values = NDArray[np.float64]
Diagonals = list[list[list[seal.Plaintext | None]]]  # by chunk, giant step and baby step; None adds nothing
_MOST_BYTES = 2**30
_MOST_FILE = 64 * 2**20
_DEVICES = 16  # whose keys are kept loaded, 18 MB each
_LEAST = 1 / ROW_SCALE  # 2e-9, added to a chunk of nothing but zeros; devices round scores to 1.5e-5
_GARBAGE = "what was decrypted is no score: it was made with another key, or was tampered with"


class Scheme:
    """The context, and SEAL's objects to bytes and back; raises CipherError where this build of SEAL makes other
    parameters.
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
        """Load a foreign ciphertext of one expected form; raises CipherError where it is anything else.

        Parameters
        ----------
        data
            As it came.
        scale
            That it must have.
        fresh
            Whether it must be as encryption leaves it, or one level below, as a score is.
        """
        found = seal.Ciphertext()
        self._load(found, check_bytes(data, MOST_CIPHERTEXT))
        level = self.context.first_parms_id() if fresh else self.context.last_parms_id()
        right = found.size() == 2 and found.is_ntt_form() and found.scale == scale and not found.is_transparent()
        if not right or list(found.parms_id()) != list(level):
            raise CipherError("a ciphertext of another form than was asked for", where="ciphertext")
        return found

    def galois_keys(self, data: bytes, rotations: Sequence[int]) -> seal.GaloisKeys:
        """Load foreign rotation keys: these rotations', no more and no fewer; raises CipherError where they are
        anything else.
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


@cache
def scheme() -> Scheme:
    """The context of this process."""
    return Scheme()


# --- keys -----------------------------------------------------------------------------------------


def make_keys(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Write a new secret key to a path; give the rotation keys for vectors of a dimension, none for dimension 0."""
    generator = seal.KeyGenerator(scheme().context)
    generator.secret_key().save(told["secret"])
    if not (dimension := int(told["dimension"])):
        return []
    wanted = [galois_element(one) for one in rotations(padded(dimension))]
    return [scheme().dump(generator.create_galois_keys(wanted))]


def check_keys(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Load foreign rotation keys, to see that they can be."""
    scheme().galois_keys(blobs[0], rotations(padded(int(told["dimension"]))))
    return []


def check_secret(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Load a secret key that another device made, to see that it can be."""
    scheme().secret_key(told["secret"])
    return []


def check_pair(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Turn ones that a secret key encrypted by rotation keys, to see that these belong to it: they stay ones then."""
    secret, wanted = scheme().secret_key(told["secret"]), rotations(padded(int(told["dimension"])))
    keys = scheme().galois_keys(blobs[0], wanted)
    sent = scheme().encrypt(secret, np.ones(SLOTS), QUESTION_SCALE)
    turned = scheme().ciphertext(sent, scale=QUESTION_SCALE, fresh=True)
    scheme().evaluator.rotate_vector_inplace(turned, wanted[0], keys)
    if not np.abs(scheme().decrypt(secret, turned)).max() <= MOST_SCORE:
        raise CipherError("rotation keys of another secret key", where="keys")
    return []


_KEYS: dict[str, seal.GaloisKeys] = {}


def _keys(path: str, dimension: int) -> seal.GaloisKeys:
    """A device's rotation keys from the file that is named after their digest; the last ones used stay loaded."""
    if path not in _KEYS:
        data = Path(path).read_bytes()
        if hashlib.sha256(data).hexdigest() not in Path(path).name:
            raise CipherError("a file of keys is torn", where="keys")
        while len(_KEYS) >= _DEVICES:
            del _KEYS[next(iter(_KEYS))]
        _KEYS[path] = scheme().galois_keys(data, rotations(padded(dimension)))
    _KEYS[path] = _KEYS.pop(path)
    return _KEYS[path]


# --- scores ---------------------------------------------------------------------------------------


def encrypt_questions(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Encrypt vectors, each float32, under an own secret key."""
    secret = scheme().secret_key(told["secret"])
    vectors = [np.frombuffer(blob, dtype=np.float32) for blob in blobs]
    return [scheme().encrypt(secret, repeated(vector), QUESTION_SCALE) for vector in vectors]


def score(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Score an encrypted question against a matrix: a ciphertext for every chunk of rows."""
    matrix, dimension = _encoded(told["matrix"]), int(told["dimension"])
    asked = scheme().ciphertext(blobs[0], scale=QUESTION_SCALE, fresh=True)
    found = _product(asked, matrix, _keys(told["keys"], dimension), steps(padded(dimension)))
    return [scheme().dump(one) for one in found]


@cache
def _encoded(path: str) -> Diagonals:
    """A matrix's diagonals; there is one matrix at a time, and a file of a given name never changes."""
    rows = np.load(path, allow_pickle=False)
    baby, giant = steps(padded(rows.shape[1]))
    found: Diagonals = []
    for number in range(chunks(len(rows))):
        whole = chunk(rows, number)
        lines = [[_plain(diagonal(whole, b, g * baby)) for b in range(baby)] for g in range(giant)]
        if all(term is None for line in lines for term in line):
            lines[0][0] = _plain(np.full(SLOTS, _LEAST))  # an encrypted zero would take the device's key
        found.append(lines)
    return found


def _plain(values: NDArray[np.floating]) -> seal.Plaintext | None:
    """Encode a diagonal; None where all of it rounds to nothing, for SEAL refuses a product with zero."""
    plain = scheme().encode(values, ROW_SCALE)
    return None if plain.is_zero() else plain


def _product(
    asked: seal.Ciphertext, matrix: Diagonals, keys: seal.GaloisKeys, split: tuple[int, int]
) -> list[seal.Ciphertext]:
    evaluator, (baby, _) = scheme().evaluator, split
    turned = [asked]
    for step in range(1, baby):
        turned.append(seal.Ciphertext())
        evaluator.rotate_vector(asked, step, keys, turned[step])
    found = []
    for lines in matrix:
        parts = []
        for giant, line in enumerate(lines):
            terms = [(left, right) for left, right in zip(turned, line, strict=True) if right is not None]
            if not terms:
                continue
            part = seal.Ciphertext()
            evaluator.multiply_plain(*terms[0], part)
            for left, right in terms[1:]:
                term = seal.Ciphertext()
                evaluator.multiply_plain(left, right, term)
                evaluator.add_inplace(part, term)
            if giant:
                evaluator.rotate_vector_inplace(part, giant * baby, keys)
            parts.append(part)
        for part in parts[1:]:
            evaluator.add_inplace(parts[0], part)
        evaluator.rescale_to_next_inplace(parts[0])
        found.append(parts[0])
    return found


def decrypt_scores(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Decrypt the chunks of one question's scores."""
    secret = scheme().secret_key(told["secret"])
    loaded = [scheme().ciphertext(blob, scale=SCORE_SCALE, fresh=False) for blob in blobs]
    scores = np.concatenate([scheme().decrypt(secret, one) for one in loaded])
    if not np.isfinite(scores).all() or np.abs(scores).max() > MOST_SCORE:
        raise CipherError(_GARBAGE, where="scores")
    return [scores.tobytes()]


# --- sums -----------------------------------------------------------------------------------------


def encrypt_values(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Encrypt float64 values, `SLOTS` to a ciphertext."""
    secret, values = scheme().secret_key(told["secret"]), np.frombuffer(blobs[0], dtype=np.float64)
    parts = [values[start : start + SLOTS] for start in range(0, len(values), SLOTS)]
    return [scheme().encrypt(secret, part, QUESTION_SCALE) for part in parts]


def add(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Add up what parties sent, part by part; no key is needed."""
    parts, found = int(told["parts"]), []
    for part in range(parts):
        terms = [scheme().ciphertext(blob, scale=QUESTION_SCALE, fresh=True) for blob in blobs[part::parts]]
        for term in terms[1:]:
            scheme().evaluator.add_inplace(terms[0], term)
        found.append(scheme().dump(terms[0]))
    return found


def decrypt_values(told: Told, blobs: list[bytes]) -> list[bytes]:
    """Decrypt a sum, in the order in which its values were given."""
    secret = scheme().secret_key(told["secret"])
    loaded = [scheme().ciphertext(blob, scale=QUESTION_SCALE, fresh=True) for blob in blobs]
    values = np.concatenate([scheme().decrypt(secret, one) for one in loaded])
    if not np.isfinite(values).all() or np.abs(values).max() > float(told["most"]):
        raise CipherError(_GARBAGE, where="sum")
    return [values.tobytes()]


OPERATIONS: Mapping[str, Callable[[Told, list[bytes]], list[bytes]]] = {
    made.__name__: made
    for made in (
        *(make_keys, check_keys, check_secret, check_pair, encrypt_questions, score, decrypt_scores),
        *(encrypt_values, add, decrypt_values),
    )
}


def main() -> None:
    """Serve requests until there are no more: a header in JSON, then blobs; a reply begins with an error or nothing."""
    memory = int(sys.argv[1])
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_FILE, _MOST_FILE))
    asked, told = private_streams()
    while True:
        try:
            header, *blobs = read_frames(asked, _MOST_BYTES)
        except EOFError:
            return
        request = json.loads(header)
        try:
            reply = [b"", *OPERATIONS[request.pop("operation")](request, blobs)]
        except CipherError as error:
            reply = [f"{error.where}: {error.what}".encode()]
        except (RuntimeError, ValueError, IndexError, MemoryError, OSError) as error:
            reply = [f"the operation failed ({type(error).__name__})".encode()]
        write_frames(told, reply)


if __name__ == "__main__":
    main()
