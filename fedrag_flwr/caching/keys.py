"""Keys of cached things: salted hashes that tell nothing of what was asked."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from fedrag_flwr.privacy.seals import kept_secret


class CacheKeys:
    """Makes keys with a secret salt that lies beside the caches, readable by its owner only; raises StoreCorruptError
    where the salt's file has another length.
    """

    def __init__(self, folder: Path) -> None:
        self._salt = kept_secret(folder / "salt.key", "delete the folder of caches")

    def of(self, *parts: str) -> str:
        """Give the key of some texts in this order: the first 32 hex digits of HMAC-SHA-256."""
        told = "".join(f"{len(part)}:{part}" for part in parts)  # so that no two lists of parts run together
        return hmac.new(self._salt, told.encode(), hashlib.sha256).hexdigest()[:32]
