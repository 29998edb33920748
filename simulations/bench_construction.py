"""What a memory costs to build and what is in it: tokens, seconds by stage, memory, items and rejects by question type.

    python simulations/bench_construction.py [--data FOLDER] [--rows 100] [--other-rows 100] [--tokens 20]
                                             [--again] [--out docs/benchmarks]

FOLDER holds ``hotpotqa.jsonl.gz``, ``2wikimultihopqa.jsonl.gz`` and ``musique.jsonl.gz`` (default: $FEDRAG_DATA). One
device remembers the paragraphs of the first dev rows (HotpotQA: distractor setting), each once. HotpotQA's memory is
made with the default models and `--tokens` output tokens of the model for each 1,000 corpus tokens; the other two, of
which only the question types are told (FD-RAG Table 8), by rules alone and with the encoder in bfloat16. Each is built
in a process of its own and kept under ``$FEDRAG_HOME/benchmarks/construction``: a second run prints what is kept, and
one that was cut short replays what the model wrote (`--again` builds anew; delete ``generations`` as well, so
that nothing is replayed). Seconds are the processor's. Prints Markdown tables and writes ``construction.json``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedrag_flwr.memory.fusion.merge import owned
from fedrag_flwr.memory.generate.compose import compose
from fedrag_flwr.memory.generate.model import KINDS
from fedrag_flwr.settings import Settings
from simulations.corpora.sentences import DATASETS, find_data
from simulations.dataset_memory import Row, kept_memory, open_device
from simulations.reporting.folders import out_folder
from simulations.reporting.stage_clock import ENCODING, STAGES

MEASURED = "HotpotQA"
TARGET = 58  # output tokens of the model for each 1,000 corpus tokens (FD-RAG Table 6)
TYPES = ("single", *KINDS)


def memory_of(data: Path, name: str, options: argparse.Namespace) -> Row:
    """A dataset's memory: with the model and the default encoder where its cost is measured."""
    again = getattr(options, "again", False)
    if name == MEASURED:
        return kept_memory(data, name, options.rows, options.tokens, False, again)
    return kept_memory(data, name, options.other_rows, 0, True, again)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options by which a memory is known."""
    parser.add_argument("--data", type=Path, default=None, help="the folder with the datasets")
    parser.add_argument("--rows", type=int, default=100, help=f"dev rows of {MEASURED}")
    parser.add_argument("--other-rows", type=int, default=100, help="dev rows of the other two")
    parser.add_argument("--tokens", type=int, default=Settings().memory.tokens_per_kilotoken, help="the model's budget")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")


def composed_at_fusion(row: Row) -> int:
    """How many two-hop memories fusion composes of a memory by itself, over hyperedges that share a name."""
    with open_device(row) as device:
        items = [owned(replace(item, support=())) for item in device.store.items()]  # as a bank gets them
    settings = Settings()
    found = compose(items, settings.memory.bridges_per_item, np.random.default_rng(settings.seed))
    return len(found.composites)


def cost_table(row: Row) -> str:
    """Tokens and memory, and seconds by stage for each 1,000 corpus tokens."""
    kilotokens = row["corpus_tokens"] / 1000
    total = sum(row["stages"].values())
    stages = list(dict.fromkeys([*STAGES.values(), ENCODING]))
    lines = [
        f"{row['documents']:,} documents, {row['corpus_tokens']:,} tokens, {row['sentences']:,} sentences, "
        f"{row['hyperedges']:,} hyperedges, {row['items']:,} memories; peak {row['peak_rss_mb']:,.0f} MB; wall "
        f"{row['wall_seconds']:,.0f} s{', in part replayed' if row['replayed'] else ''}.",
        f"The model wrote {row['tokens_out']:,} tokens in {row['llm_calls']:,} calls and read {row['tokens_in']:,}: "
        f"{row['tokens_out'] / kilotokens:.1f} for each 1,000 corpus tokens (target: at most {TARGET}).",
        "",
        _line("stage", "CPU s", "CPU s per 1,000 tokens", "share"),
        "|---|---|---|---|",
        *(
            _line(name, f"{seconds:.1f}", f"{seconds / kilotokens:.3f}", f"{100 * seconds / total:.1f} %")
            for name in stages
            for seconds in (row["stages"].get(name, 0.0),)
        ),
        _line("all", f"{total:.1f}", f"{total / kilotokens:.3f}", "100 %"),
    ]
    return "\n".join(lines)


def types_table(rows: Sequence[Row]) -> str:
    """Memories by question type and maker, with their shares (FD-RAG Table 8)."""
    columns = [(row, maker) for row in rows for maker in ("rules", "model") if row["kinds"][maker] or maker == "rules"]
    head = [f"{row['dataset']}, {maker}" for row, maker in columns]
    lines = [_line("type", *head), "|---" * (len(columns) + 1) + "|"]
    for kind in TYPES:
        cells = []
        for row, maker in columns:
            counts = row["kinds"][maker]
            cells.append(f"{counts.get(kind, 0):,} ({_share(counts.get(kind, 0), sum(counts.values()))})")
        lines.append(_line(kind, *cells))
    lines.append(_line("all", *(f"{sum(row['kinds'][maker].values()):,}" for row, maker in columns)))
    hops = [f"{row['composed']:,}" if maker == "rules" else "" for row, maker in columns]
    return "\n".join([*lines, _line("multi-hop, composed at fusion", *hops)])


def rejects_table(rows: Sequence[Row]) -> str:
    """Candidates that were not kept, by type and reason, over the datasets."""
    reasons: Counter[str] = Counter()
    for row in rows:
        for _, reason, count in row["rejected"]:
            reasons[reason] += count
    columns = [reason for reason, _ in reasons.most_common()]
    lines = [_line("dataset", "type", *columns, "rejected of candidates"), "|---" * (len(columns) + 3) + "|"]
    for row in rows:
        found = {(kind, reason): count for kind, reason, count in row["rejected"]}
        for kind in TYPES:
            counts = [found.get((kind, reason), 0) for reason in columns]
            kept = sum(row["kinds"][maker].get(kind, 0) for maker in ("rules", "model"))
            if sum(counts) + kept:
                share = _share(sum(counts), sum(counts) + kept)
                lines.append(_line(row["dataset"], kind, *(f"{count or ''}" for count in counts), share))
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _failed(rows: Iterable[Row]) -> str:
    return "\n".join(
        f"- {row['dataset']}: {len(row['failed'])} of {row['documents']:,} documents yielded nothing"
        + (f": {', '.join(f'`{name}`' for name in row['failed'])}" if row["failed"] else "")
        for row in rows
    )


def main() -> None:
    """Build what is not kept and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--again", action="store_true", help="build what is kept anew")
    arguments = parser.parse_args()
    data = find_data(arguments.data)
    rows = []
    for name in DATASETS:
        row = memory_of(data, name, arguments)
        rows.append(row | {"composed": composed_at_fusion(row)})
    tables = (cost_table(rows[0]), types_table(rows), rejects_table(rows), _failed(rows))
    print("\n\n".join(tables))
    (arguments.out / "construction.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
