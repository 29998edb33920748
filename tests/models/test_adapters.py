"""Adapters on a real small model: in force for their task alone, refused where they are torn or fit another model."""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from fedrag_flwr.answering.prompts import ANSWERING, reading_prompt
from fedrag_flwr.errors import ModelError
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models import GenerationCache, LlamaGenerator, Prompt, adapters, load
from fedrag_flwr.models.adapters import FOLDER, Adapter, adapters_of, read_adapter, write_adapter
from fedrag_flwr.models.files import file_sha256
from fedrag_flwr.models.registry import REGISTRY
from fedrag_flwr.settings import Settings

WIDTH = 576  # of SmolLM2's states
TASK = "naming"
PLAIN = Prompt("You name things.", "What is the capital of France?", (("What is 1 + 1?", "2"),))
TASKED = replace(PLAIN, task=TASK)
ALIKE = Prompt("Name it.", PLAIN.user)  # the same tokens as under the adapter below, without the task


def adapter(path: Path, model: Path, *, width: int = WIDTH, size: float = 0.5) -> Adapter:
    """One for the first layer's queries: random, of a size; 0 leaves every number as it was."""
    draw = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path / "adapter.gguf", "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 2.0)
    writer.add_tensor("blk.0.attn_q.weight.lora_a", draw.normal(size=(2, width)).astype(np.float32))
    writer.add_tensor("blk.0.attn_q.weight.lora_b", (size * draw.normal(size=(width, 2))).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    content = (path / "adapter.gguf").read_bytes()
    return Adapter(TASK, "Name it.", (file_sha256(model),), hashlib.sha256(content).hexdigest(), content)


def generator(model: Path, one: Adapter, cache: GenerationCache | None = None) -> LlamaGenerator:
    return LlamaGenerator(model, context_tokens=512, cache=cache, adapters={one.task: one})


def said(model: LlamaGenerator, prompt: Prompt) -> tuple[str, float, int]:
    completion = model.complete(prompt, max_tokens=6)[0]
    return completion.text, completion.logprob, completion.tokens_in


def test_its_instruction_stands_in_for_the_prompts_own(smollm2: Path, tmp_path: Path) -> None:
    model = generator(smollm2, adapter(tmp_path, smollm2, size=0.0))
    assert said(model, TASKED) == said(model, ALIKE), "weights of 0 change nothing"
    assert said(model, PLAIN)[2] > said(model, TASKED)[2], "examples are shown to the model alone"
    model.close()


def test_it_is_in_force_for_its_task_alone(smollm2: Path, tmp_path: Path, generator_without: LlamaGenerator) -> None:
    model = generator(smollm2, adapter(tmp_path, smollm2))
    asked = [TASKED, PLAIN, ALIKE, TASKED, ALIKE, PLAIN, TASKED]
    answers = [said(model, prompt) for prompt in asked]
    assert answers[0] == answers[3] == answers[6]
    assert answers[1] == answers[5] == said(generator_without, PLAIN)
    assert answers[2] == answers[4] == said(generator_without, ALIKE)
    assert answers[0][1] != answers[2][1]
    scores = [model.score(prompt, ["Paris", "London"]).logprobs for prompt in (TASKED, ALIKE, TASKED)]
    assert np.array_equal(scores[0], scores[2])
    assert not np.array_equal(scores[0], scores[1])
    model.close()


def test_a_prompt_of_a_task_without_adapter_is_asked_as_it_stands(generator_without: LlamaGenerator) -> None:
    assert said(generator_without, TASKED) == said(generator_without, PLAIN)


def test_completions_of_other_weights_are_not_replayed(smollm2: Path, tmp_path: Path) -> None:
    cache = GenerationCache(tmp_path / "cache.sqlite")
    for size in (0.5, 0.25):
        model = generator(smollm2, adapter(tmp_path, smollm2, size=size), cache)
        assert not model.complete(ALIKE, max_tokens=2)[0].cached or size < 0.5, "the same tokens by other weights"
        assert not model.complete(TASKED, max_tokens=2)[0].cached
        assert model.complete(TASKED, max_tokens=2)[0].cached
        model.close()


def test_one_of_another_shape_is_refused(smollm2: Path, tmp_path: Path) -> None:
    model = generator(smollm2, adapter(tmp_path, smollm2, width=64))
    for _ in range(2):
        with pytest.raises(ModelError, match="does not fit the model"):
            model.complete(TASKED, max_tokens=1)
    model.close()


def test_a_full_disk_is_an_error_of_our_own(smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = generator(smollm2, adapter(tmp_path, smollm2))

    def full(path: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ModelError, match=r"cannot be unpacked: No space left on device.*models\.adapters = false"):
        model.complete(TASKED, max_tokens=1)
    monkeypatch.undo()
    assert said(model, TASKED)[0] is not None
    model.close()


def test_several_draws_are_made_under_it(smollm2: Path, tmp_path: Path, generator_without: LlamaGenerator) -> None:
    model = generator(smollm2, adapter(tmp_path, smollm2))
    first = [one.logprob for one in model.complete(TASKED, max_tokens=3, n=3, seed=1)]
    said(model, PLAIN)
    assert [one.logprob for one in model.complete(TASKED, max_tokens=3, n=3, seed=1)] == first
    assert [one.logprob for one in generator_without.complete(ALIKE, max_tokens=3, n=3, seed=1)] != first
    model.close()


def test_a_setting_turns_it_off(monkeypatch: pytest.MonkeyPatch, smollm2: Path, tmp_path: Path) -> None:
    write_adapter(tmp_path / "made.json", adapter(tmp_path, smollm2), {})
    monkeypatch.setattr(adapters, "FOLDER", tmp_path)
    monkeypatch.setattr(load, "_generator", inspect.unwrap(load._generator))  # what other tests loaded is not kept
    asked: dict[str, bool | str] = {"models.generator": str(smollm2), "models.generation-cache": False}
    on, off = (
        load_models(Settings.from_config(asked | {"models.adapters": used}).models, tmp_path) for used in (True, False)
    )
    assert on.generator_id == f"{off.generator_id}+{read_adapter(tmp_path / 'made.json').id}"
    models = [sealed.generator() for sealed in (on, off)]
    tasked, plain = (model.complete(TASKED, max_tokens=1)[0] for model in models)
    assert tasked.tokens_in < plain.tokens_in, "the instruction stands in for the examples"


def test_it_comes_back_from_its_file(smollm2: Path, tmp_path: Path) -> None:
    made, file = adapter(tmp_path, smollm2), tmp_path / "made.json"
    write_adapter(file, made, {"split": "train"})
    assert read_adapter(file) == made
    assert adapters_of(file_sha256(smollm2), tmp_path) == {TASK: made}
    assert adapters_of("0" * 64, tmp_path) == {}


def test_two_for_one_model_and_task_are_refused(smollm2: Path, tmp_path: Path) -> None:
    for name in ("one.json", "other.json"):
        write_adapter(tmp_path / name, adapter(tmp_path, smollm2), {})
    with pytest.raises(ModelError, match=r"one\.json, other\.json: two adapters"):
        adapters_of(file_sha256(smollm2), tmp_path)


@pytest.mark.parametrize(
    ("harm", "error"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read"),
        (lambda text: "[]", "cannot be read"),
        (lambda text: json.dumps(json.loads(text) | {"schema": 99}), "another schema"),
        (lambda text: json.dumps(json.loads(text) | {"gguf": "AAAA"}), "not what it says"),
        (lambda text: json.dumps(json.loads(text) | {"gguf": "§"}), "cannot be read"),
        (lambda text: json.dumps(json.loads(text) | {"models": "1d96"}), "cannot be read"),
        (lambda text: json.dumps(json.loads(text) | {"task": ""}), "cannot be read"),
    ],
)
def test_a_torn_file_is_refused(smollm2: Path, tmp_path: Path, harm: Callable[[str], str], error: str) -> None:
    file = tmp_path / "torn.json"
    write_adapter(file, adapter(tmp_path, smollm2), {})
    file.write_text(harm(file.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(ModelError, match=error):
        read_adapter(file)


def test_what_is_shipped_fits_known_models_and_was_fitted_on_training_questions() -> None:
    models = {model.sha256 for model in REGISTRY.values()}
    for file in FOLDER.glob("*.json"):
        assert models & set(read_adapter(file).models)
        assert json.loads(file.read_text(encoding="utf-8"))["manifest"]["split"] == "train"
    assert reading_prompt("Who?", ()).task == ANSWERING


@pytest.fixture(scope="module")
def generator_without(smollm2: Path) -> LlamaGenerator:
    return LlamaGenerator(smollm2, context_tokens=512)
