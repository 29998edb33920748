"""RAGRoute's network: fitted end to end on tiny files, and asking whom it should where that can be told."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pandas import read_csv

from fedrag_flwr.retrieval.source_router import FEATURES, SHIPPED, SourceRouter
from simulations.bench.frame import Bench
from simulations.corpora.multihop import read_multihop
from simulations.corpora.sentences import DATASETS
from simulations.fits.rag_route import Asked, asked_of, fit, report, run, threshold_of
from tests.simulations.tiny_data import write_data

DEVICES = 4


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name in DATASETS.values():
        write_data(folder, name, {"train": None, "dev": 3})
    return folder


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


def test_a_router_is_fitted_on_train_rows_and_told_of_on_dev_rows(data: Path, tmp_path: Path) -> None:
    run(Bench("rag-route", tmp_path, quick=False, root=data), questions=8)
    router = SourceRouter.load(tmp_path / SHIPPED.name)
    assert router.fitted_on == "24 training questions in 18 federations"
    table = read_csv(tmp_path / "rag_route.csv")
    assert 12 <= len(table) <= 18  # of so few paragraphs one a device is often left, which tells of nothing
    assert table["relevant devices asked, %"].mean() > 80.0  # nine tenths are promised


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
        chances = router.chances_of(one.features)
        assert chances[one.relevant].min() > chances[~one.relevant].max()
    told = report(router, dev).iloc[-1]
    assert 80.0 < told["relevant devices asked, %"] == told["by cosine"] <= 100.0
    assert 1.6 < told["devices asked"] <= 2.0
    assert told["of all, %"] == pytest.approx(100 * told["devices asked"] / DEVICES, abs=1.0)
