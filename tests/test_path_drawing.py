"""An answer path in line, and as text."""

from __future__ import annotations

import pytest

from fedrag_flwr.path_drawing import chain_of, drawn
from fedrag_flwr.records import ChosenPath, PathStep

TO = PathStep("Ada", "taught", "Bell", "p0")
BACK = PathStep("Dirac", "cited", "Bell", "p2")
FROM = PathStep("bell", "met", "Curie", "p1")


@pytest.mark.parametrize(
    ("steps", "asked", "text"),
    [
        ((TO, FROM), ("Ada",), "[Ada]\n  ▼ taught   p0\n(Bell)\n  ▼ met   p1\nCurie"),
        ((PathStep("Bell", "knew", "Ada", "p0"), FROM), (), "Ada\n  ▲ knew   p0\n(Bell)\n  ▼ met   p1\nCurie"),
        ((TO, BACK), ("BELL",), "Ada\n  ▼ taught   p0\n[(Bell)]\n  ▲ cited   p2\nDirac"),
        ((FROM,), (), "(bell)\n  ▼ met   p1\nCurie"),
        ((TO,), ("Ada",), "(Bell)\n  ▲ taught   p0\n[Ada]"),
    ],
)
def test_a_path_is_drawn_through_its_bridge(steps: tuple[PathStep, ...], asked: tuple[str, ...], text: str) -> None:
    path = ChosenPath("p1", "bell", 1.0, 0.5, asked, steps)
    assert drawn(path) == text
    chain = chain_of(path)
    assert len(chain.nodes) == len(chain.links) + 1
    assert sum(node.bridge for node in chain.nodes) == 1
