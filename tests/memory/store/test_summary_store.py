"""What the server keeps of devices' summaries, and what is left in its files of those that went."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from fedrag_flwr.memory.store.summary_store import SummaryStore
from fedrag_flwr.records import SubgraphSummary, SummaryBatch
from tests.memory.store.samples import DIMENSION, unit_vector


def batch(*texts: str, generation: str = "g", retracted: tuple[str, ...] = ()) -> SummaryBatch:
    told = (SubgraphSummary(f"s{n}", text, unit_vector(text), "a") for n, text in enumerate(texts))
    return SummaryBatch("a", generation, 1, tuple(told), retracted)


def test_what_devices_told_is_the_servers_alone(tmp_path: Path) -> None:
    usual = os.umask(0o022)
    try:
        with closing(SummaryStore(tmp_path / "summaries", DIMENSION)) as summary_store:
            summary_store.take(batch("Bells of Lund."))
            files = list((tmp_path / "summaries").iterdir())
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
            assert (tmp_path / "summaries").stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(usual)


@pytest.mark.parametrize(
    "later",
    [
        batch("Bells of Lund.", retracted=("s1",)),
        batch("Bells of Lund.", "Towers of Lund."),
        batch("Bells of Lund.", generation="another"),
    ],
    ids=["retracted", "replaced", "of another generation"],
)
def test_a_summary_that_went_is_in_no_file(later: SummaryBatch, tmp_path: Path) -> None:
    def holding() -> list[str]:
        return [path.name for path in tmp_path.iterdir() if b"Oswin Xqwu" in path.read_bytes()]

    with closing(SummaryStore(tmp_path, DIMENSION)) as summary_store:
        summary_store.take(batch("Bells of Lund.", "The life of Oswin Xqwu."))
        assert holding()
        summary_store.take(later)
        assert holding() == []
        assert summary_store.known_of("a").known == tuple(sorted(one.id for one in later.summaries))
