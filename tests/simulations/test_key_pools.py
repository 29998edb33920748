"""The benchmark of key spaces over a whole device: what its measures count, and that every key space is ranked."""

from __future__ import annotations

import numpy as np

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.records import EvidenceTuple, Passage
from simulations.bench_key_pools import MEASURES, measured, ranked_pool
from simulations.parts.candidate_rankings import RARE, SPACES

FACTS = [
    ("Ada Morrow", "mapped", "Ossel"),
    ("Ossel", "flows through", "Lindmoor"),
    ("Lindmoor", "has", "Salt Archive"),
    ("Jonas Keel", "painted", "Tarn Bridge"),
    ("Tarn Bridge", "crosses", "Ossel"),
]


def test_measures_count_supporting_passages_and_answers() -> None:
    top = [f"p{place}" for place in range(20)]
    found = measured(top, {"p3", "p7"}, {"p7"})
    assert found == {
        "R@5": 50.0,
        "R@10": 100.0,
        "all@5": 0.0,
        "all@10": 100.0,
        "all@20": 100.0,
        "support@5": 0.0,
        "support@10": 100.0,
    }
    assert np.isnan(measured(top, {"p3"}, set())["support@5"])


def test_every_key_space_ranks_the_pool() -> None:
    passages = [
        Passage(f"p{n}", f"p{n}", head, f"{head} {told} {tail}.", ()) for n, (head, told, tail) in enumerate(FACTS)
    ]
    tuples = [EvidenceTuple(*fact, f"p{n}") for n, fact in enumerate(FACTS)]
    question = GoldQuestion("q", "What did Ada Morrow map?", "Ossel", (), "bridge", ("p0",), "dev")
    found = dict(ranked_pool([question], passages, tuples))
    assert {f"{name}{kind}" for name in SPACES for kind in ("", RARE)} < found.keys()
    assert len(found) == 2 * (len(SPACES) + 3)
    for values in found.values():
        assert {name: values[name].shape for name in MEASURES} == dict.fromkeys(MEASURES, (1,))
    assert found[f"weighted answer paths{RARE}"]["R@5"][0] == 100.0
    assert found[f"weighted answer paths{RARE}"]["support@5"][0] == 100.0
