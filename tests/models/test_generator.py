"""The generator on a real small model: same prompt, same text; grammars, scores, limits and costs."""

import json
import math
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.models.generator import GenerationCache, LlamaGenerator
from fedrag_flwr.models.llama import LlamaEngine, usable
from fedrag_flwr.models.load import load_generator
from fedrag_flwr.models.sampling import log_probability

EXAMPLES = (
    ("Evidence: Paris is the capital of France.\nQuestion: What is the capital of France?", "Paris"),
    ("Evidence: Iron melts at 1538 degrees.\nQuestion: At what temperature does iron melt?", "1538 degrees"),
)
SYSTEM = "Answer the question from the evidence in a few words."
PROMPT = Prompt(SYSTEM, "Evidence: Ada Lovelace was born in London.\nQuestion: Where was she born?", EXAMPLES)
OTHER = replace(PROMPT, user="Evidence: Bees make honey.\nQuestion: What do bees make?")
ELSEWHERE = replace(PROMPT, system="Say something about the question.", examples=())
YES_NO = Grammar('root ::= "yes" | "no"')
OBJECT = Grammar('root ::= "{\\"answer\\": \\"" [a-zA-Z ]{1,20} "\\"}"')


def fresh(path: Path) -> LlamaGenerator:
    return LlamaGenerator(path, context_tokens=512)


def test_it_is_a_generator(generator: LlamaGenerator) -> None:
    typed: Generator = generator
    assert typed.id == "SmolLM2-135M-Instruct.Q4_1.gguf@b179c9523d0e"


