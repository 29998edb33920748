"""The generation cache: what it keeps, what it forgets, and what it survives."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import StoreCorruptError, StoreError, StoreMismatchError
from fedrag_flwr.models import Completion, GenerationCache, Grammar, Prompt

PROMPT = Prompt("system", "user", (("q", "a"),))
MADE = [Completion("Täxt\n", 10, 2, 0.5, logprob=-0.25, least=-1.5)]


def key(
    cache: GenerationCache,
    *,
    generator: str = "g@1",
    prompt: Prompt = PROMPT,
    grammar: Grammar | None = None,
    max_tokens: int = 8,
    n: int = 1,
    seed: int = 0,
    temperature: float = 0.7,
) -> str:
    return cache.key(generator, prompt, grammar, max_tokens, n, seed, temperature)


@pytest.fixture
def cache(tmp_path: Path) -> GenerationCache:
    return GenerationCache(tmp_path / "cache.db")


def test_what_was_put_comes_back_as_cached_with_its_seconds(cache: GenerationCache) -> None:
    assert cache.get("k") is None
    cache.put("k", MADE)
    assert cache.get("k") == [replace(MADE[0], cached=True)]


def test_a_mean_that_is_not_a_number_comes_back(cache: GenerationCache) -> None:
    cache.put("k", [Completion("", 10, 0, 0.5)])
    found = cache.get("k")
    assert found is not None
    assert found[0].logprob != found[0].logprob


def test_it_lasts_and_is_private(cache: GenerationCache, tmp_path: Path) -> None:
    cache.put("k", MADE)
    cache.close()
    assert GenerationCache(tmp_path / "cache.db").get("k") is not None
    assert stat.S_IMODE((tmp_path / "cache.db").stat().st_mode) == 0o600


def test_every_part_of_a_request_has_its_own_key(cache: GenerationCache) -> None:
    keys = [
        key(cache),
        key(cache, generator="g@2"),
        key(cache, prompt=replace(PROMPT, user="user2")),
        key(cache, prompt=replace(PROMPT, system="systemu", user="ser")),
        key(cache, prompt=replace(PROMPT, examples=())),
        key(cache, grammar=Grammar('root ::= "a"')),
        key(cache, max_tokens=9),
        key(cache, n=2),
        key(cache, n=2, seed=1),
        key(cache, n=2, temperature=0.9),
    ]
    assert len(set(keys)) == len(keys)
    assert key(cache, seed=5) == key(cache), "greedy decoding draws nothing"


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    cache = GenerationCache(tmp_path / "cache.db", limit_bytes=1_000)
    for name in "abcd":
        cache.put(name, [Completion(name * 100, 1, 1, 0.1)])
    assert cache.get("a") is not None
    for name in "ef":
        cache.put(name, [Completion(name * 100, 1, 1, 0.1)])
    kept = [name for name in "abcdef" if cache.get(name) is not None]
    assert "a" in kept
    assert "f" in kept
    assert "b" not in kept
    assert cache.size()[1] <= 1_000


@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(st.integers(0, 400), min_size=1, max_size=30), limit=st.integers(0, 2_000))
def test_it_never_outgrows_its_limit(tmp_path_factory: pytest.TempPathFactory, lengths: list[int], limit: int) -> None:
    cache = GenerationCache(tmp_path_factory.mktemp("cache") / "cache.db", limit_bytes=limit)
    for number, length in enumerate(lengths):
        cache.put(str(number), [Completion("x" * length, 1, 1, 0.1)])
        assert cache.size()[1] <= limit
    cache.close()


def test_several_that_share_it_keep_to_its_limit(tmp_path: Path) -> None:
    caches = [GenerationCache(tmp_path / "cache.db", limit_bytes=2_000) for _ in range(2)]
    for number in range(60):
        turn = caches[number // 3 % 2]
        turn.put(str(number % 40), [Completion("x" * number, 1, 1, 0.1)])
        assert turn.size()[1] <= 2_000
        if number == 45:
            turn.clear()
    assert turn.get("19") is not None


def _steps(cache: GenerationCache, name: str) -> int:
    """How many steps of SQLite's machine it takes to keep an entry."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection = cache._connected()
    connection.set_progress_handler(step, 1)
    cache.put(name, MADE)
    connection.set_progress_handler(None, 0)
    return steps


def test_what_an_entry_costs_does_not_grow_with_the_others(cache: GenerationCache) -> None:
    cache.put("first", MADE)
    alone = _steps(cache, "k")
    for number in range(200):
        cache.put(str(number), MADE)
    assert _steps(cache, "another") < 2 * alone


def test_clear_forgets_everything(cache: GenerationCache) -> None:
    cache.put("k", MADE)
    cache.clear()
    assert cache.size() == (0, 0)


def _write(path: Path, name: str, count: int) -> None:
    cache = GenerationCache(path)
    for number in range(count):
        cache.put(f"{name}{number}", MADE)


def test_several_processes_share_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "cache.db"
    writers = [context.Process(target=_write, args=(path, name, 50)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert GenerationCache(path).size()[0] == 100


def test_it_opens_after_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    writer = multiprocessing.get_context("spawn").Process(target=_write, args=(path, "k", 1_000_000))
    writer.start()
    cache = GenerationCache(path)
    deadline = time.monotonic() + 60
    while cache.get("k50") is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    again = GenerationCache(path)
    assert again.get("k50") is not None
    again.put("after", MADE)
    assert again.get("after") is not None


def test_a_fork_opens_its_own_connection(cache: GenerationCache) -> None:
    cache.put("parent", MADE)
    child = multiprocessing.get_context("fork").Process(target=cache.put, args=("child", MADE))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert cache.get("child") is not None


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"not a database at all" * 100, StoreCorruptError), (b"SQLite format 3\x00" + b"\xff" * 4096, StoreCorruptError)],
)
def test_a_torn_file_is_named(tmp_path: Path, content: bytes, error: type[StoreError]) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(content)
    with pytest.raises(error, match=r"cache\.db"):
        GenerationCache(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE precious (value)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreMismatchError):
        GenerationCache(path)
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        GenerationCache(tmp_path / "file" / "cache.db")


def test_a_torn_entry_is_a_miss(cache: GenerationCache, tmp_path: Path) -> None:
    cache.put("k", MADE)
    with sqlite3.connect(tmp_path / "cache.db") as other:
        other.execute("UPDATE completions SET content = '[{'")
    other.close()
    assert cache.get("k") is None
