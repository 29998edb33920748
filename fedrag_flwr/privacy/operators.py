"""The operators of the export filter, one after the other; where one fails, nothing goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fedrag_flwr.records import Fact

ANCHOR = -1


@dataclass(frozen=True, slots=True)
class Change:
    """What kind of span was changed, never the text.

    `field` is the index of the text in `Bundle.prose`, or `ANCHOR`; `masked` tells a placeholder from a surrogate.
    """

    field: int
    type: str
    masked: bool


@dataclass(frozen=True, slots=True)
class Bundle:
    """The texts of one thing that wants to leave, rewritten together so that a replacement is the same everywhere."""

    prose: tuple[str, ...]  # texts to read and to rewrite, for instance a question and its answer
    anchors: tuple[str, ...] = ()  # normal forms that follow the replacements found in the prose
    # Typed spans that the caller knows already, for instance the answer to a question that asks for a person.
    known: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()  # what the operators so far have changed
    refusal: str = ""  # why the thing may not leave at all; empty while it may
    # What the texts are to answer, where they are evidence for a question; it does not leave with them.
    question: str = ""
    # Texts of this device that the prose was taken from: they are read for what in it is a name, and do not leave.
    beside: tuple[str, ...] = ()


class Operator(Protocol):
    """One link of the export filter's chain."""

    @property
    def name(self) -> str:
        """A short name for counts and errors."""
        ...

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Rewrite bundles, one for one and in order; a bundle that may not leave comes back with a refusal."""
        ...
