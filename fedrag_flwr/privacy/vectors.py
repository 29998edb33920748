"""Vectors of what leaves, made of texts as they were rewritten, and how near evidence is to a question's vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import PrivacyError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import EvidenceUnit, MemoryItem, Vector
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


def rounded(vector: Vector, dimension: int, device: str) -> Vector:
    """One vector, shape (dimension,), as float32 of float16 precision.

    Raises
    ------
    PrivacyError
        If it is not a finite vector of this dimension; names the device.
    """
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise PrivacyError("a vector is not finite or has a wrong shape", where=device)
    return vector.astype(np.float16).astype(np.float32)


def item_vectors(passed: Sequence[tuple[MemoryItem, Bundle]], encoder: Encoder) -> list[Vector]:
    """The vector of each memory's question as it was rewritten."""
    # Also where a surrogate happens to be the name itself: a vector that is only then the stored one would tell.
    changed = [
        index for index, (item, bundle) in enumerate(passed) if bundle.changes or bundle.prose[0] != item.question
    ]
    vectors = [item.embedding for item, _ in passed]
    if changed:
        encoded = encoder.encode([passed[index][1].prose[0] for index in changed])
        for index, vector in zip(changed, encoded, strict=True):
            vectors[index] = vector
    return vectors


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
