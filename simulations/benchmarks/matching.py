"""How long does it take to find a question's best memories among up to a million?

Every memory is scored, so time depends on their number, not on what they say: vectors are drawn at random, and anchors
by Zipf's law, so that some are common. Each size runs in a process of its own.
"""

import time

import numpy as np
import pandas as pd

from fedrag_flwr.device.modes import TOP_K
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import MemoryItem
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row

SIZES = (10_000, 100_000, 1_000_000)
DIMENSION = 384
QUESTIONS = 100
SEED = 7


def run(bench: Bench) -> None:
    """Ask a hundred questions, each near to one memory, over each number of memories."""
    alpha = bench.settings.memory.alpha
    kept = bench.rows("rows", f"{alpha} {TOP_K}")
    rows = []
    for size in bench.sized(SIZES, (1_000,)):
        bench.tell(f"{size:,} memories")
        rows.append(kept.row(str(size), bench.apart, measure, size, alpha, TOP_K))
    bench.table("matching", pd.DataFrame(rows))


def measure(size: int, alpha: float, k: int) -> Row:
    """Time questions over so many memories; milliseconds by the clock, and of the processor."""
    rng = np.random.default_rng(SEED)
    vectors = rng.standard_normal((size, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    anchors = [tuple({f"a{number}" for number in row}) for row in rng.zipf(1.3, (size, 4))]
    pairs = enumerate(zip(anchors, vectors, strict=True))
    items = [MemoryItem(f"m{row:07}", "", "", "single", "NAME", (), own, one, "made-up") for row, (own, one) in pairs]
    start = time.perf_counter()
    matcher = Matcher(items, alpha)
    opened = time.perf_counter() - start
    clock, cpu = [], []
    for row in rng.choice(size, QUESTIONS):
        question = vectors[row] + 0.02 * rng.standard_normal(DIMENSION, dtype=np.float32)
        before = time.perf_counter(), time.process_time()
        [best, *_] = matcher.top(question, anchors[row], k)
        clock.append(1e3 * (time.perf_counter() - before[0]))
        cpu.append(1e3 * (time.process_time() - before[1]))
        assert best.item.id == items[row].id
    p50, p99 = np.percentile(clock, (50, 99)).round(2).tolist()
    row = {"memories": size, "p50 ms": p50, "p99 ms": p99, "CPU p50 ms": round(float(np.median(cpu)), 2)}
    return {**row, "open s": round(opened, 2), "peak MB": round(peak_rss_mb())}
