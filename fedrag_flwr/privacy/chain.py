"""The operators of the export filter, one after the other; where one fails, nothing goes on."""

from __future__ import annotations

from collections.abc import Sequence

from fedrag_flwr.errors import FedragError, PrivacyError
from fedrag_flwr.privacy.operators import Bundle, Operator


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
