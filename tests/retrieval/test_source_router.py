"""The learned router: its features, its choice, and that it comes back from its file as it was."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.retrieval.source_router import FEATURES, Centroids, SourceRouter, centroids_of, features_of
from simulations.fits.rag_route import write_router

DIMENSION = 12
Floats = NDArray[np.float32]


def rows_of(count: int, seed: int) -> Floats:
    made = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def devices_of(count: int, seed: int) -> list[Centroids]:
    return [centroids_of(rows_of(20 + 8 * number, seed + number), 4, 0) for number in range(count)]


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 120), st.integers(1, 8), st.integers(0, 2**16))
def test_groups_are_of_several_passages_and_told_of_roughly(count: int, most: int, seed: int) -> None:
    vectors = rows_of(count, seed)
    found = centroids_of(vectors, most, 0)
    assert 1 <= len(found.vectors) == len(found.passages) == len(found.closeness) <= most
    assert found.passages.sum() <= 1.5 * count  # rounded
    assert found.passages.min() >= min(4, count)
    assert (np.log2(found.passages) % 1 == 0).all()
    assert (np.diff(found.passages) <= 0).all()
    assert found.closeness * 20 == pytest.approx(np.round(found.closeness * 20))
    fewer = found.largest(1)
    assert np.array_equal(fewer.vectors, found.vectors[:1])
    assert (len(fewer.passages), len(fewer.closeness)) == (1, 1)
    assert np.linalg.norm(found.vectors, axis=1) == pytest.approx(np.ones(len(found.vectors)), abs=1e-5)


@pytest.mark.parametrize("count", range(2))
def test_a_device_with_hardly_a_passage_tells_of_none(count: int) -> None:
    found = centroids_of(rows_of(4, 0)[:count], 2, 0)
    assert (len(found.vectors), len(found.passages), len(found.closeness)) == (0, 0, 0)


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 6), st.integers(0, 2**16))
def test_features_follow_the_devices_whatever_their_order(count: int, seed: int) -> None:
    devices, [question] = devices_of(count, seed), rows_of(1, seed + 99)
    features = features_of(question, devices)
    assert features.shape == (count, len(FEATURES))
    assert features_of(question, devices[::-1]) == pytest.approx(features[::-1])
    assert (features[:, -1] == 0).sum() >= 1  # nobody is nearer than the nearest


def test_the_shipped_router_prefers_who_is_near() -> None:
    near = rows_of(40, 3) * 0.2 + np.eye(DIMENSION, dtype=np.float32)[0]
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    far = rows_of(40, 4)
    router = SourceRouter.load()
    chances = router.chances(np.eye(DIMENSION, dtype=np.float32)[0], [centroids_of(one, 4, 0) for one in (far, near)])
    assert chances[1] > chances[0]
    assert ((chances >= 0) & (chances <= 1)).all()


@pytest.mark.parametrize(
    ("chances", "most", "threshold", "chosen"),
    [
        ([0.1, 0.9, 0.5], 3, 0.5, [1, 2]),
        ([0.1, 0.2, 0.0], 3, 0.5, [1]),
        ([0.9, 0.9, 0.9], 2, 0.5, [0, 1]),
        ([0.1, 0.2, 0.3], 3, 0.0, [2, 1, 0]),
    ],
)
def test_devices_from_the_threshold_on_are_asked_and_always_one(
    chances: list[float], most: int, threshold: float, chosen: list[int]
) -> None:
    assert replace(SourceRouter.load(), threshold=threshold).choose(np.array(chances), most) == chosen


def test_a_router_comes_back_from_its_file(tmp_path: Path) -> None:
    router, [question], devices = SourceRouter.load(), rows_of(1, 0), devices_of(3, 1)
    write_router(router, tmp_path / "router.json")
    assert SourceRouter.load(tmp_path / "router.json").chances(question, devices) == pytest.approx(
        router.chances(question, devices)
    )
