"""Vectors that stand for several sentences at once, of what the door makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import Vector

FEWEST = 4  # sentences: the mean of fewer would come too near to one sentence's own vector


@dataclass(frozen=True, slots=True)
class Content:
    """Sentences under their titles, and their vectors, shape (n, dimension), as the device keeps them."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]


def mean_vectors(
    contents: Mapping[str, Content],
    operate: Callable[[list[Bundle]], list[Bundle]],
    encode: Callable[[list[str]], NDArray[np.float32]],
) -> dict[str, Vector]:
    """The direction of each content's sentences as they are shown, shape (dimension,), where at least `FEWEST` are.

    A sentence that the operators leave as it is counts with the vector that is kept; one that they rewrite is encoded
    anew, and one that they refuse does not count.
    """
    texts = [clean(text) for content in contents.values() for text in content.texts]
    shown = iter(zip(texts, operate([Bundle((text,)) for text in texts]), strict=True))
    means: dict[str, Vector] = {}
    for name, content in contents.items():
        kept: list[int] = []
        rewritten: dict[int, str] = {}
        for row, (text, bundle) in enumerate(islice(shown, len(content.texts))):
            if bundle.refusal:
                continue
            kept.append(row)
            if bundle.changes or bundle.prose[0] != text:
                rewritten[row] = bundle.prose[0]
        if len(kept) < FEWEST:
            continue
        vectors = content.vectors.copy()
        if rewritten:
            vectors[list(rewritten)] = encode(list(rewritten.values()))
        mean = vectors[kept].mean(axis=0)
        means[name] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return means
