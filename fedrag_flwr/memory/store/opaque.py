"""Opaque ids: names for things of this device that say nothing to anyone else."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.files import replace_file
from fedrag_flwr.sqlite_errors import REBUILD

SECRET = "secret.key"
_BYTES = 32
_HEX = 32  # of 64: 128 bits of the digest


def make_secret(directory: Path) -> bytes:
    """Write a fresh random secret that only this user can read; the caller holds the write lock."""
    secret = secrets.token_bytes(_BYTES)
    replace_file(directory / SECRET, secret)
    return secret


def load_secret(directory: Path, expected_mark: str) -> bytes:
    """Read the secret; raises StoreCorruptError where it is gone or not that of the mark which the store keeps of it.

    Opaque ids that were handed out before would no longer match.
    """
    path = directory / SECRET
    secret = path.read_bytes() if path.is_file() else b""
    if not hmac.compare_digest(mark(secret), expected_mark):
        raise StoreCorruptError(
            "the secret behind opaque ids is missing or is another one",
            where=f"{directory.name}/{SECRET}",
            fix=f"put the file back, or {REBUILD}",
        )
    return secret


def mark(secret: bytes) -> str:
    """Digest by which a store knows its secret again."""
    return hashlib.sha256(b"fedrag opaque ids\0" + secret).hexdigest()


def opaque_id(secret: bytes, kind: str, plain: str) -> str:
    """First 32 hex digits of HMAC-SHA256 over kind and id."""
    return hmac.new(secret, f"{kind}\0{plain}".encode(), hashlib.sha256).hexdigest()[:_HEX]
