"""Opaque ids: keyed hashes of own ids that only the device with the key can make or resolve."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from fedrag_flwr.errors import SettingError, StoreCorruptError, StoreError

KEY_BYTES = 32
_CHARS = 32


class OpaqueIds:
    """Maps own ids to opaque ones (HMAC-SHA-256, 128 bits), the same for the same key.

    Raises
    ------
    SettingError
        If the key is shorter than 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise SettingError(f"it needs {KEY_BYTES} bytes or more", where="opaque-id key")
        self._key = key

    def __call__(self, own_id: str) -> str:
        """Give the opaque form of an own id."""
        return hmac.new(self._key, own_id.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:_CHARS]

    def resolve(self, own_ids: Iterable[str]) -> dict[str, str]:
        """Map opaque forms back to the own ids that they stand for."""
        return {self(own_id): own_id for own_id in own_ids}


def load_key(path: Path) -> bytes:
    """Read the device's key, or make one that only the file's owner can read.

    Raises
    ------
    StoreError
        If the file can be neither read nor written, or does not hold a key.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        if not path.exists():
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            _link_once(temporary, path)
        key = path.read_bytes()
    except OSError as error:
        raise StoreError(f"the key cannot be used ({type(error).__name__})", where=path.name) from error
    if len(key) != KEY_BYTES:
        raise StoreCorruptError("it does not hold a key", where=path.name, fix="restore it; a new key makes new ids")
    return key


def _link_once(temporary: Path, path: Path) -> None:
    """Put a whole file in place unless another process was first."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    finally:
        temporary.unlink()
