"""FD-RAG's table 1 in one piece: three datasets, each at home and federated, side by side on the machine's cores.

    python -m simulations.bench_table1 [--data FOLDER] [--settings local federated] [--all] [--systems NAME ...]
        [--questions 40] [--jobs 2] [--set KEY=VALUE ...] [--out DIR]

FOLDER holds the three multi-hop files (default: $FEDRAG_DATA). Its rows are the paper's, the other baselines, the floor
(`plain`) and `fedrag`; with `--all` the other strategies are asked, too (`local-graph` and `controller-fedavg` aside),
with `--systems` only these and the references, to which the same command without it adds the others. Each dataset in
each setting is a run of `fedrag bench` in a folder of its own with its log beside it, and systems take turns there
question by question. Killed at any time, the same command goes on where it was, after a part that is still being asked
has ended; what is finished costs a few seconds.
``table1.md`` has the paper's table, ACC with intervals, who answered in what time, what a federated question sends and
what the parts were made with, ``table1.csv`` all measures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from fedrag_flwr.evaluation.measures import seconds
from simulations.corpora.sentences import find_data
from simulations.parts.side_by_side import Part, parser_of, run_queues, words_of
from simulations.reporting.table1_tables import Systems, folder_of, numbers, tables

# The paper's rows, in its order (`local-memory` is its FD-RAG without fusion), then the floor, `fedrag` and the others.
SYSTEMS = {
    "local": (
        *("vanilla", "iterative", "long-units", "filter-requery", "summary-tree", "communities", "hyperedges"),
        *("pagerank", "fd-rag-local", "plain", "bm25", "hybrid", "closed-book"),
    ),
    "federated": (
        *("local-rag", "confidential-broadcast", "rag-route", "local-memory", "memory-fusion"),
        *("fedrag", "no-rag", "centralized"),
    ),
}
FURTHER = ("summary-routing", "hybrid-fusion", "topic-walk", "random-walk", "flooding")  # strategies of other papers
ALL = {**SYSTEMS, "federated": (*SYSTEMS["federated"], *FURTHER)}
IN_TURN = (  # the longest first, so that two cores end together
    ("local", "musique"),
    ("local", "hotpotqa"),
    ("local", "2wikimultihopqa"),
    ("federated", "hotpotqa"),
    ("federated", "musique"),
    ("federated", "2wikimultihopqa"),
)


REFERENCES = {"local": "fd-rag-local", "federated": "fedrag"}
BY_WAY = {
    "local": ("fd-rag-local",),
    "federated": ("local-memory", "memory-fusion", "fedrag", "centralized"),
}


def part_of(setting: str, dataset: str, data: Path, systems: Sequence[str], further: Sequence[str]) -> Part:
    """One dataset in one setting, with further words for all parts."""
    file = data / f"{dataset}.jsonl.gz"
    words = ("--data", str(file.resolve()), "--setting", setting, "--systems", ",".join(systems), *further)
    return Part(folder_of(setting, dataset), words)


def chosen(rows: Systems, names: Sequence[str] | None) -> dict[str, list[str]]:
    """Of each setting's rows those that are named, and its reference; all without names."""
    return {
        setting: [name for name in systems if names is None or name in names or name == REFERENCES[setting]]
        for setting, systems in rows.items()
    }


def main() -> None:
    """Run what is not done yet and write the table."""
    parser = parser_of(__doc__, "results/table1")
    parser.add_argument("--settings", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--all", action="store_true", help="strategies of other papers, too")
    parser.add_argument("--systems", nargs="+", choices=[name for rows in ALL.values() for name in rows], default=None)
    options = parser.parse_args()
    rows = {setting: (ALL if options.all or options.systems else SYSTEMS)[setting] for setting in options.settings}
    systems = chosen(rows, options.systems)
    further = words_of(options)
    data = find_data(options.data)
    parts = [
        part_of(setting, name, data, systems[setting], further)
        for setting, name in IN_TURN
        if setting in systems and name in options.datasets
    ]
    start = time.monotonic()
    run_queues([[part] for part in parts], options.jobs, options.out)
    ways = {setting: [name for name in BY_WAY[setting] if name in asked] for setting, asked in systems.items()}
    told = tables(options.out, systems, options.datasets, REFERENCES, ways)
    (options.out / "table1.md").write_text(told, encoding="utf-8")
    (options.out / "table1.csv").write_text(numbers(options.out, systems, options.datasets), encoding="utf-8")
    print(told)
    print(f"{seconds(time.monotonic() - start)} with {options.jobs} parts at a time; results: {options.out}")


if __name__ == "__main__":
    main()
