"""The model alone, without any document: how much of an answer is the model's own knowledge."""

from __future__ import annotations

from fedrag_flwr.baselines.reading import Construction, Meter, answer_of
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.records import Answer, Question


class ClosedBook:
    """Answers from what the model knows.

    Parameters
    ----------
    substrate
        Only its model is used.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self.construction = Construction()

    def answer(self, question: Question) -> Answer:
        """Ask the model once."""
        meter = Meter(self._substrate)
        return answer_of(question, meter.recite(question.text), meter.cost)
