"""Answers under mechanisms over a tiny file: a row for each, and one for nothing shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulations.bench_private_answers import main
from tests.simulations.tiny_data import write_data

SMALL = ("models.generator=smollm2-135m", "models.context-tokens=2048", "memory.tokens-per-kilotoken=0")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_mechanism_has_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    write_data(tmp_path, "hotpotqa")
    out = tmp_path / "out"
    words = ["private", "--data", str(tmp_path), "--datasets", "hotpotqa", "--questions", "3", "--devices", "2"]
    words += ["--mechanisms", "type-masking", "--jobs", "1", "--out", str(out)]
    monkeypatch.setattr("sys.argv", [*words, *(word for one in SMALL for word in ("--set", one))])
    main()
    lines = (out / "private_answers.md").read_text(encoding="utf-8").splitlines()[2:]
    assert [line.split(" | ")[1] for line in lines] == ["`local-memory`, nothing shared", "none", "type-masking"]
    plain = (out / "hotpotqa-none" / "plan.json").read_text(encoding="utf-8")
    assert plain != (out / "hotpotqa-type-masking" / "plan.json").read_text(encoding="utf-8")
