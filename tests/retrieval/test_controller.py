"""The controller: what it looks at, how it is fitted and kept, and how it ranks."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import FedragError, SettingError, StoreCorruptError, StoreMismatchError
from fedrag_flwr.retrieval.base import RankedPassage, Ranking
from fedrag_flwr.retrieval.controller import ControlledRetriever, Controller, ControllerFeatures
from fedrag_flwr.retrieval.controller_fitting import (
    Examples,
    FittingSettings,
    LabelledRankings,
    Moments,
    descend,
)
from simulations.bench.fitting import fit_controller, out_of_fold

PAIR = ControllerFeatures(("dense", "paths"))
SETTINGS = FittingSettings(epochs=20)


def ranking(*names: str) -> Ranking:
    return tuple(RankedPassage(name, 1.0 - 0.1 * place) for place, name in enumerate(names))


rankings_of = st.lists(
    st.lists(st.tuples(st.integers(0, 30), st.floats(-5, 5)), unique_by=lambda pair: pair[0], max_size=25).map(
        lambda pairs: tuple(
            RankedPassage(f"p{name:02d}", score) for name, score in sorted(pairs, key=lambda p: (-p[1], p[0]))
        )
    ),
    min_size=2,
    max_size=2,
)


def made_up(seed: int, count: int, *, trusted: int = 0) -> list[LabelledRankings]:
    """Questions over ten passages: one source ranks the two supporting ones first, the other ranks at random."""
    rng = np.random.default_rng(seed)
    questions = []
    for _ in range(count):
        names = [f"p{number}" for number in rng.permutation(10)]
        right, random = ranking(*names), ranking(*rng.permutation(names).tolist())
        both = (right, random) if trusted == 0 else (random, right)
        questions.append(LabelledRankings(both, frozenset(names[:2])))
    return questions


def test_features_are_what_they_are_called() -> None:
    found = PAIR.of([ranking("a", "b", "c"), ranking("c", "d")])
    assert found.ids == ("a", "b", "c", "d")
    by_name = {
        name: dict(zip(found.ids, column, strict=True)) for name, column in zip(PAIR.names, found.values.T, strict=True)
    }
    expected = {
        "dense.present": (1, 1, 1, 0),
        "dense.rank": (1, 8 / 9, 7 / 9, 0),
        "dense.reciprocal_rank": (1, 1 / 2, 1 / 3, 0),
        "dense.score": (1, 1 / 2, 0, 0),
        "dense.top1": (1, 0, 0, 0),
        "dense.top3": (1, 1, 1, 0),
        "paths.rank": (0, 0, 1, 8 / 9),
        "paths.top5": (0, 0, 1, 1),
        "dense/paths.both": (0, 0, 1, 0),
        "dense/paths.rank_gap": (1, 8 / 9, 2 / 9, 8 / 9),
        "dense/paths.reciprocal_rank_product": (0, 0, 1 / 3, 0),
        "dense/paths.reciprocal_rank_difference": (1, 1 / 2, -2 / 3, -1 / 2),
        "dense/paths.score_product": (0, 0, 0, 0),
        "dense/paths.top5_alone": (1, 1, 0, 0),
        "dense/paths.top5_missed": (0, 0, 0, 1),
    }
    for name, values in expected.items():
        assert list(by_name[name].values()) == pytest.approx(values), name


@given(rankings_of, st.floats(0.1, 10), st.floats(-10, 10))
def test_features_are_bounded_and_know_no_unit(rankings: list[Ranking], factor: float, shift: float) -> None:
    found = PAIR.of(rankings)
    assert set(found.ids) == {one.passage_id for ranked in rankings for one in ranked[:10]}
    assert found.values.shape == (len(found.ids), len(PAIR.names))
    assert (np.abs(found.values) <= 1.0).all()
    whole = [[replace(one, score=round(one.score)) for one in ranked] for ranked in rankings]
    moved = [[replace(one, score=factor * one.score + shift) for one in ranked] for ranked in whole]
    assert PAIR.of([tuple(r) for r in moved]).values == pytest.approx(PAIR.of([tuple(r) for r in whole]).values)


def test_no_ranking_no_candidate() -> None:
    assert PAIR.of([(), ()]).ids == ()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ControllerFeatures(()),
        lambda: ControllerFeatures(("dense", "dense")),
        lambda: ControllerFeatures(("dense",), depth=1),
        lambda: PAIR.of([()]),
        lambda: FittingSettings(epochs=0),
        lambda: FittingSettings(l2=0.0),
        lambda: fit_controller(PAIR, [], SETTINGS, np.random.default_rng(0)),
        lambda: ControlledRetriever([], fit_controller(PAIR, made_up(0, 20), SETTINGS, np.random.default_rng(0))),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(SettingError, match="controller"):
        wrong()


@pytest.mark.parametrize("trusted", [0, 1])
def test_the_controller_learns_which_source_to_trust(trusted: int) -> None:
    controller = fit_controller(PAIR, made_up(1, 60, trusted=trusted), SETTINGS, np.random.default_rng(1))
    for question in made_up(2, 40, trusted=trusted):
        assert {one.passage_id for one in controller.rerank(question.rankings, 2)} == question.supporting


def test_negatives_are_drawn_within_a_question() -> None:
    questions = made_up(3, 12)
    for ratio, expected in ((1, 4), (3, 8), (8, 10)):
        settings = FittingSettings(negative_ratio=ratio)
        examples = Examples.of(PAIR, questions, settings, np.random.default_rng(0))
        assert len(examples) == 12 * expected
        assert examples.supports.sum() == 24
    hopeless = [replace(question, supporting=frozenset({"elsewhere"})) for question in questions]
    assert len(Examples.of(PAIR, hopeless, SETTINGS, np.random.default_rng(0))) == 0


def test_a_question_does_not_decide_its_own_out_of_fold_ranking() -> None:
    questions = made_up(4, 30)
    before = out_of_fold(PAIR, questions, SETTINGS, np.random.default_rng(5))
    turned = [
        replace(question, supporting=frozenset({f"p{n}" for n in range(10)}) - question.supporting)
        for question in questions[:1]
    ]
    after = out_of_fold(PAIR, [*turned, *questions[1:]], FittingSettings(epochs=20), np.random.default_rng(5))
    assert after[0] == before[0]
    assert after[1:] != before[1:]  # the others were told something else


@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.integers(0, 2**16))
def test_weighted_moments_of_parts_are_those_of_the_pool(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(size, 3)) for size in sizes]
    moments = [Moments.of(part) for part in parts]
    pool = Moments.of(np.concatenate(parts))
    assert np.average([one.mean for one in moments], axis=0, weights=sizes) == pytest.approx(pool.mean)
    assert np.average([one.square for one in moments], axis=0, weights=sizes) == pytest.approx(pool.square)
    assert pool.scaling.of(np.concatenate(parts)).mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)


def test_descent_goes_on_from_where_it_starts() -> None:
    examples = Examples.of(PAIR, made_up(6, 40), SETTINGS, np.random.default_rng(0))
    scaling = Moments.of(examples.values).scaling
    inputs = scaling.of(examples.values)

    def loss(weights: Any) -> float:
        signs = np.where(examples.supports, 1.0, -1.0)
        return float(np.logaddexp(0.0, -signs * (inputs @ weights[:-1] + weights[-1])).mean())

    weights = np.zeros(len(PAIR.names) + 1)
    losses = [loss(weights)]
    for number in range(4):
        weights = descend(weights, examples, scaling, SETTINGS, 2, np.random.default_rng(number))
        losses.append(loss(weights))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.5 * losses[0]


class Fixed:
    """A retriever whose ranking is known."""

    def __init__(self, found: Ranking) -> None:
        self._found = found

    def rank(self, question: str, k: int) -> Ranking:
        return self._found[:k]


def test_a_controlled_retriever_ranks_what_its_sources_bring() -> None:
    controller = fit_controller(PAIR, made_up(7, 40), SETTINGS, np.random.default_rng(0))
    [question] = made_up(8, 1)
    retriever = ControlledRetriever([Fixed(one) for one in question.rankings], controller)
    found = retriever.rank("which?", 5)
    assert found == controller.rerank(question.rankings, 5)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(retriever.rank("which?", 100)) == 10


def test_a_controller_is_kept_as_it_is(tmp_path: Path) -> None:
    controller = fit_controller(PAIR, made_up(9, 30), SETTINGS, np.random.default_rng(0), "made-up questions")
    controller.save(tmp_path / "controller.json")
    loaded = Controller.load(tmp_path / "controller.json")
    assert (loaded.weights == controller.weights).all()
    assert loaded.fitted_on == "made-up questions"
    [question] = made_up(10, 1)
    assert loaded.rerank(question.rankings, 10) == controller.rerank(question.rankings, 10)
    kept = json.loads((tmp_path / "controller.json").read_text())
    assert kept["names"] == list(PAIR.names)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": 99}, StoreMismatchError),
        ({"names": ["dense.present"]}, StoreMismatchError),
        ({"depth": 0}, StoreCorruptError),
        ({"weights": [0.5]}, StoreCorruptError),
        ({"bias": "high"}, StoreCorruptError),
        ({"mean": [float("nan")] * 21}, StoreCorruptError),
        ({"deviation": [0.0] * 21}, StoreCorruptError),
        ({"more": 1}, StoreCorruptError),
    ],
)
def test_a_changed_controller_is_refused(tmp_path: Path, change: dict[str, object], error: type[FedragError]) -> None:
    path = tmp_path / "controller.json"
    fit_controller(PAIR, made_up(11, 20), SETTINGS, np.random.default_rng(0)).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(error):
        Controller.load(path)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff\xfe"])
def test_what_is_no_controller_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "controller.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreCorruptError):
        Controller.load(path)
