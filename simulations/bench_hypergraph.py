"""How hypergraph learning grows with a device's sentences, and how it stands beside the dense reference.

    python simulations/bench_hypergraph.py [--data FOLDER] [--sizes 1000 4000 16000 64000] [--dense 4000]
                                           [--rates 0.05] [--repeats 3] [--again] [--out docs/benchmarks]

FOLDER holds ``hotpotqa.jsonl.gz``, ``2wikimultihopqa.jsonl.gz`` and ``musique.jsonl.gz`` (default: $FEDRAG_DATA); their
sentences are pooled, encoded once and kept, so a second run goes straight on. Every row is measured in a process of its
own, for peak memory belongs to a process, and is kept: a run that was cut short goes on where it stopped (`--again`
measures anew). Growth and shares of time are of the processor's seconds, which other jobs disturb least; memory is what
the process holds at most beyond its libraries and the vectors. Prints Markdown tables and writes ``hypergraph.json``.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph import LearningSettings, Units, learn
from fedrag_flwr.hypergraph.descent import descend
from fedrag_flwr.hypergraph.diffusion import keep_memberships
from fedrag_flwr.hypergraph.learn import begin
from fedrag_flwr.hypergraph.reference import dense_hard_objective, dense_soft_loss, learn_dense
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.settings import fedrag_home
from simulations.corpora.sentences import encoded, find_data, pooled_documents, sentence_units, sentences_of
from simulations.reporting.folders import out_folder
from simulations.reporting.row_file import RowFile, this_code

SEED = 7
TARGET_GROWTH, TARGET_DENSE, TARGET_SECONDS, TARGET_MB = 1.15, 0.1, 600.0, 3_000.0

Row = dict[str, Any]


def measure_sparse(vectors: Path) -> Row:
    """Learn from one file of vectors and say what it took."""
    for library in ("faiss", "scipy.sparse"):
        importlib.import_module(library)  # before the first look at memory
    units = sentence_units(np.load(vectors))
    before, start, used = _baseline_mb(), time.perf_counter(), time.process_time()
    learnt = learn([units], LearningSettings(), np.random.default_rng(SEED))
    return {
        "kind": "sparse",
        "sentences": len(units.ids),
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - used,
        "peak_mb": _peak_mb() - before,
        "vectors_mb": units.vectors.nbytes / 1e6,
        "iterations": len(learnt.step_sizes),
        "first_loss": learnt.loss[0],
        "final_loss": learnt.loss[-1],
        "hard_objective": learnt.hard_objective,
        "hyperedges": len(learnt.hyperedges),
        "largest": max(len(edge.members) for edge in learnt.hyperedges),
        "orphans": learnt.orphans,
        **_machine(),
    }


def measure_dense(vectors: Path, rate: float) -> Row:
    """Run the dense reference and evaluate where it ends by the same two measures as the product."""
    import torch

    if threads := os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(int(threads))
    units = sentence_units(np.load(vectors))
    settings = LearningSettings(learning_rate=rate)
    before, start, used = _baseline_mb(), time.perf_counter(), time.process_time()
    rows, losses = learn_dense(units, settings, np.random.default_rng(SEED))
    return {
        "kind": "dense",
        "rate": rate,
        "sentences": len(units.ids),
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - used,
        "peak_mb": _peak_mb() - before,
        "iterations": settings.steps,
        "first_loss": losses[0],
        **_scores(units, rows),
        **_machine(),
    }


def measure_scattered(vectors: Path) -> Row:
    """Learn as the product does and evaluate its memberships as the reference's are."""
    units = sentence_units(np.load(vectors))
    settings = LearningSettings()
    start = begin(units, settings, np.random.default_rng(SEED))
    descent = descend([block.part for block in start.blocks], [block.rows for block in start.blocks], settings)
    rows, before = np.zeros((len(units.ids), start.edge_count)), 0
    for block, learnt in zip(start.blocks, descent.rows, strict=True):
        rows[block.order[block.entries.rows], before + block.entries.edges] = learnt.reshape(-1)
        before += block.entries.edge_count
    return {"kind": "scattered", "sentences": len(units.ids), **_scores(units, rows)}


