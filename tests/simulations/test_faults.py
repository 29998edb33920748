"""The benchmark of faults: an attempt ends in one of three ways, and a crash fails the benchmark."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fedrag_flwr.errors import FederationError, StoreFullError
from simulations.bench.frame import Bench
from simulations.benchmarks import faults
from simulations.faults.tally import Tally, in_child


def _full() -> str:
    raise StoreFullError("is full", where="disk", fix="make room")


def _lost() -> str:
    raise AssertionError("answers were lost")


@pytest.mark.parametrize(
    ("act", "row"),
    [
        (lambda: None, (1, 0, 0, "")),
        (lambda: "WireError", (0, 1, 0, "WireError 1")),
        (_full, (0, 1, 0, "StoreFullError 1")),
        (_lost, (0, 0, 1, "AssertionError at ?: answers were lost 1")),
    ],
)
def test_an_attempt_is_right_told_or_a_crash(act: Callable[[], str | None], row: tuple[int, int, int, str]) -> None:
    tally = Tally()
    tally.attempt(act)
    assert tuple(tally.row().values()) == (1, *row)


@pytest.mark.parametrize("act", [lambda: None, _lost])
def test_a_crash_fails_the_benchmark_and_rows_are_kept(
    act: Callable[[], str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def injected(root: Path, moments: int, rng: object) -> Tally:
        tried.append(moments)
        tally = Tally()
        tally.attempt(act)
        return tally

    monkeypatch.setattr(faults, "AT_MOMENTS", {**faults.AT_MOMENTS, "disk-full": injected})
    for _ in range(2):
        if act is _lost:
            with pytest.raises(FederationError, match="crashed or was lost"):
                faults.run(Bench("faults", tmp_path, quick=False), "disk-full", moments=3)
        else:
            faults.run(Bench("faults", tmp_path, quick=False), "disk-full", moments=3)
    assert tried == [3]
    assert (tmp_path / "faults.csv").read_text().count("disk-full") == 1


def test_a_child_tells_its_end() -> None:
    assert in_child(lambda: None) == 0
    assert in_child(lambda: os._exit(3)) == 3
    assert in_child(lambda: time.sleep(60), kill_after=0.01) < 0
