"""How long matching takes, how many memories it scores, and whether it finds what a full scan finds.

    python simulations/memory_corpus.py --data FOLDER      # once: real memories
    python simulations/bench_matching.py [--data FOLDER] [--sizes 1000 10000 100000 1000000] [--threads 1 2]
        [--k 1 5] [--out docs/benchmarks]

Banks grow from real memories in the order of reading, and beyond those from varied ones (`memory_variants.py`). Asked
are the dev questions all of whose gold paragraphs were read, and reworded questions of stored memories; both are
encoded before the clock runs. Each bank and number of threads has a process of its own, and the full scan over the same
bank in the same process beside it, in as many threads as numpy's BLAS has: that is ``OMP_NUM_THREADS``, whatever
``--threads`` says. Each question is asked for its best memory (FD-RAG eq. 13) and for the best few (`memory.top-k`).
``matching.json`` gets all figures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SourceError
from fedrag_flwr.memory.matcher import Effort, Matcher
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import Match, MemoryItem
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.benchmark import data_root
from simulations.memory_corpus import Asked, HalfEncoder, RealItem, questions, real_items
from simulations.parts.memory_variants import Variants
from simulations.reporting.folders import out_folder

SIZES = (1_000, 10_000, 100_000, 1_000_000)
SCANNED = 60  # questions that the full scan answers too
VARIED_CHECKED = 400
KINDS = ("all", "dev", "reworded")


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one kind, asked for the best k over one bank: milliseconds, and shares of the bank."""

    kind: str
    k: int
    questions: int
    p50_ms: float
    p99_ms: float
    cpu_p50_ms: float  # of the asking thread, whatever else the machine does
    scored_p50: float
    scored_mean: float
    scored_p99: float
    bounded_mean: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One bank."""

    items: int
    threads: int
    real: int
    varied_cosines: tuple[float, float, float] | None  # of varied vectors with the changed questions': p10, p50, p90
    alpha: float
    groups: tuple[Group, ...]
    scan_p50_ms: float
    ratio: float  # full scan over search, median of both over the same questions and the largest k
    compared: int
    equal: int  # of those compared, with the same memories at the same scores
    open_seconds: float  # Matcher(...)
    prepare_seconds: float  # what the first question would wait for
    items_mb: float  # peak memory of the process before there is a matcher
    peak_mb: float


def bank(
    real: Sequence[RealItem], size: int, encoder: Encoder, rng: np.random.Generator
) -> tuple[list[MemoryItem], tuple[float, float, float] | None]:
    """The first real memories, varied ones beyond, and how near those are to encoding their questions."""
    items = [one.item for one in real[:size]]
    if size <= len(items):
        return items, None
    variants = Variants(real, encoder)
    return [*items, *variants.items(size - len(items), rng)], variants.agreement(VARIED_CHECKED, encoder, rng)


def measure(data: Path, size: int, threads: int, alpha: float, ks: Sequence[int], seed: int) -> Measured:
    """Build one bank and ask."""
    _use(threads)
    real = real_items()
    held = real[:size]
    rng, encoder = np.random.default_rng(seed), HalfEncoder()
    asked = questions(data, held, encoder, rng)
    items, agreement = bank(real, size, encoder, rng)
    items_mb = peak_rss_mb()
    start = time.perf_counter()
    matcher = Matcher(items, alpha)
    opened = time.perf_counter()
    matcher.prepare()
    prepared = time.perf_counter()
    for question in asked[:5]:
        matcher.top(question.vector, question.anchors, max(ks))
    timed = {k: [_timed(matcher, question, k) for question in asked] for k in ks}
    peak = peak_rss_mb()
    full = Matcher(items, alpha, sweep_from=size + 1)
    places = np.linspace(0, len(asked) - 1, min(SCANNED, len(asked))).astype(int)
    scans = {k: [_timed(full, asked[place], k) for place in places] for k in ks}
    same = [
        _same(timed[k][place].matches, scan.matches) for k in ks for place, scan in zip(places, scans[k], strict=True)
    ]
    search_ms = float(np.median([timed[max(ks)][place].milliseconds for place in places]))
    scan_ms = float(np.median([scan.milliseconds for scan in scans[max(ks)]]))
    return Measured(
        items=size,
        threads=threads,
        real=len(held),
        varied_cosines=agreement,
        alpha=alpha,
        groups=tuple(_group(kind, k, asked, timed[k], size) for k in ks for kind in KINDS),
        scan_p50_ms=scan_ms,
        ratio=scan_ms / search_ms,
        compared=len(same),
        equal=sum(same),
        open_seconds=opened - start,
        prepare_seconds=prepared - opened,
        items_mb=items_mb,
        peak_mb=peak,
    )


@dataclass(frozen=True, slots=True)
class _Timed:
    """One question's milliseconds by the clock and of the processor, what was found, and the effort."""

    milliseconds: float
    cpu: float
    matches: list[Match]
    effort: Effort


