"""A store survives being killed at any moment."""

from __future__ import annotations

from pathlib import Path

from tests.memory.store.crash import crash_rounds


def test_nothing_acknowledged_is_lost_and_nothing_is_half(tmp_path: Path) -> None:
    report = crash_rounds(tmp_path, rounds=15, seed=11)
    assert report.rounds == 15
    assert report.version >= report.with_steps >= 5  # how far a child gets in its time depends on the machine
