"""The operators of the export filter, one after the other; where one fails, nothing goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fedrag_flwr.errors import FedragError, PrivacyError
from fedrag_flwr.records import Fact

ANCHOR = -1


@dataclass(frozen=True, slots=True)
class Change:
    """Why a span was changed: its type and the rule that found it, never the text.

    `field` is the index of the text in `Bundle.prose`, or `ANCHOR`; `masked` tells a placeholder from a surrogate.
    """

    field: int
    type: str
    rule: str
    masked: bool


@dataclass(frozen=True, slots=True)
class Bundle:
    """The texts of one thing that wants to leave, rewritten together so that a replacement is the same everywhere.

    Parameters
    ----------
    prose
        Texts to read and to rewrite, for instance a question and its answer.
    anchors
        Normal forms that follow the replacements found in the prose.
    known
        Typed spans that the caller knows already, for instance the answer to a question that asks for a person.
    changes
        What the operators so far have changed.
    refusal
        Why the thing may not leave at all; empty while it may.
    question
        What the texts are to answer, where they are evidence for a question; it does not leave with them.
    beside
        Texts of this device that the prose was taken from: they are read for what in it is a name, and do not leave.
    """

    prose: tuple[str, ...]
    anchors: tuple[str, ...] = ()
    known: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()
    refusal: str = ""
    question: str = ""
    beside: tuple[str, ...] = ()


class Operator(Protocol):
    """One link of the export filter's chain."""

    @property
    def name(self) -> str:
        """A short name for counts and errors."""
        ...

    def validate(self) -> None:
        """Check the settings once, before the first use.

        Raises
        ------
        SettingError
            If the operator cannot work as it is set up.
        """
        ...

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Rewrite bundles, one for one and in order; a bundle that may not leave comes back with a refusal."""
        ...


class OperatorChain:
    """An export filter's operators in order.

    Parameters
    ----------
    operators
        They rewrite texts, each what the one before it gave.
    device
        The device's name, for errors.

    Raises
    ------
    SettingError
        If an operator cannot work as it is set up.
    """

    def __init__(self, operators: Sequence[Operator], device: str) -> None:
        for operator in operators:
            operator.validate()
        self._operators = tuple(operators)
        self._device = device

    @property
    def name(self) -> str:
        """The operators' names, in order."""
        return "+".join(operator.name for operator in self._operators) or "none"

    @property
    def rewrites(self) -> bool:
        """Whether there is any operator."""
        return bool(self._operators)

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Run the chain, one bundle for one and in order.

        Raises
        ------
        PrivacyError
            If an operator fails or loses a text; it says nothing of the texts.
        """
        current = list(bundles)
        for operator in self._operators:
            current = self._step(operator, current)
        return current

    def _step(self, operator: Operator, bundles: Sequence[Bundle]) -> list[Bundle]:
        failed = ""
        try:
            rewritten = operator.operate(bundles)
            if len(rewritten) == len(bundles):
                return rewritten
            failed = "lost a text"
        except FedragError:
            raise
        except Exception as error:
            failed = f"failed ({type(error).__name__})"
        raise PrivacyError(f"operator {operator.name} {failed}, so nothing is released", where=self._device)