THREADS = """
import pathlib, sys, threading
from fedrag_flwr.models.llama import LlamaEngine
barrier, opened = threading.Barrier(3), []
def open_model():
    barrier.wait()
    opened.append(LlamaEngine(pathlib.Path(sys.argv[1]), context_tokens=64, threads=1))
threads = [threading.Thread(target=open_model) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(opened))
"""
OPEN = """
import pathlib, sys
from fedrag_flwr.models.llama import LlamaEngine
LlamaEngine(pathlib.Path(sys.argv[1]), context_tokens=64, threads=1)
mapped = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "ggml-cpu" in line}
print(*mapped)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process has loaded")
def test_the_code_for_one_kind_of_processor_is_loaded(smollm2: Path) -> None:
    opened = subprocess.run([sys.executable, "-c", OPEN, str(smollm2)], capture_output=True, text=True, check=True)
    (loaded,) = map(Path, opened.stdout.split())
    variants = [path for path in loaded.parent.glob("libggml-cpu-*.so") if path.name != "libggml-cpu-x64.so"]
    assert not variants or loaded in variants  # x64 is what fits all, and nobody well


def test_matrix_tiles_are_used_only_where_their_set_up_was_kept(tmp_path: Path) -> None:
    dropped, kept = (tmp_path / "old", tmp_path / "new")
    for folder, switches in ((dropped, b"GNU C++17 -O3"), (kept, b"GNU C++17 -fno-dse -O3")):
        folder.mkdir()
        for kind in ("sapphirerapids", "zen4"):
            (folder / f"libggml-cpu-{kind}.so").write_bytes(b"\x7fELF\x00" + switches + b"\x00")
    assert [path.name for path in usable(dropped)] == ["libggml-cpu-zen4.so"]
    assert len(usable(kept)) == 2
    assert usable(tmp_path / "no wheel with variants") == []


def test_threads_that_open_their_first_model_at_once_all_get_it(smollm2: Path) -> None:
    opened = subprocess.run([sys.executable, "-c", THREADS, str(smollm2)], capture_output=True, text=True, check=True)
    assert opened.stdout.split() == ["3"], opened.stderr


def test_greedy_decoding_repeats_itself(generator: LlamaGenerator) -> None:
    first, second = (generator.complete(PROMPT, max_tokens=12, seed=seed)[0] for seed in (0, 1))
    assert first.text
    assert (first.text, first.logprob) == (second.text, second.logprob)
    assert not first.cached


@pytest.mark.parametrize("grammar", [None, OBJECT, Grammar("root ::= [^\\n]+")])
def test_what_is_heard_is_the_text_piece_by_piece(generator: LlamaGenerator, grammar: Grammar | None) -> None:
    tale = Prompt("", "Write one sentence in French about tea, with an emoji.")
    silent = generator.complete(tale, grammar=grammar, max_tokens=24)[0]
    pieces: list[str] = []
    heard = generator.complete(tale, grammar=grammar, max_tokens=24, heard=pieces.append)[0]
    assert len(pieces) > 3
    assert "".join(pieces) == heard.text == silent.text
    assert heard.logprob == silent.logprob


def test_a_replayed_text_is_heard_at_once(smollm2: Path, tmp_path: Path) -> None:
    cached = LlamaGenerator(smollm2, context_tokens=512, cache=GenerationCache(tmp_path / "made"))
    made = cached.complete(PROMPT, max_tokens=8)[0]
    pieces: list[str] = []
    again = cached.complete(PROMPT, max_tokens=8, heard=pieces.append)[0]
    assert (again.cached, pieces) == (True, [made.text])
    with pytest.raises(ModelError, match="only one completion"):
        cached.complete(PROMPT, n=2, heard=pieces.append)
    cached.close()


def test_reuse_changes_nothing(smollm2: Path, generator: LlamaGenerator) -> None:
    prompts = [PROMPT, OTHER, ELSEWHERE, PROMPT, Prompt("", "Hello"), OTHER, PROMPT]
    reused = [generator.complete(prompt, max_tokens=5)[0] for prompt in prompts]
    for prompt, completion in zip(prompts[:3], reused[:3], strict=True):
        alone = fresh(smollm2)
        whole = alone.complete(prompt, max_tokens=5)[0]
        assert (whole.text, whole.logprob, whole.tokens_in) == (
            completion.text,
            completion.logprob,
            completion.tokens_in,
        )
        alone.close()
    assert [c.logprob for c in reused[3:4] + reused[5:]] == [reused[i].logprob for i in (0, 1, 0)]


def test_a_prefix_is_evaluated_once_and_apart(smollm2: Path) -> None:
    alone = fresh(smollm2)
    alone.count_tokens("load")
    long = replace(PROMPT, examples=EXAMPLES * 5)
    first = alone.complete(long, max_tokens=1)[0]
    second = alone.complete(replace(long, user=OTHER.user), max_tokens=1)[0]
    assert first.tokens_in > 250
    assert second.tokens_in > 250, "reused tokens are counted"
    assert first.setup > second.seconds, "the prefix is evaluated apart from what a question takes"
    assert second.setup < first.setup / 100
    alone.close()


def test_a_prompt_that_comes_again_is_evaluated_again_once_it_was_forgotten(
    generator: LlamaGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator.complete(PROMPT, max_tokens=2)
    evaluated: list[int] = []
    extend = LlamaEngine.extend

    def counted(self: LlamaEngine, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
        evaluated.append(start)
        return extend(self, tokens, start)

    monkeypatch.setattr(LlamaEngine, "extend", counted)
    first = generator.complete(PROMPT, max_tokens=2)[0].text
    assert evaluated == []
    generator.forget_prompt()
    assert generator.complete(PROMPT, max_tokens=2)[0].text == first
    assert len(evaluated) == 1
    assert evaluated[0] > 0  # the prefix is kept


def test_more_prefixes_than_are_kept(generator: LlamaGenerator) -> None:
    prompts = [Prompt(f"Rule {number}", "Hello") for number in range(10)]
    first = [generator.complete(prompt, max_tokens=2)[0].text for prompt in prompts]
    assert [generator.complete(prompt, max_tokens=2)[0].text for prompt in prompts] == first


def test_samples_follow_their_seed(generator: LlamaGenerator) -> None:
    one, again, other = (
        [c.text for c in generator.complete(PROMPT, max_tokens=10, n=4, seed=seed)] for seed in (3, 3, 4)
    )
    assert one == again
    assert one != other
    assert len(set(one)) > 1
    assert [c.text for c in generator.complete(PROMPT, max_tokens=10, n=2, seed=3)] == one[:2]


@pytest.mark.parametrize("n", [1, 3])
def test_a_grammar_is_kept(generator: LlamaGenerator, n: int) -> None:
    assert all(c.text in {"yes", "no"} for c in generator.complete(PROMPT, grammar=YES_NO, n=n))
    for completion in generator.complete(PROMPT, grammar=OBJECT, n=n, seed=5):
        assert set(json.loads(completion.text)) == {"answer"}


@pytest.mark.parametrize(
    "grammar", ['root ::= "a', 'x ::= "a"', "root ::= missing", 'root ::= root "a" | "b"', "nonsense", "root ::= ["]
)
def test_a_wrong_grammar_is_told(generator: LlamaGenerator, grammar: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError, match="does not parse"):
        generator.complete(PROMPT, grammar=Grammar(grammar))
    assert capfd.readouterr() == ("", "")


def test_a_grammar_without_a_way_on_is_an_error(generator: LlamaGenerator) -> None:
    before = generator.complete(PROMPT, max_tokens=5)[0].text
    with pytest.raises(ModelError, match="allows no token"):
        generator.complete(PROMPT, grammar=Grammar('root ::= "a" [^\\x00-\\U0010FFFF]'))
    assert generator.complete(PROMPT, max_tokens=5)[0].text == before


def test_counts_are_honest(generator: LlamaGenerator) -> None:
    completion = generator.complete(PROMPT, max_tokens=3)[0]
    assert completion.tokens_out <= 3
    assert completion.tokens_in > generator.count_tokens(PROMPT.user)
    assert completion.seconds > 0
    assert completion.logprob < 0
    samples = generator.complete(PROMPT, max_tokens=3, n=2)
    assert {c.tokens_in for c in samples} == {completion.tokens_in}


def test_an_empty_completion_has_no_mean(generator: LlamaGenerator) -> None:
    completion = generator.complete(PROMPT, grammar=Grammar('root ::= ""'))[0]
    assert (completion.text, completion.tokens_out) == ("", 0)
    assert math.isnan(completion.logprob)


def test_score_agrees_with_generation(generator: LlamaGenerator) -> None:
    made = generator.complete(PROMPT, max_tokens=24)[0]
    assert generator.count_tokens(made.text) == made.tokens_out
    assert generator.score(PROMPT, [made.text]).logprobs[0] == pytest.approx(made.logprob * made.tokens_out, abs=0.15)


def test_scores_do_not_depend_on_company(generator: LlamaGenerator) -> None:
    texts = [
        *("London", "Paris, the capital of France", "honey", "", "yes", " ", "one two three", "no", "a b c d", "1538"),
    ]
    together = generator.score(PROMPT, texts).logprobs
    apart = [generator.score(PROMPT, [text]).logprobs[0] for text in texts]
    assert together == pytest.approx(apart, abs=0.1)
    assert together[3] == 0.0
    assert (together <= 0).all()
    assert generator.score(PROMPT, []).logprobs.shape == (0,)


def test_a_long_continuation_is_scored_in_pieces(generator: LlamaGenerator) -> None:
    score = generator.score(PROMPT, ["London is a city. " * 30, "London"]).logprobs
    assert np.isfinite(score).all()
    assert score[0] < score[1]


@pytest.mark.parametrize("user", ["word " * 3_000, "word " * 430])
def test_a_prompt_that_is_too_long_says_its_tokens(generator: LlamaGenerator, user: str) -> None:
    with pytest.raises(ModelError, match=r"prompt of \d+ tokens .* context of 512"):
        generator.complete(Prompt(SYSTEM, user))
    with pytest.raises(ModelError, match=r"prompt of \d+ tokens"):
        generator.score(Prompt(SYSTEM, user), ["word " * 400])
    assert generator.complete(PROMPT, max_tokens=2)[0].text


def test_a_full_context_is_used_to_its_last_cell(generator: LlamaGenerator) -> None:
    base = generator.complete(Prompt("", "a"), max_tokens=1)[0].tokens_in
    prompt = Prompt("", "a" + " a" * (512 - 4 - base))
    made = generator.complete(prompt, grammar=Grammar("root ::= [a-z ]{40}"), max_tokens=4)[0]
    assert (made.tokens_in, made.tokens_out) == (508, 4)
    assert len(generator.complete(prompt, max_tokens=4, n=2)) == 2


@settings(max_examples=6)
@given(text=st.text(max_size=60))
def test_any_text_can_be_asked_and_scored(generator: LlamaGenerator, text: str) -> None:
    made = generator.complete(Prompt(SYSTEM, text), max_tokens=2)[0]
    assert made.tokens_out <= 2
    made.text.encode()
    assert np.isfinite(generator.score(Prompt("", "Repeat."), [text]).logprobs).all()
    assert generator.count_tokens(text) <= len(text.encode()) + 1


@pytest.mark.parametrize(("max_tokens", "n"), [(0, 1), (1, 0)])
def test_nothing_cannot_be_asked_for(generator: LlamaGenerator, max_tokens: int, n: int) -> None:
    with pytest.raises(ModelError, match="at least 1"):
        generator.complete(PROMPT, max_tokens=max_tokens, n=n)


def test_threads_take_turns(generator: LlamaGenerator) -> None:
    expected = {prompt: generator.complete(prompt, max_tokens=3)[0].text for prompt in (PROMPT, OTHER, ELSEWHERE)}
    made: list[tuple[Prompt, str]] = []

    def ask(prompt: Prompt) -> None:
        made.append((prompt, generator.complete(prompt, max_tokens=3)[0].text))

    threads = [threading.Thread(target=ask, args=(prompt,)) for prompt in [*expected, *expected]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    assert all(expected[prompt] == text for prompt, text in made)


def test_the_cache_replays_what_was_made(smollm2: Path, tmp_path: Path) -> None:
    cached = LlamaGenerator(smollm2, context_tokens=512, cache=GenerationCache(tmp_path / "made"))
    made = cached.complete(PROMPT, max_tokens=4)
    cached.close()
    again = LlamaGenerator(smollm2, context_tokens=512, cache=GenerationCache(tmp_path / "made"))
    assert again.complete(PROMPT, max_tokens=4) == [replace(made[0], cached=True, setup=0.0)]
    assert not again.complete(PROMPT, max_tokens=5)[0].cached
    again.close()


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model" * 1000, None], ids=["", "GGUF", "text", "torn"])
def test_a_broken_file_is_an_error_and_quiet(
    tmp_path: Path, smollm2: Path, content: bytes | None, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(smollm2.read_bytes()[:10_000_000] if content is None else content)
    broken = LlamaGenerator(path)
    assert broken.id.startswith("broken.gguf@")
    with pytest.raises(ModelError, match=r"broken\.gguf"):
        broken.complete(PROMPT)
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    missing = LlamaGenerator(tmp_path / "missing.gguf")
    with pytest.raises(ModelError, match=r"missing\.gguf"):
        missing.complete(PROMPT)
    with pytest.raises(ModelError, match=r"missing\.gguf"):
        _ = missing.id


def test_it_is_quiet_and_opens_again(smollm2: Path, capfd: pytest.CaptureFixture[str]) -> None:
    alone = fresh(smollm2)
    first = alone.complete(PROMPT, max_tokens=3)[0].text
    alone.close()
    assert alone.complete(PROMPT, max_tokens=3)[0].text == first
    alone.close()
    assert capfd.readouterr() == ("", "")


def test_one_generator_serves_a_process(model_home: Path) -> None:
    assert load_generator("smollm2-135m") is load_generator("smollm2-135m")
    assert load_generator("smollm2-135m") is not load_generator("smollm2-135m", threads=2)


@given(
    logits=st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=20).map(lambda v: np.array(v, dtype=np.float32))
)
def test_log_probabilities_sum_to_one(logits: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
    assert sum(math.exp(log_probability(logits, token)) for token in range(len(logits))) == pytest.approx(1, abs=1e-4)
