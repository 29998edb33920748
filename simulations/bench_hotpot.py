"""A first honest number on real questions: HotpotQA dev over five devices, `memory-fusion` beside `local-rag`.

    python simulations/bench_hotpot.py --data FOLDER [--questions 100] [--devices 5] [--out docs/benchmarks]

FOLDER holds ``hotpotqa.jsonl.gz`` (default: $FEDRAG_DATA). Documents are dealt to devices at random, as in FD-RAG's
federated setting (5.1). The text is public, so nothing is masked: `privacy.export` is "none". The generation cache lets
a second run go on where the first stopped; replayed answers are left out of latencies.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from client_app.app import app
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.results import read_summary
from fedrag_flwr.evaluation.summary import Summary
from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root, read_multihop
from fedrag_flwr.sources.partition import partition_documents, write_partition
from server_app.run import run_systems
from simulations.reporting.folders import out_folder

FILE = "hotpotqa.jsonl.gz"
COLUMNS = (
    *("system", "ACC", "F1", "EM", "abstained", "Memorizer", "mean s", "p50 s", "p95 s"),
    *("LLM calls", "messages", "MB up", "MB down"),
)


def run(data: Path, questions: int, devices: int, seed: int, home: Path) -> tuple[Path, float]:
    """Partition, run both systems in one process, and return the results folder and the share of local questions."""
    benchmark = read_multihop(data / FILE, "dev", questions, "distractor")
    partition = partition_documents(benchmark, devices, seed)
    root = home / f"hotpotqa-{questions}-{devices}-{seed}"
    write_partition(root, partition)
    settings = Settings.from_config(
        {
            "home": str(home),
            "seed": seed,
            "results": str(home / "results"),
            "data.root": str(root),
            "data.questions": str(root / "questions.jsonl"),
            "data.split": "dev",
            "data.limit": 0,
            "privacy.export": "none",
            "federation.devices": devices,
            "federation.round-timeout": 36_000.0,
        }
    )
    nodes = [{"partition-id": number, "num-partitions": devices} for number in range(devices)]
    grid = LocalGrid(app, nodes, settings.flat())
    folder = run_systems(grid, f"{grid.run.run_id}", settings)
    return folder, len(partition.local) / max(len(partition.questions), 1)


def table(summary: Summary, local_share: float) -> str:
    """The result as a Markdown table."""
    lines = [
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    for name, system in summary.systems.items():
        seconds = system.latency_s
        cells = [
            *(f"{100 * value:.1f}" for value in (system.acc, system.f1, system.em, system.abstained)),
            f"{100 * system.paths.get('memorizer', 0.0):.1f}",
            *("-" if value is None else f"{value:.2f}" for value in (seconds.mean, seconds.p50, seconds.p95)),
            f"{system.llm_calls:.2f}",
            str(system.messages),
            f"{system.bytes_up / 1e6:.2f}",
            f"{system.bytes_down / 1e6:.2f}",
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    count = next(iter(summary.systems.values())).n
    lines += ["", f"{count} questions, {100 * local_share:.0f} % of them local to their home device."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the benchmark and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the dataset")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--devices", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    if arguments.data is None:
        raise SourceError(
            "there is no data", where="--data", fix=f"name the folder that holds {FILE}, or set FEDRAG_DATA"
        )
    home = fedrag_home() / "benchmarks"
    folder, local_share = run(arguments.data, arguments.questions, arguments.devices, arguments.seed, home)
    summary = read_summary(folder)
    console = Console()
    for part in (quality_table(summary), kinds_table(summary), cost_table(summary)):
        console.print(part)
    (arguments.out / "hotpotqa.md").write_text(table(summary, local_share), encoding="utf-8")
    (arguments.out / "hotpotqa.json").write_text(json.dumps(asdict(summary), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
