"""How near evidence is to a question, measured on its words: for what leaves a device, and for what comes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit, Vector
from fedrag_flwr.text.segment import under_title


def rescored(units: Sequence[EvidenceUnit], vector: Vector, encoder: Encoder) -> list[EvidenceUnit]:
    """Units with the cosine of what they say to a question's vector, shape (dimension,), in place of any they claim."""
    if not units:
        return []
    scores = np.clip(encoder.encode([under_title(unit.title, unit.text) for unit in units]) @ vector, -1.0, 1.0)
    return [replace(unit, score=float(score)) for unit, score in zip(units, scores, strict=True)]
