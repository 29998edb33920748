"""Files that several processes make at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from fedrag_flwr.models.cache import GenerationCache
from fedrag_flwr.privacy.durable import DurableFile

PROCESSES, FILES = 3, 60  # without a turn for each, several of these openings fail
OPENERS: dict[str, Callable[[Path], GenerationCache | DurableFile]] = {
    "generation cache": GenerationCache,
    "durable file": lambda path: DurableFile(path, "list", "CREATE TABLE IF NOT EXISTS words (word TEXT)", 1),
}


def _open_all(kind: str, folder: Path, start: Barrier) -> None:
    try:
        for number in range(FILES):
            start.wait(60)
            OPENERS[kind](folder / str(number) / "file.sqlite").close()
    except BaseException:
        start.abort()  # the others need not wait for this one
        raise


@pytest.mark.parametrize("kind", OPENERS)
def test_all_who_open_a_new_file_at_once_get_it(kind: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(PROCESSES)
    processes = [context.Process(target=_open_all, args=(kind, tmp_path, start)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
