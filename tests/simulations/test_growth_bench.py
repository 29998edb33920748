"""The benchmark of growing key spaces: copies have other names, and otherwise the same tuples."""

from __future__ import annotations

import pytest

from fedrag_flwr.records import EvidenceTuple
from fedrag_flwr.retrieval.evidence_sources import PathKeys
from simulations.bench_key_spaces import corpus, other_names

POOL = [
    ("a", [EvidenceTuple("Ada Quent", "built", "tower", "a"), EvidenceTuple("Ada Quent", "was born in", "1881", "a")]),
    ("b", []),
    ("c", [EvidenceTuple("tower", "stands in", "Zell", "c")]),
]


@pytest.mark.parametrize(
    ("text", "places", "other"),
    [
        ("Ada Quent", 1, "Beb Rvfou"),
        ("Zell", 2, "Bgnn"),
        ("tower of Zell", 1, "tower of Afmm"),
        ("24 May 1924", 3, "24 May 1924"),
        ("film", 5, "film"),
        ("Zoë", 1, "Zoë"),
    ],
)
def test_names_move_on_in_the_alphabet_and_words_stay(text: str, places: int, other: str) -> None:
    assert other_names(text, places) == other


def test_copies_are_new_passages_with_their_own_tuples() -> None:
    grown = dict(corpus(POOL, 8))
    assert list(grown) == ["a", "b", "c", "a-1", "b-1", "c-1", "a-2", "b-2"]
    assert all(one.passage_id == name for name, own in grown.items() for one in own)
    assert [one.head for one in grown["a-1"]] == ["Beb Rvfou"] * 2
    keys = PathKeys.of(list(grown), grown)
    assert set(keys.paths.edges.names) == {"ada quent", "beb rvfou", "cfc swgpv", "tower", "1881"}