def _timed(matcher: Matcher, question: Asked, k: int) -> _Timed:
    start, cpu = time.perf_counter(), time.thread_time()
    matches, effort = matcher.top_counted(question.vector, question.anchors, k)
    return _Timed(1e3 * (time.perf_counter() - start), 1e3 * (time.thread_time() - cpu), matches, effort)


def _same(one: Sequence[Match], other: Sequence[Match]) -> bool:
    return [(match.item.id, match.score) for match in one] == [(match.item.id, match.score) for match in other]


def _group(kind: str, k: int, asked: Sequence[Asked], timed: Sequence[_Timed], size: int) -> Group:
    kinds = {"all": (True, False), "dev": (False,), "reworded": (True,)}[kind]
    chosen = [t for question, t in zip(asked, timed, strict=True) if (question.source == "reworded") in kinds]
    milliseconds = [one.milliseconds for one in chosen] or [float("nan")]
    scored = [one.effort.scored / size for one in chosen] or [float("nan")]
    return Group(
        kind=kind,
        k=k,
        questions=len(chosen),
        p50_ms=float(np.percentile(milliseconds, 50)),
        p99_ms=float(np.percentile(milliseconds, 99)),
        cpu_p50_ms=float(np.median([one.cpu for one in chosen] or [float("nan")])),
        scored_p50=float(np.percentile(scored, 50)),
        scored_mean=float(np.mean(scored)),
        scored_p99=float(np.percentile(scored, 99)),
        bounded_mean=float(np.mean([one.effort.bounded / size for one in chosen] or [float("nan")])),
    )


def _use(threads: int) -> None:
    import faiss
    import torch

    faiss.omp_set_num_threads(threads)
    torch.set_num_threads(threads)


def table(rows: Sequence[Measured]) -> str:
    """The figures as a Markdown table."""
    heads = (
        *(
            "items",
            "threads",
            "real",
            "asked",
            "k",
            "p50 ms",
            "p99 ms",
            "cpu p50 ms",
            "scored p50 %",
            "mean %",
            "p99 %",
        ),
        *("bounded %", "scan p50 ms", "scan / search", "equal", "open s", "prepare s", "items MB", "peak MB"),
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        for group in row.groups:
            cells = (
                *(f"{row.items:,}", str(row.threads), f"{row.real:,}", f"{group.questions} {group.kind}"),
                str(group.k),
                *(
                    f"{group.p50_ms:.2f}",
                    f"{group.p99_ms:.2f}",
                    f"{group.cpu_p50_ms:.2f}",
                    f"{100 * group.scored_p50:.3f}",
                ),
                *(f"{100 * group.scored_mean:.2f}", f"{100 * group.scored_p99:.2f}", f"{100 * group.bounded_mean:.1f}"),
                *(f"{row.scan_p50_ms:.2f}", f"{row.ratio:.1f}", f"{row.equal}/{row.compared}"),
                *(
                    f"{row.open_seconds:.2f}",
                    f"{row.prepare_seconds:.2f}",
                    f"{row.items_mb:,.0f}",
                    f"{row.peak_mb:,.0f}",
                ),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure each bank in a process of its own, print the table and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root())
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--alpha", type=float, default=Settings.from_config({}).memory.alpha)
    parser.add_argument("--k", type=int, nargs="+", default=[1, Settings.from_config({}).memory.top_k])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    if options.data is None:
        raise SourceError("is not set", where="FEDRAG_DATA", fix="give --data FOLDER")
    rows: list[Measured] = []
    spawn = multiprocessing.get_context("spawn")
    for size, threads in product(options.sizes, options.threads):
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            how = (options.alpha, options.k, options.seed)
            rows.append(process.submit(measure, options.data, size, threads, *how).result())
        print(table(rows[-1:]), flush=True)
    print(table(rows))
    if options.out is not None:
        (options.out / "matching.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
