"""Vectors of what leaves, made of texts as they were rewritten, and how near evidence is to a question's vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import EvidenceUnit, Vector
from fedrag_flwr.text.segment import under_title

_ROUNDING = 0.02  # by which an honest owner's score may be higher: another machine, another build of the encoder
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
    shown = iter(operate([Bundle((clean(text),)) for content in contents.values() for text in content.texts]))
    means: dict[str, Vector] = {}
    for name, content in contents.items():
        told = Content(tuple(map(clean, content.texts)), content.vectors)
        vectors = kept_vectors(told, list(islice(shown, len(told.texts))), encode)
        if len(vectors) >= FEWEST:
            mean = vectors.mean(axis=0)
            means[name] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return means


def kept_vectors(
    content: Content, shown: Sequence[Bundle], encode: Callable[[list[str]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The vectors of what is not refused, shape (n, dimension); of what is rewritten new ones.

    Also where a surrogate happens to be the name itself: a vector that is only then the stored one would tell.
    """
    kept = [row for row, bundle in enumerate(shown) if not bundle.refusal]
    rewritten = [row for row in kept if shown[row].changes or shown[row].prose[0] != content.texts[row]]
    vectors = content.vectors.copy()
    if rewritten:
        vectors[rewritten] = encode([shown[row].prose[0] for row in rewritten])
    return np.asarray(vectors[kept], dtype=np.float32)


def verified(units: Sequence[EvidenceUnit], vector: Vector, encoder: Encoder, most: int) -> list[EvidenceUnit]:
    """The `most` units nearest to a question's vector, shape (dimension,), with scores that were computed here.

    Their owners' claims choose as long as those that are chosen prove true. If one does not, nobody is believed and all
    units are scored: who claims too much gains nothing, who claims too little loses its own place alone.
    """
    claimed = sorted(units, key=lambda unit: -unit.score)[:most]
    found = rescored(claimed, vector, encoder)
    if any(claim.score > unit.score + _ROUNDING for claim, unit in zip(claimed, found, strict=True)):
        found = rescored(units, vector, encoder)
    return sorted(found, key=lambda unit: -unit.score)[:most]


def rescored(units: Sequence[EvidenceUnit], vector: Vector, encoder: Encoder) -> list[EvidenceUnit]:
    """Units with the cosine of what they say to a question's vector, shape (dimension,), in place of any they claim."""
    if not units:
        return []
    scores = np.clip(encoder.encode([under_title(unit.title, unit.text) for unit in units]) @ vector, -1.0, 1.0)
    return [replace(unit, score=float(score)) for unit, score in zip(units, scores, strict=True)]
