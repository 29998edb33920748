"""Keys of cached things: salted hashes that tell nothing of what was asked."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from contextlib import suppress
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.files import write_private

_SALT = "salt.key"
_BYTES = 32


class CacheKeys:
    """Makes keys with a secret salt that lies beside the caches, readable by its owner only.

    Parameters
    ----------
    folder
        Where the caches lie; made where it is missing.

    Raises
    ------
    StoreCorruptError
        The salt's file has another length.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / _SALT
        if not path.exists():
            with suppress(FileExistsError):  # of two processes that begin together one writes, and both read that
                write_private(path, secrets.token_bytes(_BYTES))
        self._salt = path.read_bytes()
        if len(self._salt) != _BYTES:
            raise StoreCorruptError("the salt of the caches is torn", where=_SALT, fix="delete the folder of caches")

    def of(self, *parts: str) -> str:
        """Give the key of some texts in this order: the first 32 hex digits of HMAC-SHA-256."""
        told = "".join(f"{len(part)}:{part}" for part in parts)  # so that no two lists of parts run together
        return hmac.new(self._salt, told.encode(), hashlib.sha256).hexdigest()[:32]
