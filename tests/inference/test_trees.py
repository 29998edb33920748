"""Shipped trees: what numpy computes of them is what was fitted, and what does not fit is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fedrag_flwr.inference import trees
from fedrag_flwr.inference.reading import LINK_FEATURES, NEAR_FEATURES
from fedrag_flwr.inference.spans import SPAN_FEATURES
from fedrag_flwr.inference.trees import load_trees
from simulations.fit_reader import Stacked, classifier, ship

from fedrag_flwr.errors import ModelError

SHIPPED = [
    ("near", NEAR_FEATURES),
    ("link", NEAR_FEATURES + LINK_FEATURES),
    ("span", SPAN_FEATURES),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(trees, "WEIGHTS", tmp_path)
    load_trees.cache_clear()
    return tmp_path


@pytest.fixture(autouse=True)
def forget() -> None:
    load_trees.cache_clear()


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_numpy_scores_as_the_library_that_fitted(depth: int, seed: int, folder: Path) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(120, 3))
    right = features[:, 0] * features[:, 1] + 0.3 * rng.normal(size=120) > 0
    stacked = Stacked(features, right, np.arange(120), rng.uniform(1, 2, 120))
    shape = {"n_estimators": 20, "max_depth": depth, "min_samples_leaf": 3}
    ship(folder / "made.json", ("a", "b", "c"), stacked, shape, {})
    fitted = classifier(shape).fit(features, right, sample_weight=stacked.weight)
    ours = load_trees("made", ("a", "b", "c")).score(features)
    assert np.allclose(ours, fitted.decision_function(features), atol=1e-4)
    assert ours.std() > 0.1


@pytest.mark.parametrize(("name", "features"), SHIPPED)
def test_what_is_shipped_fits_the_code(name: str, features: tuple[str, ...]) -> None:
    loaded = load_trees(name, features)
    rows = np.random.default_rng(1).uniform(0, 1, size=(50, len(features)))
    assert loaded.score(rows).std() > 0
    assert loaded.score(rows[:0]).shape == (0,)
    manifest = json.loads((trees.WEIGHTS / f"{name}.json").read_text(encoding="utf-8"))["manifest"]
    assert manifest["split"] == "train"


BROKEN = ["", "[]", "{", '{"schema":1}', '{"schema":9,"features":["a"],"base":0,"depth":1,"trees":[[[-1,0,-1,-1,0]]]}']


@pytest.mark.parametrize("body", BROKEN)
def test_torn_weights_are_refused(body: str, folder: Path) -> None:
    (folder / "torn.json").write_text(body, encoding="utf-8")
    with pytest.raises(ModelError, match=r"torn\.json"):
        load_trees("torn", ("a",))


def test_absent_weights_are_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.json"):
        load_trees("absent", ("a",))


def test_weights_for_other_features_are_refused() -> None:
    with pytest.raises(ModelError, match="other features"):
        load_trees("near", NEAR_FEATURES[:-1])