def _baseline_mb() -> float:
    """What the process holds now; where the system allows it (Linux), its peak is counted from here on."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what importing left free would hide what learning takes
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak_mb()


def _peak_mb() -> float:
    """Most memory that the process held; Linux's own figure, for `getrusage` remembers the parent's too."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return peak_rss_mb()
    return next(
        int(line.split()[1]) / 1e3
        for line in status.read_text(encoding="ascii").splitlines()
        if line.startswith("VmHWM")
    )


def _scores(units: Units, rows: NDArray[np.float64]) -> Row:
    kept, orphans = keep_memberships(rows, LearningSettings().threshold)
    sizes = kept.sum(axis=0)
    return {
        "soft_loss": dense_soft_loss(units, rows, LearningSettings()),
        "hard_objective": dense_hard_objective(units, rows, LearningSettings()),
        "orphans": orphans,
        "hyperedges": int((sizes > 0).sum()),
        "largest": int(sizes.max()),
    }


def _machine() -> Row:
    return {"threads": os.environ.get("OMP_NUM_THREADS", "all"), "cores": os.cpu_count()}


# --- rows and tables ----------------------------------------------------------------------------


def collect(arguments: argparse.Namespace) -> list[Row]:
    """Measure what is not kept yet, each row in its own process; of equal rows the quickest counts."""
    kept = RowFile(fedrag_home() / "benchmarks" / "hypergraph.jsonl", this_code())
    if arguments.again:
        kept.path.unlink(missing_ok=True)
    rows = kept.rows()
    texts = sentences_of(pooled_documents(find_data(arguments.data)))[: max(arguments.sizes)]
    vectors, seconds = encoded(texts, "pooled sentences")
    print(f"{len(texts)} sentences, encoded in {seconds:.0f} s (not part of what follows)\n", flush=True)
    wanted: list[Row] = [{"kind": "sparse", "sentences": size} for size in arguments.sizes]
    if arguments.dense:
        wanted.append({"kind": "scattered", "sentences": arguments.dense})
        wanted += [{"kind": "dense", "sentences": arguments.dense, "rate": rate} for rate in arguments.rates]
    chosen = []
    for asked in wanted:
        same = [row for row in rows if asked.items() <= row.items()]
        for _ in range(len(same), arguments.repeats if asked["kind"] == "sparse" else 1):
            file = kept.path.parent / f"pooled-{asked['sentences']}.npy"
            np.save(file, vectors[: asked["sentences"]])
            command = [sys.executable, __file__, "--measure", asked["kind"], "--vectors", str(file)]
            done = subprocess.run([*command, "--rate", str(asked.get("rate", 0))], stdout=subprocess.PIPE, check=True)
            same.append(json.loads(done.stdout))
            kept.add(same[-1])
        chosen.append(min(same, key=lambda row: row.get("cpu_seconds", 0.0)))
    return chosen


