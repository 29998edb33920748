"""RAGRoute's network: fitted end to end on tiny files, and asking whom it should where that can be told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.retrieval.source_router import FEATURES, SourceRouter, centroids_of, features_of
from fedrag_flwr.sources.benchmark import read_multihop
from simulations.corpora.sentences import DATASETS
from simulations.fit_rag_route import Asked, asked_of, chances_of, fit, main, report, threshold_of
from tests.simulations.tiny_data import write_data

DEVICES = 4


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("data")
    for name in DATASETS.values():
        write_data(folder, name, {"train": None, "dev": 3})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield folder


def examples(count: int, seed: int) -> list[Asked]:
    """Questions for each of which every other device has something, and is near."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        relevant = np.arange(DEVICES) % 2 == number % 2
        features = rng.normal(size=(DEVICES, len(FEATURES)))
        features[:, 0] = np.where(relevant, 0.8, 0.2) + rng.normal(scale=0.03, size=DEVICES)
        made.append(Asked(features, relevant, f"q{number}", "made"))
    return made


def test_a_router_is_fitted_on_train_rows_and_told_of_on_dev_rows(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "router.json"
    monkeypatch.setattr("sys.argv", ["fit_rag_route", "--data", str(data), "--questions", "8", "--out", str(out)])
    main()
    router, lines = SourceRouter.load(out), capsys.readouterr().out.splitlines()
    [told] = [json.loads(line) for line in lines if line.startswith("{")]
    assert told == {"features": len(FEATURES), "threshold": round(router.threshold, 4), "on": router.fitted_on}
    assert router.fitted_on == "24 training questions in 18 federations"
    found = [line.split(" | ")[1] for line in lines if line.startswith(tuple(f"| {name}, " for name in DATASETS))]
    assert 12 <= len(found) <= 18  # of so few paragraphs one a device is often left, which tells of nothing
    assert set(found) <= {"0.0", "33.3", "50.0", "66.7", "100.0"}  # of at most three dev questions
    assert np.mean(list(map(float, found))) > 80.0  # nine tenths are promised


def test_who_holds_a_supporting_paragraph_is_relevant(data: Path) -> None:
    benchmark = read_multihop(data / "hotpotqa.jsonl.gz", "train")
    gold = {f"HotpotQA {one.question_id}": len(one.documents) for one in benchmark.questions}
    for seed in range(5):
        found = asked_of("HotpotQA", benchmark, np.random.default_rng(seed))
        assert 3 * len(gold) < len(found) <= 6 * len(gold)  # a device with one paragraph tells of nothing
        assert len({one.federation for one in found}) == 6
        for one in found:
            assert one.features.shape == (len(one.relevant), len(FEATURES))
            assert 1 <= one.relevant.sum() <= gold[one.question]


def test_the_fitted_network_asks_who_has_something() -> None:
    train, dev = examples(600, seed=1), examples(50, seed=2)
    fitted = fit(train, seed=7)
    router = replace(fitted, threshold=threshold_of(train, seed=7))
    for one in dev:
        chances = chances_of(router, one)
        assert chances[one.relevant].min() > chances[~one.relevant].max()
    [_, found, by_cosine, asked, share] = report(router, dev).splitlines()[-1].strip("| ").split(" | ")
    assert 80.0 < float(found) == float(by_cosine) <= 100.0
    assert 1.6 < float(asked) <= 2.0
    assert float(share) == pytest.approx(100 * float(asked) / DEVICES, abs=1.0)


def test_features_give_the_chances_that_the_router_gives_in_use() -> None:
    router, vectors = SourceRouter.load(), np.eye(12, dtype=np.float32)
    devices = [centroids_of(vectors[start::3], 2, 0) for start in range(3)]
    one = Asked(features_of(vectors[0], devices), np.ones(3, dtype=bool), "q", "made")
    assert chances_of(router, one) == pytest.approx(router.chances(vectors[0], devices))
