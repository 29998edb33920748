"""The process in which SEAL runs: it holds the little that must be kept, and may crash without harm to its parent."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import tenseal.sealapi as seal
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.privacy.ckks.diagonals import chunk, chunks, diagonal, repeated
from fedrag_flwr.privacy.ckks.parameters import (
    MOST_SCORE,
    QUESTION_SCALE,
    ROW_SCALE,
    SCORE_SCALE,
    SLOTS,
    galois_element,
    padded,
    rotations,
    steps,
)
from fedrag_flwr.privacy.ckks.scheme import Scheme
from fedrag_flwr.processes import private_streams, read_frames, write_frames

Told = Mapping[str, str]
Diagonals = list[list[list[seal.Plaintext | None]]]  # by chunk, giant step and baby step; None adds nothing
_MOST_BYTES = 2**30
_MOST_FILE = 64 * 2**20
_DEVICES = 16  # whose keys are kept loaded, 18 MB each
_LEAST = 1 / ROW_SCALE  # 2e-9, added to a chunk of nothing but zeros; devices round scores to 1.5e-5
_GARBAGE = "what was decrypted is no score: it was made with another key, or was tampered with"


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
