"""The server's two tiers: what its model reads for a question, and what it answered (HyFedRAG 3.1, tiers 2 and 3)."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from fedrag_flwr.caching.keys import CacheKeys
from fedrag_flwr.caching.tier import Tier, TierStats, Versions
from fedrag_flwr.records import Answer, EvidenceUnit
from fedrag_flwr.text.words import normalise_line

T = TypeVar("T")
_UNITS = TypeAdapter(tuple[EvidenceUnit, ...])
_ANSWER = TypeAdapter(Answer)


class FusionCaches:
    """Inputs and answers by question and by the versions of all devices that were asked.

    Parameters
    ----------
    folder
        Where the tiers and their salt lie.
    size
        Bytes that each tier may take.
    made_by
        What inputs and answers depend on beside questions and devices: models and settings.
    """

    def __init__(self, folder: Path, size: int, made_by: str = "") -> None:
        self._keys = CacheKeys(folder)
        self._made_by = made_by
        self.inputs = Tier(folder / "inputs", size)
        self.answers = Tier(folder / "answers", size)

    def input(self, question: str, versions: Versions) -> tuple[EvidenceUnit, ...] | None:
        """What the model would read for a question, if it is here."""
        return decoded(_UNITS, self.inputs.get(self.key(question), versions))

    def keep_input(self, question: str, units: tuple[EvidenceUnit, ...], versions: Versions) -> None:
        """Keep what the model reads for a question."""
        self.inputs.put(self.key(question), _UNITS.dump_json(units), versions)

    def answer(self, question: str, versions: Versions) -> Answer | None:
        """What was answered to a question, if it is here."""
        return decoded(_ANSWER, self.answers.get(self.key(question), versions))

    def keep_answer(self, question: str, answer: Answer, versions: Versions) -> None:
        """Keep an answer."""
        self.answers.put(self.key(question), _ANSWER.dump_json(answer), versions)

    def knows(self, question: str, versions: Versions) -> bool:
        """Tell whether a question's answer is here, without counting it as used."""
        return self.answers.holds(self.key(question), versions)

    def purge(self, versions: Versions) -> int:
        """Delete what rests on other versions of these devices; returns how many entries went."""
        return sum(tier.purge(versions) for tier in self._tiers)

    def stats(self) -> tuple[TierStats, ...]:
        """What the tiers hold."""
        return tuple(tier.stats() for tier in self._tiers)

    def close(self) -> None:
        """Close the tiers."""
        for tier in self._tiers:
            tier.close()

    @property
    def _tiers(self) -> tuple[Tier, ...]:
        return (self.inputs, self.answers)

    def key(self, question: str) -> str:
        """The key of a question, however it is spaced and in whatever case."""
        return self._keys.of(self._made_by, normalise_line(question).casefold())


def decoded(adapter: TypeAdapter[T], found: bytes | None) -> T | None:
    """Read what a tier held; what is no longer of the present form counts as absent."""
    if found is None:
        return None
    try:
        return adapter.validate_json(found)
    except ValidationError:
        return None
