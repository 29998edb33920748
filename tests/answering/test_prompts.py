"""What the model is shown of evidence."""

from __future__ import annotations

import pytest

from fedrag_flwr.inference.prompts import evidence_prompt
from fedrag_flwr.records import EvidenceUnit


def unit(text: str, title: str = "Tarn Bridge") -> EvidenceUnit:
    return EvidenceUnit("u", text, "bridges", 0.5, title)


SHOWN = [
    ([unit("It is long."), unit("It is old.")], "- (Tarn Bridge) It is long. It is old."),
    ([unit("A."), unit("B.", "Ossel"), unit("C.")], "- (Tarn Bridge) A. C.\n- (Ossel) B."),
    ([unit("A.", ""), unit("B.", "Ossel")], "- A.\n- (Ossel) B."),
    ([unit("Varro (pronounced like arrow) drew it.")], "- (Tarn Bridge) Varro drew it."),
    ([unit("Varro (1880 – 1950) drew it.")], "- (Tarn Bridge) Varro (1880 – 1950) drew it."),
    ([unit("Varro (née Keel).", "Red Kite (film)")], "- (Red Kite (film)) Varro."),
]


@pytest.mark.parametrize(("units", "notes"), SHOWN)
def test_sentences_under_one_title_are_shown_together(units: list[EvidenceUnit], notes: str) -> None:
    assert evidence_prompt("Why?", units).user == f"Notes:\n{notes}\nQuestion: Why?"
