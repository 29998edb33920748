from __future__ import annotations

import numpy as np
import pytest

from fedrag_flwr.hypergraph import LearningSettings, learn
from fedrag_flwr.hypergraph.diffusion import keep_memberships
from tests.hypergraph.samples import cloud, generator

ROWS = np.array([[0.6, 0.4, 0.0], [0.45, 0.45, 0.1], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])


@pytest.mark.parametrize(
    ("threshold", "kept", "orphans"),
    [
        (0.5, [[0], [0], [0], [2]], 3),  # what equals the threshold does not pass it
        (0.49, [[0], [0], [0, 1], [2]], 1),
        (0.3, [[0, 1], [0, 1], [0, 1], [2]], 0),
        (0.0, [[0, 1], [0, 1, 2], [0, 1], [0, 1, 2]], 0),
    ],
)
def test_a_lower_threshold_lets_units_be_in_several_hyperedges(
    threshold: float, kept: list[list[int]], orphans: int
) -> None:
    mask, counted = keep_memberships(ROWS, threshold)
    assert [np.flatnonzero(row).tolist() for row in mask] == kept
    assert counted == orphans


def test_learnt_hyperedges_overlap_below_a_half_only() -> None:
    group = cloud(200)
    members = {
        mu: sum(len(edge.members) for edge in learn([group], LearningSettings(threshold=mu), generator()).hyperedges)
        for mu in (0.5, 0.1)
    }
    assert members[0.5] == 200 < members[0.1]
