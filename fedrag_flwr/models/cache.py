"""Completions made before, kept on the device so that a repeated prompt costs nothing."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, replace
from pathlib import Path

from fedrag_flwr.caching.tier import Tier
from fedrag_flwr.models.base import Completion, Grammar, Prompt

_log = logging.getLogger(__name__)


class GenerationCache:
    """Completions by the hash of what they were made from; several processes may share one; raises StoreError where the
    folder cannot be made or opened.

    A file that is torn is made anew, and one that cannot be written keeps nothing: the cache only saves time.

    Parameters
    ----------
    folder
        The cache's own; its owner alone can read it, for it holds generated text.
    limit_bytes
        Most bytes on disk; beyond it the least recently used completions go.
    """

    def __init__(self, folder: str | Path, *, limit_bytes: int = 256 << 20) -> None:
        self._kept = Tier(Path(folder), limit_bytes)

    def key(
        self,
        generator_id: str,
        prompt: Prompt,
        grammar: Grammar | None,
        max_tokens: int,
        n: int,
        seed: int,
        temperature: float,
    ) -> str:
        """Hash everything that a completion depends on; the seed and temperature only where something is drawn."""
        drawn = None if n == 1 else (seed, temperature)
        parts = (generator_id, prompt.system, prompt.examples, prompt.user, grammar, max_tokens, n, drawn)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def get(self, key: str) -> list[Completion] | None:
        """Give the completions of a key, marked as cached and with the seconds they once took; None if unknown."""
        content = self._kept.get(key, {})
        try:
            return None if content is None else [Completion(**fields) for fields in json.loads(content)]
        except (ValueError, TypeError) as error:
            _log.warning("a kept completion cannot be read: %s", type(error).__name__)
            return None

    def put(self, key: str, completions: list[Completion]) -> None:
        """Keep the completions of a key."""
        kept = [asdict(replace(made, cached=True, setup=0.0)) for made in completions]
        self._kept.put(key, json.dumps(kept).encode(), {})

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._kept.close()
