"""Walks against the traces and averages of DRAG's own simulator."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fedrag_flwr.overlay.walks import Visit, Walk, WalkCount, WalkRules
from fedrag_flwr.records import WalkKind
from simulations.corpora.multihop import data_root
from simulations.overlay.simulator import run_walk


@dataclass(frozen=True, slots=True)
class Reference:
    """One network, where each topic lies, and what the reference counted."""

    neighbours: Mapping[int, list[int]]
    holder: Mapping[str, int]
    trace: list[tuple[int, str, int, int, bool]]
    random: Mapping[str, float]

    def walk(self, kind: WalkKind, home: int, topic: str, rng: np.random.Generator) -> WalkCount:
        def rank(visit: Visit[int], near: list[int]) -> list[tuple[int, float]]:
            return [(near[row], 0.0) for row in (range(len(near)) if kind == "flooding" else _drawn(near, rng))]

        def knows(visit: Visit[int]) -> bool:
            return self.holder[topic] == visit.peer

        return run_walk(Walk(home, WalkRules(kind)), self.neighbours.__getitem__, knows, rank)


def _drawn(near: list[int], rng: np.random.Generator) -> list[int]:
    return [int(rng.integers(len(near)))] if near else []


@pytest.fixture(scope="module", params=["20", "100"])
def reference(request: pytest.FixtureRequest) -> Reference:
    root = data_root()
    file = root / "reference" / "drag" / "drag_fixtures.json.gz" if root else None
    if file is None or not file.is_file():
        pytest.skip("needs reference/drag in FEDRAG_DATA")
    with gzip.open(file, "rt") as lines:
        read: dict[str, Any] = json.load(lines)[request.param]
    return Reference(
        {int(peer): near for peer, near in read["adjacency_order"].items()},
        read["topic_peer"],
        [tuple(row) for row in read["fl_trace"]],
        read["rw"],
    )


def test_flooding_counts_as_the_reference_in_every_question(reference: Reference) -> None:
    rng = np.random.default_rng(0)
    assert len(reference.trace) == 2_000
    for home, topic, hops, messages, hit in reference.trace:
        count = reference.walk("flooding", home, topic, rng)
        assert (count.hops, count.queried, count.hit) == (hops, messages, hit)


def test_random_walks_are_within_two_per_cent_of_the_reference_averages(reference: Reference) -> None:
    rng = np.random.default_rng(0)
    asked = [(home, topic) for home, topic, *_ in reference.trace] * 10
    counts = [reference.walk("random", home, topic, rng) for home, topic in asked]
    means = {
        "hops": np.mean([count.hops for count in counts]),
        "messages": np.mean([count.queried for count in counts]),
    }
    assert means == pytest.approx({name: reference.random[name] for name in means}, rel=0.02)
    # a share of 2,000 draws: two per cent of it are less than the reference's own standard error
    error = np.sqrt(reference.random["hit"] * (1 - reference.random["hit"]) / len(reference.trace))
    assert np.mean([count.hit for count in counts]) == pytest.approx(reference.random["hit"], abs=error)
