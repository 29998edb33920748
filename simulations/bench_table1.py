"""FD-RAG's table 1 in one piece: three datasets, each at home and federated, side by side on the machine's cores.

    python -m simulations.bench_table1 [--data FOLDER] [--questions 40] [--jobs 2] [--set KEY=VALUE ...] [--out DIR]

FOLDER holds the three multi-hop files (default: $FEDRAG_DATA). Each dataset in each setting is a run of `fedrag bench`
in a folder of its own with its log beside it, and systems take turns there question by question. Killed at any time,
the same command goes on where it was; what is finished costs a few seconds. ``table1.md`` has the paper's shape.
"""

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

from fedrag_flwr.errors import ProcessError
from fedrag_flwr.evaluation.measures import number, points, seconds
from fedrag_flwr.evaluation.results import read_summary
from fedrag_flwr.evaluation.scoring import SystemResult
from simulations.corpora.sentences import find_data
from simulations.reporting.folders import out_folder

DATASETS = ("hotpotqa", "2wikimultihopqa", "musique")
SYSTEMS = {  # the paper's rows, in its order (`local-memory` is its FD-RAG without fusion), then ours and the reference
    "local": (
        *("vanilla", "iterative", "long-units", "filter-requery", "summary-tree", "communities", "hyperedges"),
        *("pagerank", "fd-rag-local"),
    ),
    "federated": (
        *("local-rag", "confidential-broadcast", "rag-route", "local-memory", "memory-fusion"),
        *("fedrag", "centralized"),
    ),
}
SETTINGS = ("memory.delta=0.8", "inference.free-answers=true", "inference.abstain-below=0.0")
IN_TURN = (  # such that two cores end together, by the times that the parts took
    ("local", "musique"),
    ("local", "2wikimultihopqa"),
    ("federated", "musique"),
    ("local", "hotpotqa"),
    ("federated", "hotpotqa"),
    ("federated", "2wikimultihopqa"),
)
_TOLD_EVERY = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Part:
    """One dataset in one setting."""

    setting: str
    dataset: str

    @property
    def name(self) -> str:
        """Its folder's name."""
        return f"{self.setting}-{self.dataset}"


def run_part(part: Part, data: Path, out: Path, further: Sequence[str]) -> None:
    """Run or resume one part in a process of its own.

    Raises
    ------
    ProcessError
        It failed; its log says why.
    """
    log = out / f"{part.name}.log"
    file, systems = data / f"{part.dataset}.jsonl.gz", ",".join(SYSTEMS[part.setting])
    command = [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", "bench", "--data", str(file.resolve())]
    command += ["--setting", part.setting, "--systems", systems, "--out", str((out / part.name).resolve()), *further]
    with log.open("ab") as told:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # a core each
            cwd=Path(__file__).parents[1],
            check=False,
        )
    if ended.returncode:
        raise ProcessError(f"{part.name} ended with {ended.returncode}", where=log.name, fix="read its log")


def run_all(parts: Sequence[Part], jobs: int, data: Path, out: Path, further: Sequence[str]) -> None:
    """Run parts, so many at a time, and tell once a minute how far those are that run."""
    running: dict[Part, float] = {}

    def one(part: Part) -> None:
        running[part] = time.monotonic()
        run_part(part, data, out, further)
        print(f"{part.name} is done after {seconds(time.monotonic() - running.pop(part))}", flush=True)

    ended = threading.Event()
    telling = threading.Thread(target=_tell, args=(running, out, ended), daemon=True)
    telling.start()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in [pool.submit(one, part) for part in parts]:
                done.result()
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)


def _tell(running: dict[Part, float], out: Path, ended: threading.Event) -> None:
    while not ended.wait(_TOLD_EVERY):
        for part in list(running):
            lines = (out / f"{part.name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
            print(f"{part.setting}: {lines[-1] if lines else 'starting'}", flush=True)


def table(out: Path, datasets: Sequence[str]) -> str:
    """The paper's table from the parts' results: systems as rows; F1, ACC, latency and calls of each dataset."""
    heads = " | ".join(f"{name}: F1 | ACC | Lat | Calls" for name in datasets)
    lines = [f"| system | {heads} |", f"|{'---|' * (1 + 4 * len(datasets))}"]
    for setting, systems in SYSTEMS.items():
        lines.append(f"| **{setting}** |{' |' * 4 * len(datasets)}")
        results = [read_summary(out / Part(setting, name).name).systems for name in datasets]
        lines += [f"| {one} | {' | '.join(_cells(found[one]) for found in results)} |" for one in systems]
    return "\n".join(lines) + "\n"


def _cells(result: SystemResult) -> str:
    told = (points(result.f1), points(result.acc), seconds(result.latency_s.mean), number(result.llm_calls))
    return " | ".join(told)


def main() -> None:
    """Run what is not done yet and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--devices", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parts at a time, a core each")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="KEY=VALUE of all systems")
    parser.add_argument("--out", type=out_folder, default="results/table1")
    options = parser.parse_args()
    further = ["--questions", str(options.questions), "--devices", str(options.devices)]
    further += [word for change in (*SETTINGS, *options.changes) for word in ("--set", change)]
    parts = [Part(setting, name) for setting, name in IN_TURN if name in options.datasets]
    start = time.monotonic()
    run_all(parts, options.jobs, find_data(options.data), options.out, further)
    told = table(options.out, options.datasets)
    (options.out / "table1.md").write_text(told, encoding="utf-8")
    print(told)
    print(f"{seconds(time.monotonic() - start)} with {options.jobs} parts at a time; results: {options.out}")


if __name__ == "__main__":
    main()
