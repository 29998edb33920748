"""What construction made is not made again, is told with what it cost, and serves nobody else's texts or models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.baselines import BASELINES, Built, Keep, Substrate, build_baseline
from fedrag_flwr.models import load_encoder
from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import Question
from tests.baselines.made_up import MULTI_HOP, TEXTS, Counting, assert_alike, made_up

_ANY = Grammar(r"root ::= [^\n]+")


@pytest.fixture
def kept(model: Counting, tmp_path: Path) -> Substrate:
    return replace(made_up(model), keep=Keep(tmp_path))


@pytest.mark.parametrize("name", BASELINES)
def test_a_second_construction_takes_what_was_kept(
    name: str, kept: Substrate, model: Counting, built: dict[str, Built], tmp_path: Path
) -> None:
    anew = build_baseline(name, kept)
    before = model.mark()
    again = build_baseline(name, replace(made_up(model), keep=Keep(tmp_path)))
    assert model.since(before).completions == []
    alike = [built[name], anew, again]
    made = {(one.cost.llm_calls, one.cost.tokens_out, one.counts) for one in (each.construction for each in alike)}
    assert len(made) == 1
    question = Question(MULTI_HOP, MULTI_HOP, "all")
    assert_alike([one.baseline.answer(question) for one in alike])


def test_construction_is_told_with_the_seconds_that_it_once_took(
    kept: Substrate, model: Counting, tmp_path: Path
) -> None:
    before = model.mark()
    build_baseline("summary-tree", kept)
    took = sum(done.seconds for done in model.since(before).completions)
    substrate = replace(made_up(model), keep=Keep(tmp_path))
    again = build_baseline("summary-tree", substrate)
    assert again.construction.cost.seconds >= substrate.spared >= took > 0.0
    after = build_baseline("vanilla", substrate)
    assert after.construction.cost.seconds < took  # what others were spared is not its own


def test_other_texts_another_model_or_prompt_and_torn_files_are_made_anew(kept: Substrate, model: Counting) -> None:
    keep, encoder, texts = kept.keep, load_encoder(), [text for _, text in TEXTS.values()]
    assert keep is not None
    [path] = _new_files(keep, texts)
    assert _new_files(keep, texts) == []
    assert len(_new_files(keep, texts[::-1])) == len(_new_files(keep, texts[:1])) == len(_new_files(keep, [])) == 1
    path.write_bytes(path.read_bytes()[:-100])
    np.testing.assert_array_equal(keep.encode(encoder, texts), encoder.encode(texts))
    before = model.mark()
    for prompt in (Prompt("Say it.", "One."), Prompt("Say it.", "Two."), Prompt("Say it.", "One.")):
        keep.complete(model, prompt, _ANY, 4, 7)
    assert len(model.since(before).completions) == 2
    keep.complete(model, Prompt("Say it.", "One."), _ANY, 5, 7)
    assert len(model.since(before).completions) == 3


def _new_files(keep: Keep, texts: list[str]) -> list[Path]:
    before = set(keep.folder.glob("*.npz"))
    keep.encode(load_encoder(), texts)
    return sorted(set(keep.folder.glob("*.npz")) - before)
