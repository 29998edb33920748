"""What shared memories are still good for: a receiver answers from the nearest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import accuracy, f1
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import MemoryItem
from simulations.parts.privacy_release import Shared


@dataclass(frozen=True, slots=True)
class Use:
    """Questions asked, and the sums of their accuracies and F1."""

    of: int
    accuracy: float
    f1: float


def answer_own(items: Sequence[MemoryItem], shared: Shared) -> Use:
    """Ask every memory's own question, as it was before the filter, also of those that the filter kept back."""
    vectors = np.stack([item.embedding for item in items])
    return _use(vectors, [(item.answer,) for item in items], shared)


def answer_asked(questions: Sequence[GoldQuestion], shared: Shared, encoder: Encoder) -> Use:
    """Ask the dataset's questions; one memory seldom holds the answer to a question of two hops."""
    vectors = encoder.encode([question.text for question in questions])
    return _use(vectors, [(question.answer, *question.aliases) for question in questions], shared)


def _use(vectors: NDArray[np.float32], golds: Sequence[tuple[str, ...]], shared: Shared) -> Use:
    bank = list(shared.items.values())
    nearest = (vectors @ np.stack([item.embedding for item in bank]).T).argmax(axis=1)
    answers = [bank[int(row)].answer for row in nearest]
    pairs = list(zip(answers, golds, strict=True))
    return Use(len(pairs), sum(accuracy(*pair) for pair in pairs), sum(f1(*pair) for pair in pairs))
