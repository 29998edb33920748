"""What changed documents cost a device of 1,000, beside building its memory anew.

    python simulations/bench_update.py [--data FOLDER] [--documents 1000] [--changes 1 1 1 1 1 10 100] [--tokens 0 20]
                                       [--fresh] [--again] [--out docs/benchmarks]

FOLDER holds ``hotpotqa.jsonl.gz``, ``2wikimultihopqa.jsonl.gz`` and ``musique.jsonl.gz`` (default: $FEDRAG_DATA); the
documents are paragraphs pooled from them, one file each. For each budget of ``memory.tokens-per-kilotoken`` a process
builds a device with warm models, builds it again unchanged, and then once after each of some changes: the texts of so
many documents become those of other paragraphs. Seconds are the processor's, which other jobs disturb least. Nothing is
replayed from the generation cache. With `--fresh` the changed folder is also built from nothing, and the facts and
memories of the documents that nobody touched are compared. Rows are kept: a run that was cut short goes on where it
stopped (`--again` measures anew). Prints a Markdown table and writes ``update.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import Document
from fedrag_flwr.settings import Settings, fedrag_home
from simulations.corpora.sentences import find_data, pooled_documents
from simulations.reporting.folders import out_folder
from simulations.reporting.row_file import RowFile, this_code

TARGET = 0.02
WARMING = "The Ossel is a river that rises on Mount Cairl. It is 410 kilometres long."

Row = dict[str, Any]


def measure(
    documents: Sequence[Document], count: int, changes: Sequence[int], tokens: int, fresh: bool, root: Path
) -> Row:
    """Build a device, change documents, and time every build.

    Parameters
    ----------
    documents
        The device's documents, and after them those whose texts replace theirs.
    count
        Documents of the device.
    changes
        How many documents change before each further build; no document twice.
    tokens
        The model's budget.
    fresh
        Whether to compare with a build from nothing.
    root
        An empty directory.
    """
    settings = Settings.from_config(
        {
            "home": str(fedrag_home()),
            "memory.tokens-per-kilotoken": tokens,
            "models.generation-cache": False,
        }
    )
    models = load_models(settings.models, fedrag_home())
    folder, sample = root / "documents", root / "sample"
    for directory in (folder, sample):
        directory.mkdir()
    _write(sample, "warming", "Ossel", WARMING)
    _build(sample, root / "warm", settings, models)  # models load on first use
    for place, document in enumerate(documents[:count]):
        _write(folder, f"{place:04d}", document.title, document.text)
    full, report = _build(folder, root / "store", settings, models)
    same, _ = _build(folder, root / "store", settings, models)
    touched = [f"{place * count // sum(changes):04d}" for place in range(sum(changes))]
    updates = []
    for start, stop in pairwise(accumulate(changes, initial=0)):
        for name, document in zip(touched[start:stop], documents[count + start : count + stop], strict=True):
            _write(folder, name, document.title, document.text)
        updates.append(_build(folder, root / "store", settings, models)[0])
    row = {
        "tokens": tokens,
        "documents": report["documents"],
        "sentences": report["sentences"],
        "items": report["items"],
        "llm_calls": report["llm_calls"],
        "full_seconds": full,
        "unchanged_seconds": same,
        "changes": list(changes),
        "update_seconds": updates,
        "peak_rss_mb": peak_rss_mb(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
    }
    if fresh:
        _build(folder, root / "fresh", settings, models)
        with (
            EdgeDevice("bench", None, root / "store", settings, models) as kept,
            EdgeDevice("bench", None, root / "fresh", settings, models) as anew,
        ):
            row["differences"] = compare(kept.store, anew.store, touched)
    return row


def compare(kept: MemoryStore, fresh: MemoryStore, touched: Sequence[str]) -> dict[str, int]:
    """Count what the untouched documents have in one store and not in the other."""
    found: list[tuple[set[str], set[str]]] = []
    for store in (kept, fresh):
        passages = [passage for passage in store.passages() if passage.document_id not in touched]
        units = {passage.id for passage in passages} | {s.id for passage in passages for s in passage.sentences}
        facts = {f"{s.id} {fact}" for passage in passages for s in passage.sentences for fact in s.facts}
        items = {item.id for item in store.items() if units.issuperset(item.support)}
        found.append((facts, items))
    (facts, items), (fresh_facts, fresh_items) = found
    return {
        "facts": len(fresh_facts),
        "facts_differ": len(facts ^ fresh_facts),
        "items": len(fresh_items),
        "items_missing": len(fresh_items - items),
        "items_more": len(items - fresh_items),
    }


def _write(folder: Path, name: str, title: str, text: str) -> None:
    (folder / f"{name}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")


def _build(folder: Path, store: Path, settings: Settings, models: Models) -> tuple[float, Row]:
    with EdgeDevice("bench", folder, store, settings, models) as device:
        start = time.process_time()
        report = device.build()
        seconds = time.process_time() - start
    counts = {"documents": report.documents, "sentences": report.sentences, "items": report.items}
    return seconds, {**counts, "llm_calls": report.cost.llm_calls}


def by_size(row: Row) -> dict[int, list[float]]:
    """Seconds of the updates by how many documents changed at once, the fewest first."""
    pairs = list(zip(row["changes"], row["update_seconds"], strict=True))
    return {size: [seconds for one, seconds in pairs if one == size] for size in sorted(set(row["changes"]))}


def table(rows: Sequence[Row]) -> str:
    """What building, looking and changing cost, for each budget of the model and number of changed documents."""
    lines = [
        "| tokens per kilotoken | documents | sentences | memories | full build CPU s | unchanged "
        "| changed at once | updates | median | most | share of the full build |",
        "|---" * 11 + "|",
    ]
    for row in rows:
        for size, seconds in by_size(row).items():
            middle = statistics.median(seconds)
            cells = [
                f"{row['tokens']}",
                *(f"{row[key]:,}" for key in ("documents", "sentences", "items")),
                f"{row['full_seconds']:.1f}",
                f"{row['unchanged_seconds']:.2f}",
                f"{size}",
                f"{len(seconds)}",
                *(f"{value:.2f}" for value in (middle, max(seconds))),
                f"{100 * middle / row['full_seconds']:.2f} %",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(row: Row) -> str:
    """The target with what was reached, and how a build from nothing differs, where that was asked for."""
    size, seconds = next(iter(by_size(row).items()))
    share = statistics.median(seconds) / row["full_seconds"]
    said = (
        f"- {row['tokens']} tokens: {100 * share:.2f} % of a full build for {size} changed "
        f"(target for one {100 * TARGET:.0f} %)"
    )
    if differ := row.get("differences"):
        said += (
            f"; of untouched documents, against a build from nothing: {differ['facts_differ']} of {differ['facts']:,} "
            f"facts differ, {differ['items_missing']} of {differ['items']:,} memories are missing and "
            f"{differ['items_more']} more are there"
        )
    return said


def collect(arguments: argparse.Namespace) -> list[Row]:
    """Measure what is not kept yet, each row in its own process."""
    generator_id = load_models(Settings().models, fedrag_home()).generator_id
    kept = RowFile(fedrag_home() / "benchmarks" / "update.jsonl", this_code(generator_id))
    if arguments.again:
        kept.path.unlink(missing_ok=True)
    rows = kept.rows()
    chosen = []
    for tokens in arguments.tokens:
        asked = {"tokens": tokens, "asked": [arguments.documents, arguments.changes, arguments.fresh]}
        row = next((row for row in rows if asked.items() <= row.items()), None)
        if row is None:
            command = [sys.executable, *sys.argv, "--measure", str(tokens)]
            row = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) | asked
            kept.add(row)
        chosen.append(row)
    return chosen


def main() -> None:
    """Measure one budget where told to, else all of them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder with the datasets")
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument(
        "--changes",
        type=int,
        nargs="+",
        default=[1, 1, 1, 1, 1, 10, 100],
        help="documents that change before each build",
    )
    parser.add_argument("--tokens", type=int, nargs="+", default=[0, Settings().memory.tokens_per_kilotoken])
    parser.add_argument("--fresh", action="store_true", help="compare with a build from nothing")
    parser.add_argument("--again", action="store_true", help="forget the rows of earlier runs")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        documents = pooled_documents(find_data(arguments.data), 300)
        with tempfile.TemporaryDirectory() as root:
            row = measure(
                documents, arguments.documents, arguments.changes, arguments.measure, arguments.fresh, Path(root)
            )
        print(json.dumps(row))
        return
    rows = collect(arguments)
    print(table(rows), end="\n\n")
    print("\n".join(verdict(row) for row in rows))
    (arguments.out / "update.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
