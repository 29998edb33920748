"""What construction made of the same texts by the same models, so that a stopped benchmark need not make it again."""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.files import replace_file
from fedrag_flwr.models.base import Completion, Encoder, Generator, Grammar, Prompt
from fedrag_flwr.models.cache import GenerationCache


class Keep:
    """Completions and vectors on disk, with the seconds that they took.

    Parameters
    ----------
    folder
        Where they lie; made if need be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._completions = GenerationCache(folder / "completions.sqlite")
        self.spared = 0.0

    def complete(
        self, generator: Generator, prompt: Prompt, grammar: Grammar, max_tokens: int, seed: int
    ) -> Completion:
        """The completion of a prompt by a model, as it was made the first time."""
        key = self._completions.key(generator.id, prompt, grammar, max_tokens, 1, seed, 0.0)
        if known := self._completions.get(key):
            self.spared += known[0].seconds
            return known[0]
        made = generator.complete(prompt, grammar=grammar, max_tokens=max_tokens, seed=seed)
        self._completions.put(key, made)
        return made[0]

    def encode(self, encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts by an encoder, shape (n, dimension)."""
        named = hashlib.sha256(json.dumps([encoder.id, *texts]).encode()).hexdigest()
        path = self.folder / f"{named}.npz"
        try:
            with np.load(path, allow_pickle=False) as kept:
                vectors, seconds = np.asarray(kept["vectors"], dtype=np.float32), float(kept["seconds"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # there is none, or it is torn
            start = time.perf_counter()
            vectors = encoder.encode(texts)
            file = io.BytesIO()
            np.savez(file, vectors=vectors, seconds=time.perf_counter() - start)
            replace_file(path, file.getvalue())
            return vectors
        self.spared += seconds
        return vectors
