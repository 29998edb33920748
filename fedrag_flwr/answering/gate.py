"""The gate: whether home's answers are good enough, and which of them is given (DGRAG 3.3 step 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ConfigDict, model_validator

from fedrag_flwr.answering.gate_signals import MEANINGS, SIGNALS, UNKNOWN_LEAD, SignalReader, Signals
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.files import read_fitted
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.base import QuestionAnalysis

ALONE = Path(__file__).with_name("gate_alone.json")  # for a device that knows nothing of others
INFORMED = Path(__file__).with_name("gate_informed.json")  # for one that holds the vectors of all summaries
_UNKNOWN = 0.5  # what a signal counts for that is not known


class GateModel(Logistic):
    """Confidence in home's answers as a logistic function of signals; raises ValueError for signals it cannot know."""

    model_config = ConfigDict(extra="forbid")

    threshold: float  # confidence from which home answers
    fitted_on: str = ""  # what weights and threshold were fitted on

    @model_validator(mode="after")
    def _knows_its_signals(self) -> Self:
        if not set(self.features) <= set(SIGNALS):
            raise ValueError("unknown signals")
        return self

    def confidence(self, signals: Signals) -> float:
        """How sure home's answers are, in (0, 1)."""
        return self.of([getattr(signals, name) for name in self.features])

    def pushes(self, signals: Signals) -> dict[str, float]:
        """By how much each signal moves confidence's log-odds, beside its being unknown: above 0 towards home."""
        weights = zip(self.features, self.weights, strict=True)
        return {name: weight * (getattr(signals, name) - _UNKNOWN) for name, weight in weights}

    def explained(self, signals: Signals) -> str:
        """Each signal with its meaning and its push, the strongest first."""
        pushes = self.pushes(signals)
        told = [
            f"{name} {getattr(signals, name):.2f}, {MEANINGS[name]}: {pushes[name]:+.2f}"
            for name in sorted(pushes, key=lambda name: (-abs(pushes[name]), name))
        ]
        return "; ".join(told)

    def save(self, path: Path) -> None:
        """Write the model as JSON."""
        path.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model; raises StoreCorruptError where the file holds none."""
        return read_fitted(path, cls.model_validate)


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether home answers, by which candidate (-1: none says anything), and why."""

    at_home: bool
    chosen: int
    confidence: float
    threshold: float
    explanation: str


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides over candidates."""

    reader: SignalReader  # measures the signals
    model: GateModel  # combines them

    def decide(
        self,
        analysis: QuestionAnalysis,
        candidates: Sequence[str],
        units: Sequence[EvidenceUnit],
        lead: float = UNKNOWN_LEAD,
    ) -> GateDecision:
        """Accept or reject home's candidates; where none says anything the question leaves, whatever else holds.

        The parameters are those of `SignalReader.measure`.
        """
        signals, chosen = self.reader.measure(analysis, candidates, units, lead)
        confidence = self.model.confidence(signals)
        at_home = chosen >= 0 and confidence >= self.model.threshold
        sign = ">=" if confidence >= self.model.threshold else "<"
        why = f"gate: confidence {confidence:.2f} {sign} {self.model.threshold:.2f} ({self.model.explained(signals)})"
        told = why if chosen >= 0 else f"no candidate says anything; {why}"
        return GateDecision(at_home, chosen, confidence, self.model.threshold, told)
