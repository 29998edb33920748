"""What fields of records are made of: bounded texts and numbers, vectors, and the choices that messages name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Clock = Callable[[], float]
Vector = NDArray[np.float32]
Granularity = Literal["paragraph", "sentence"]
AnswerPath = Literal["memorizer", "cognizer", "remote", "cache", "abstained"]
AnswerMode = Literal[
    "closed-book", "passages", "controlled", "own-memory", "memory", "assisted", "graph", "gated", "walk", "routed"
]
Step = Literal[
    "memory",
    "evidence",
    "model",
    "confidence",
    "place",
    "gate",
    "routing",
    "help",
    "walk",
    "cache",
    "report",
    "outcome",
]
RetrieveBy = Literal["hyperedges", "nearest", "graph"]
Exchange = Literal["plain", "download", "encrypted"]
ControllerStage = Literal["moments", "fit", "keep"]
TopicStage = Literal["known", "sketch", "count", "move", "keep"]


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a field of a travelling record may hold."""

    chars: int = 0  # longest text, in characters
    # Whether a text may have line breaks. Else it arrives as one line, and without control characters: no sender makes
    # a prompt, a page or a terminal read it as more than a text.
    lines: bool = False
    items: int = 0  # most elements of a sequence
    # low, high: smallest and largest number.
    low: float = 0.0
    high: float = 0.0
    size: int = 0  # most bytes
    empty: bool = False  # whether vectors may have no values at all: they are not told then


Name = Annotated[str, Bound(chars=200)]
MOST_LINE = 2_000
Line = Annotated[str, Bound(chars=MOST_LINE)]
Paragraph = Annotated[str, Bound(chars=20_000)]
Body = Annotated[str, Bound(chars=20_000, lines=True)]
Count = Annotated[int, Bound(low=0, high=2**40)]
Cosine = Annotated[float, Bound(low=-1.001, high=1.001)]
Weight = Annotated[float, Bound(low=-1e6, high=1e6)]
MOST_SECONDS = 1e7
Seconds = Annotated[float, Bound(low=0.0, high=MOST_SECONDS)]
Key = Annotated[bytes, Bound(size=32)]  # X25519, or an authentication tag's digest
Ciphertext = Annotated[bytes, Bound(size=96 * 2**10)]
MOST_PARTS = 64
SumParts = Annotated[tuple[Ciphertext, ...], Bound(items=MOST_PARTS)]  # numbers under a group's key, or their sum
Sealed = Annotated[bytes, Bound(size=2**20)]
HiddenVector = Annotated[Vector, Bound(empty=True)]  # empty where the exchange does not tell it


class Progress(Protocol):
    """Told about long work as it goes on."""

    def __call__(self, phase: str, done: int, total: int) -> None: ...


def silent(phase: str, done: int, total: int) -> None:
    """Ignore progress."""
