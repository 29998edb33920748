"""Runs of `fedrag bench` side by side, a process and a core each, with a log beside each run's folder."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from fedrag_flwr.errors import ProcessError
from fedrag_flwr.evaluation.measures import seconds
from simulations.reporting.folders import out_folder

DATASETS = ("hotpotqa", "2wikimultihopqa", "musique")
SETTINGS = (  # chosen on train rows
    "memory.delta=0.8",
    "inference.abstain-below=0.0",
)
_TOLD_EVERY = 60.0  # seconds
_LOOKED_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """One run.

    Parameters
    ----------
    name
        Its folder's name.
    words
        The command line's words after `fedrag bench`, without ``--out``.
    """

    name: str
    words: tuple[str, ...]


def parser_of(told: str | None, out: str) -> argparse.ArgumentParser:
    """The options of a script over the multi-hop files, whose results lie in a folder of this name."""
    parser = argparse.ArgumentParser(description=told, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--devices", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time, a core each")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="KEY=VALUE of all runs")
    parser.add_argument("--out", type=out_folder, default=out)
    return parser


def words_of(options: argparse.Namespace) -> tuple[str, ...]:
    """The words that all runs share, by the options; their settings come last and count."""
    words = ["--questions", str(options.questions), "--devices", str(options.devices)]
    return (*words, *set_words([*SETTINGS, *options.changes]))


def set_words(changes: Sequence[str]) -> tuple[str, ...]:
    """Settings as words of a command line."""
    return tuple(word for change in changes for word in ("--set", change))


def run_part(part: Part, out: Path) -> None:
    """Run or resume one part in a process of its own, once nobody else is at work on it.

    What an earlier run started goes on where that run was killed, and what it answers needs no asking again.

    Raises
    ------
    ProcessError
        It failed; its log says why.
    """
    _wait_for(part, out / part.name)
    log = out / f"{part.name}.log"
    command = [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", "bench", *part.words]
    with log.open("ab") as told:
        ended = subprocess.run(
            [*command, "--out", str((out / part.name).resolve())],
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # a core each
            cwd=Path(__file__).parents[2],
            check=False,
        )
    if ended.returncode:
        raise ProcessError(f"{part.name} ended with {ended.returncode}", where=log.name, fix="read its log")


def _wait_for(part: Part, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{part.name}: another process is at work there still, and is waited for", flush=True)
        lock.acquire(poll_interval=_LOOKED_EVERY)
    lock.release()


def run_queues(queues: Sequence[Sequence[Part]], jobs: int, out: Path) -> None:
    """Run so many lanes at a time, the parts of one in turn; once a minute tell how far those are that run.

    Raises
    ------
    ProcessError
        A part failed; lanes that did not begin are left out then.
    """
    running: dict[str, float] = {}

    def follow(lane: Sequence[Part]) -> None:
        for part in lane:
            running[part.name] = time.monotonic()
            try:
                run_part(part, out)
            finally:
                took = time.monotonic() - running.pop(part.name)
            print(f"{part.name} is done after {seconds(took)}", flush=True)

    ended = threading.Event()
    telling = threading.Thread(target=_tell, args=(running, out, ended), daemon=True)
    telling.start()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in [pool.submit(follow, lane) for lane in queues]:
                done.result()
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)


def _tell(running: dict[str, float], out: Path, ended: threading.Event) -> None:
    while not ended.wait(_TOLD_EVERY):
        for name in list(running):
            log = out / f"{name}.log"
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
            print(f"{name}: {lines[-1] if lines else 'starting'}", flush=True)
