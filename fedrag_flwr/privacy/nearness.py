"""How near evidence is to a question, measured on its words: for what leaves a device, and for what comes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit, Vector
from fedrag_flwr.text.segment import under_title

_ROUNDING = 0.02  # by which an honest owner's score may be higher: another machine, another build of the encoder


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