def growth_table(rows: list[Row]) -> str:
    """What each size took, and how much faster than the number of sentences time and memory grew."""
    lines = [
        "| sentences | seconds | CPU s | CPU s per step | peak MB | steps | loss, first | last "
        "| hard objective | orphans | time growth / N | memory growth / N |",
        "|---" * 12 + "|",
    ]
    before: list[Row | None] = [None, *rows[:-1]]
    for last, row in zip(before, rows, strict=True):
        growth = ["", ""]
        if last is not None:
            larger = row["sentences"] / last["sentences"]
            growth = [f"{row[key] / last[key] / larger:.2f}" for key in ("cpu_seconds", "peak_mb")]
        cells = [
            f"{row['sentences']:,}",
            f"{row['seconds']:.1f}",
            f"{row['cpu_seconds']:.1f}",
            f"{row['cpu_seconds'] / max(row['iterations'], 1):.3f}",
            f"{row['peak_mb']:.0f}",
            f"{row['iterations']}",
            *(f"{row[key]:.4f}" for key in ("first_loss", "final_loss", "hard_objective")),
            f"{row['orphans']}",
            *growth,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def dense_table(sparse: Row, scattered: Row, dense: list[Row]) -> str:
    """The product beside the dense reference, by the same measures."""
    lines = [
        f"| at {sparse['sentences']:,} sentences | seconds | CPU s | peak MB | steps | soft loss, eq. 4-8 "
        "| hard objective, eq. 8 | hyperedges | largest | orphans |",
        "|---" * 10 + "|",
    ]
    for name, row in [("sparse", sparse | scattered), *((f"dense, rate {row['rate']:g}", row) for row in dense)]:
        cells = [
            name,
            f"{row['seconds']:.1f}",
            f"{row['cpu_seconds']:.1f}",
            f"{row['peak_mb']:.0f}",
            f"{row['iterations']}",
            *(f"{row[key]:.4f}" for key in ("soft_loss", "hard_objective")),
            *(f"{row[key]:,}" for key in ("hyperedges", "largest", "orphans")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(sparse: list[Row], dense: list[Row]) -> list[str]:
    """Each target with what was reached."""
    said = []
    for key, name in (("cpu_seconds", "time"), ("peak_mb", "memory")):
        growth = [b[key] / a[key] / (b["sentences"] / a["sentences"]) for a, b in pairwise(sparse)]
        if growth:
            said.append(f"{name} grows at most {max(growth):.2f} times faster than N (target {TARGET_GROWTH})")
    largest = sparse[-1]
    said.append(
        f"{largest['sentences']:,} sentences: {largest['seconds']:.0f} s and {largest['peak_mb']:.0f} MB "
        f"(targets {TARGET_SECONDS:.0f} s, {TARGET_MB:.0f} MB)"
    )
    for row in dense:
        same = next(one for one in sparse if one["sentences"] == row["sentences"])
        said.append(
            f"sparse takes {same['cpu_seconds'] / row['cpu_seconds']:.3f} of the dense time (target {TARGET_DENSE}); "
            f"hard objective {same['hard_objective']:.4f} against {row['hard_objective']:.4f} at rate {row['rate']:g}"
        )
    return said


def main() -> None:
    """Measure one row where told to, else all of them, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder with the datasets")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 4_000, 16_000, 64_000])
    parser.add_argument("--dense", type=int, default=4_000, help="one of the sizes; 0: without the dense reference")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05], help="the reference's step sizes")
    parser.add_argument("--repeats", type=int, default=3, help="times that the product learns from each size")
    parser.add_argument("--again", action="store_true", help="forget the rows of earlier runs")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    parser.add_argument("--measure", choices=["sparse", "dense", "scattered"], help=argparse.SUPPRESS)
    parser.add_argument("--vectors", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure == "sparse":
        print(json.dumps(measure_sparse(arguments.vectors)))
    elif arguments.measure == "dense":
        print(json.dumps(measure_dense(arguments.vectors, arguments.rate)))
    elif arguments.measure == "scattered":
        print(json.dumps(measure_scattered(arguments.vectors)))
    else:
        rows = collect(arguments)
        sparse, scattered, dense = ([row for row in rows if row["kind"] == kind] for kind in _KINDS)
        print(growth_table(sparse), end="\n\n")
        if scattered:
            same = next(row for row in sparse if row["sentences"] == arguments.dense)
            print(dense_table(same, scattered[0], dense), end="\n\n")
        print("\n".join(f"- {line}" for line in verdict(sparse, dense)))
        (arguments.out / "hypergraph.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


_KINDS = ("sparse", "scattered", "dense")

if __name__ == "__main__":
    main()
