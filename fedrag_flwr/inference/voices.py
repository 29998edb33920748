"""Which devices tell an answer over evidence: where one may lie, what only one of them says is not believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fedrag_flwr.inference.cognizer import Verdict
from fedrag_flwr.inference.support import evidence_texts, is_supported, is_yes_no
from fedrag_flwr.memory.fusion.fusing import owners
from fedrag_flwr.records import EvidenceUnit, MemoryItem, because


def voices(answer: str, home: str, units: Sequence[EvidenceUnit], notes: Sequence[MemoryItem]) -> frozenset[str]:
    """The devices of which a sentence or a memory holds an answer's words.

    No words say which of them tell yes or no: all others that gave evidence count, and home where nobody did.
    """
    if is_yes_no(answer):
        named = {unit.origin for unit in units}.union(*map(owners, notes))
        return frozenset(named - {home} or named)
    told = {unit.origin for unit in units if is_supported(answer, evidence_texts([unit]))}
    return frozenset(told.union(*(owners(item) for item in notes if is_supported(answer, [item.answer]))))


def heard(
    verdict: Verdict, home: str, units: Sequence[EvidenceUnit], notes: Sequence[MemoryItem], least: int
) -> Verdict:
    """The verdict; without its text where neither home nor so many other devices tell it.

    Parameters
    ----------
    verdict
        What was answered.
    home
        The device where the question is asked.
    units, notes
        What it was answered from.
    least
        How many devices must tell what home does not; 0: none.
    """
    if not verdict.text or not least:
        return verdict
    told_by = voices(verdict.text, home, units, notes)
    if home in told_by or len(told_by) >= least:
        return verdict
    said = f"told by {len(told_by)} < {least} devices"
    return replace(verdict, text="").decided(because("voices", said, len(told_by), least))
