"""The generation cache: what it keeps, what it forgets, and what it survives."""

import multiprocessing
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedrag_flwr.errors import StoreError
from fedrag_flwr.models.base import Completion, Grammar, Prompt
from fedrag_flwr.models.generator import GenerationCache

PROMPT = Prompt("system", "user", (("q", "a"),))
MADE = [Completion("Täxt\n", 10, 2, 0.5, logprob=-0.25, least=-1.5, setup=3.0)]


@pytest.fixture
def cache(tmp_path: Path) -> GenerationCache:
    return GenerationCache(tmp_path / "cache")


def test_what_was_put_comes_back_as_cached_with_its_seconds(cache: GenerationCache, tmp_path: Path) -> None:
    assert cache.get("k") is None
    cache.put("k", MADE)
    cache.put("none", [Completion("", 10, 0, 0.5)])
    cache.close()
    again = GenerationCache(tmp_path / "cache")
    assert again.get("k") == [replace(MADE[0], cached=True, setup=0.0)]
    found = again.get("none")
    assert found is not None
    assert found[0].logprob != found[0].logprob, "not a number"


def test_its_owner_alone_can_read_it(cache: GenerationCache, tmp_path: Path) -> None:
    cache.put("k", MADE)
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_every_part_of_a_request_has_its_own_key(cache: GenerationCache) -> None:
    usual: dict[str, Any] = {"generator_id": "g@1", "prompt": PROMPT, "grammar": None, "max_tokens": 8, "n": 1}
    usual |= {"seed": 0, "temperature": 0.7}

    def key(**changes: object) -> str:
        return cache.key(**(usual | changes))

    keys = [
        key(),
        key(generator_id="g@2"),
        key(prompt=replace(PROMPT, user="user2")),
        key(prompt=replace(PROMPT, system="systemu", user="ser")),
        key(prompt=replace(PROMPT, examples=())),
        key(grammar=Grammar('root ::= "a"')),
        key(max_tokens=9),
        key(n=2),
        key(n=2, seed=1),
        key(n=2, temperature=0.9),
    ]
    assert len(set(keys)) == len(keys)
    assert key(seed=5) == key(), "greedy decoding draws nothing"


def test_beyond_its_limit_the_least_recently_used_go(tmp_path: Path) -> None:
    cache = GenerationCache(tmp_path / "cache", limit_bytes=200_000)
    for number in range(60):
        cache.put(str(number), [Completion("x" * 5_000, 1, 1, 0.1)])
        assert cache.get("0") is not None
    assert cache.get("1") is None
    assert cache.get("59") is not None


def _write(folder: Path, name: str) -> None:
    cache = GenerationCache(folder)
    for number in range(20):
        cache.put(f"{name}{number}", MADE)


def test_several_processes_share_it(cache: GenerationCache, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(tmp_path / "cache", name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert all(cache.get(f"{name}{number}") for name in "ab" for number in range(20))


def test_a_torn_file_or_entry_costs_only_what_it_held(cache: GenerationCache, tmp_path: Path) -> None:
    cache._kept.put("k", b"[{", {})
    assert cache.get("k") is None
    cache.close()
    (tmp_path / "cache" / "cache.db").write_bytes(b"not a database at all" * 100)
    again = GenerationCache(tmp_path / "cache")
    again.put("k", MADE)
    assert again.get("k") is not None


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((StoreError, OSError)):
        GenerationCache(tmp_path / "file" / "cache")
