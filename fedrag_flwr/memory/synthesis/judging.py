"""Asking drafts back beside those that stand: new ones all, standing ones where a change concerns them.

What speaks against a draft is a sentence as near to its question as its own support, or the same question with another
answer (`verify.round_trip`). So the verdict on a standing draft can only differ where such a sentence or such a
question came or went, and asking these alone gives what asking all would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.synthesis.grounding import normalise
from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.memory.synthesis.standing import Drafts
from fedrag_flwr.memory.synthesis.verify import AT_ONCE, MARGIN, round_trip
from fedrag_flwr.records import Sentence

_MOST = 4_096  # drafts whose vectors are copied at once
_ROUNDED = 1e-5  # cosines that differ by less may be equal


@dataclass(frozen=True, slots=True)
class Judged:
    """Drafts after judging.

    `changed` are those that are new or stand otherwise than before, `withdrawn` those that stood otherwise, `kept` all
    that are memories now, and `rejected` counts what changed and did not come back, by kind and reason.
    """

    changed: Drafts
    withdrawn: tuple[Draft, ...]
    kept: tuple[Draft, ...]
    rejected: Mapping[tuple[str, str], int]


class Judge:
    """Judges drafts by the sentences of a device.

    Parameters
    ----------
    sentences, vectors
        All sentences, and their vectors, shape (sentences, dimension), unit rows.
    changed
        Vectors of the sentences that came or went, shape (n, dimension); None: any may have.
    """

    def __init__(
        self, sentences: Sequence[Sentence], vectors: NDArray[np.float32], changed: NDArray[np.float32] | None
    ) -> None:
        self._sentences = sentences
        self._vectors = vectors
        self._changed = changed
        self._row = {sentence.id: row for row, sentence in enumerate(sentences)}

    def judge(self, new: Drafts, stood: Drafts, gone: Iterable[str]) -> Judged:
        """Ask back what is new, and of what stood what is concerned.

        Parameters
        ----------
        new
            Drafts that were never asked.
        stood
            Those that were.
        gone
            Questions that went.
        """
        questions = [normalise(draft.question) for draft in stood.drafts]
        turned = {normalise(question) for question in (*(draft.question for draft in new.drafts), *gone)}
        again = self._concerned(stood, np.array([question in turned for question in questions], dtype=np.bool_))
        asked = new + stood.at(again)
        others = np.setdiff1d(np.arange(len(stood)), again).tolist()
        alike = {normalise(draft.question) for draft in asked.drafts}
        trip = round_trip(
            asked.drafts,
            asked.vectors,
            self._sentences,
            self._vectors,
            [(stood.drafts[row].question, stood.drafts[row].answer) for row in others if questions[row] in alike],
        )
        kept = np.zeros(len(asked), dtype=np.bool_)
        kept[list(trip.kept)] = True
        differs = np.flatnonzero((kept != asked.kept) | (np.arange(len(asked)) < len(new)))
        now = replace(asked, kept=kept)
        return Judged(
            now.at(differs),
            tuple(asked.drafts[row] for row in differs if row >= len(new)),
            (
                *(asked.drafts[row] for row in trip.kept),
                *(stood.drafts[row] for row in others if stood.kept[row]),
            ),
            Counter((asked.drafts[row].kind, trip.reasons[row]) for row in differs.tolist() if row in trip.reasons),
        )

    def _concerned(self, stood: Drafts, turned: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The rows of drafts that the change may concern; `turned` are those whose question came or went elsewhere."""
        if self._changed is None:
            return np.arange(len(stood))
        found = turned.copy()
        at_once = min(_MOST, max(1, AT_ONCE // max(len(self._changed), 1)))
        for start in range(0, len(stood) if len(self._changed) else 0, at_once):
            rows = slice(start, start + at_once)
            nearest = (stood.vectors[rows] @ self._changed.T).max(axis=1)
            own = self._own_cosines(stood.drafts[rows], stood.vectors[rows])
            found[rows] |= nearest >= own - MARGIN / 2 - _ROUNDED
        return np.flatnonzero(found)

    def _own_cosines(self, drafts: Sequence[Draft], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """How near each question is to the nearest unit of its support, shape (drafts,)."""
        pairs = [(row, self._row[unit]) for row, draft in enumerate(drafts) for unit in draft.support]
        rows, units = np.array(pairs, dtype=np.intp).T
        cosines = np.einsum("ij,ij->i", vectors[rows], self._vectors[units])
        return np.asarray(np.maximum.reduceat(cosines, np.unique(rows, return_index=True)[1]))
