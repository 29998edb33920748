"""Sealed messages that only their receiver opens, and tags by which two sides see that nothing was changed or mixed up.

They are HPKE (RFC 9180: X25519, HKDF-SHA256, ChaCha20-Poly1305); tags are HMAC-SHA256 under a key that both sides
derive from their X25519 keys. Whoever relays public keys could put its own in their place: compare them where that
matters.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fedrag_flwr.errors import CipherError, StoreCorruptError
from fedrag_flwr.files import write_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import Suite

_KEY = 32


class SealingKey:
    """An X25519 key: opens sealed messages that were sealed for it.

    `private` are its 32 bytes.
    """

    def __init__(self, private: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self._private = X25519PrivateKey.from_private_bytes(private)

    @classmethod
    def fresh(cls) -> SealingKey:
        """A key that lives as long as this object."""
        return cls(os.urandom(_KEY))

    @classmethod
    def kept(cls, path: Path) -> SealingKey:
        """The key of a file that its owner alone can read; made when it is not there; raises StoreCorruptError where
        the file holds no key.
        """
        return cls(kept_secret(path))

    @property
    def public(self) -> bytes:
        """The key that others seal for, 32 bytes."""
        return self._private.public_key().public_bytes_raw()

    def derived(self, purpose: str) -> bytes:
        """A secret of this key's owner for one purpose, 32 bytes, the same each time."""
        return hmac.new(self._private.private_bytes_raw(), b"fedrag own\0" + purpose.encode(), hashlib.sha256).digest()

    def open(self, sealed: bytes, context: str) -> bytes:
        """What was sealed for this key in this context; raises CipherError where it was sealed for another key or in
        another context, or was changed on its way.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return _suite().decrypt(sealed, self._private, context.encode())
        except (InvalidTag, ValueError) as error:
            raise CipherError("it was sealed for someone or something else", where="sealed message") from error

    def tag_key(self, other: bytes) -> bytes:
        """The key of tags between the owner of this key and of another, the same on both sides; raises CipherError
        where the other is no key.
        """
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError as error:
            raise CipherError("the other side's key is none", where="key") from error
        both = b"".join(sorted((self.public, other)))
        return hmac.new(shared, b"fedrag tags\0" + both, hashlib.sha256).digest()


def kept_secret(path: Path, fix: str = "delete it; a new one will be made") -> bytes:
    """32 random bytes in a file that its owner alone can read, made once; raises StoreCorruptError where it is torn."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):  # made before; of two processes that begin together one writes, both read that
        write_private(path, os.urandom(_KEY))
    secret = path.read_bytes()
    if len(secret) != _KEY:
        raise StoreCorruptError("it holds no key", where=path.name, fix=fix)
    return secret


def seal(data: bytes, key: bytes, context: str) -> bytes:
    """Seal bytes for the owner of a public key; the sealed message opens in the same context only; raises CipherError
    where this is no public key.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        return _suite().encrypt(data, X25519PublicKey.from_public_bytes(key), context.encode())
    except ValueError as error:
        raise CipherError("the other side's key is none", where="key") from error


def seal_once(data: bytes, context: str) -> tuple[bytes, bytes]:
    """Seal bytes under a private key made for them alone; gives both, the key (32 bytes) for all who may open it."""
    private = os.urandom(_KEY)
    return seal(data, SealingKey(private).public, context), private


def tag(key: bytes, *parts: bytes) -> bytes:
    """The tag of some parts, 32 bytes; where one part ends and the next begins counts."""
    made = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        made.update(struct.pack("<Q", len(part)))
        made.update(part)
    return made.digest()


def check_tag(key: bytes, given: bytes, *parts: bytes) -> None:
    """Compare a tag with that of the parts; raises CipherError where it is another."""
    if not hmac.compare_digest(tag(key, *parts), given):
        raise CipherError("what came is not what was sent, or belongs to something else", where="tag")


def _suite() -> Suite:
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
