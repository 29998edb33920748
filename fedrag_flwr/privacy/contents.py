"""Vectors that stand for several sentences at once, of what the door makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    contents: Sequence[Content],
    operate: Callable[[list[Bundle]], list[Bundle]],
    encode: Callable[[list[str]], NDArray[np.float32]],
) -> list[Vector | None]:
    """The direction of each content's sentences as they are shown, shape (dimension,); None where too few are.

    A sentence that the operators leave as it is counts with the vector that is kept; one that they rewrite is encoded
    anew, and one that they refuse does not count.
    """
    texts = [clean(text) for content in contents for text in content.texts]
    shown = operate([Bundle((text,)) for text in texts])
    rewritten = [
        row
        for row, (text, bundle) in enumerate(zip(texts, shown, strict=True))
        if not bundle.refusal and (bundle.changes or bundle.prose[0] != text)
    ]
    vectors = np.concatenate([content.vectors for content in contents]) if contents else np.zeros((0, 0), np.float32)
    if rewritten:
        vectors[rewritten] = encode([shown[row].prose[0] for row in rewritten])
    kept = np.array([not bundle.refusal for bundle in shown], dtype=bool)
    means: list[Vector | None] = []
    start = 0
    for content in contents:
        rows = np.arange(start, start + len(content.texts))[kept[start : start + len(content.texts)]]
        start += len(content.texts)
        mean = vectors[rows].mean(axis=0) if len(rows) >= FEWEST else None
        means.append(None if mean is None else mean / max(float(np.linalg.norm(mean)), 1e-12))
    return means
