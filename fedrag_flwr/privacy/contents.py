"""Vectors that stand for several sentences at once, of what the export filter makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
        vectors = _kept(content, list(islice(shown, len(content.texts))), encode)
        if len(vectors) >= FEWEST:
            mean = vectors.mean(axis=0)
            means[name] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return means


def shown_vectors(
    content: Content,
    operate: Callable[[list[Bundle]], list[Bundle]],
    encode: Callable[[list[str]], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """The vector of each text as it is shown, shape (n, dimension), by the rules of `mean_vectors`."""
    texts = [clean(text) for text in content.texts]
    return _kept(content, list(zip(texts, operate([Bundle((text,)) for text in texts]), strict=True)), encode)


def _kept(
    content: Content, shown: Sequence[tuple[str, Bundle]], encode: Callable[[list[str]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Vectors of what is not refused, of what is rewritten anew."""
    kept = [row for row, (_, bundle) in enumerate(shown) if not bundle.refusal]
    rewritten = [row for row in kept if shown[row][1].changes or shown[row][1].prose[0] != shown[row][0]]
    vectors = content.vectors.copy()
    if rewritten:
        vectors[rewritten] = encode([shown[row][1].prose[0] for row in rewritten])
    return np.asarray(vectors[kept], dtype=np.float32)
