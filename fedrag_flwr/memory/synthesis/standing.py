"""What a device made of its documents before, which stands beside what is new.

A draft that was not kept, since other documents spoke against it when it was asked back, stands too: what spoke against
it may go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.records import Passage


def _no_vectors() -> NDArray[np.float32]:
    return np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Drafts:
    """Drafts that are sound by themselves, with their questions' vectors, (n, dimension).

    `kept`, shape (n,), tells those that came back when they were asked: the memories.
    """

    drafts: tuple[Draft, ...] = ()
    vectors: NDArray[np.float32] = field(default_factory=_no_vectors)
    kept: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.drafts)

    def at(self, rows: Sequence[int] | NDArray[np.intp]) -> Drafts:
        """Some of them, by row."""
        chosen = np.asarray(rows, dtype=np.intp)
        return Drafts(tuple(self.drafts[row] for row in chosen), self.vectors[chosen], self.kept[chosen])

    def where(self, holds: Callable[[Draft], bool]) -> Drafts:
        """Those for which something holds."""
        return self.at([row for row, draft in enumerate(self.drafts) if holds(draft)])

    def __add__(self, other: Drafts) -> Drafts:
        if not (len(self) and len(other)):
            return self if len(self) else other
        return Drafts(
            self.drafts + other.drafts,
            np.concatenate([self.vectors, other.vectors]),
            np.concatenate([self.kept, other.kept]),
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """What a device holds of documents that did not change, and what went with those that did.

    Parameters
    ----------
    passages
        Of the documents that did not change.
    drafts
        What rules made of these.
    gone
        Vectors of sentences that went, shape (n, dimension).
    gone_questions
        Questions that went with them.
    unjudged
        Whether sentences came or went before without the drafts having been judged by it.
    """

    passages: Sequence[Passage] = ()
    drafts: Drafts = field(default_factory=Drafts)
    gone: NDArray[np.float32] = field(default_factory=_no_vectors)
    gone_questions: Sequence[str] = ()
    stale: bool = False
