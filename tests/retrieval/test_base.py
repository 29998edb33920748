"""Ranking by score: order, ties, bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval import ranked, searchable_text

SCORES = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 2)), max_size=30)


@given(SCORES, st.integers(-1, 40), st.sampled_from([-np.inf, 0.0]))
def test_ranking_is_the_sorted_head(scores: list[float], k: int, above: float) -> None:
    ids = [f"p{number:02d}" for number in range(len(scores))][::-1]
    wanted = sorted((-score, name) for name, score in zip(ids, scores, strict=True) if score > above)[: max(k, 0)]
    found = ranked(ids, np.array(scores), k, above=above)
    assert [(one.passage_id, one.score) for one in found] == [(name, -score) for score, name in wanted]


def test_the_last_bit_of_a_sum_does_not_decide() -> None:
    first, second = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert first != second
    for scores in ([first, second], [second, first]):
        assert [one.passage_id for one in ranked(["a", "b"], np.array(scores), 1)] == ["a"]


def test_a_passage_is_searched_with_its_title() -> None:
    assert searchable_text(Passage("p", "d", "Luna 9", "It landed.", ())) == "Luna 9\nIt landed."
    assert searchable_text(Passage("p", "d", "", "It landed.", ())) == "It landed."
