"""How does hypergraph learning grow, converge, and stand beside the dense method of the paper (FD-RAG fig. 4)?

The sentences of three multi-hop sets are pooled and encoded once. Each size is learnt in a process of its own, for peak
memory belongs to a process; memory is what it holds at most beyond its libraries and the vectors. Seconds are the
processor's. Loss curves are of the sentences of each set's first dev rows, as a device learns them.
"""

import ctypes
import math
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pandas import DataFrame, Series
from torch import Tensor

from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units, keep_memberships
from fedrag_flwr.hypergraph.descent import descend
from fedrag_flwr.hypergraph.learn import begin, learn
from fedrag_flwr.hypergraph.objective import Entries
from fedrag_flwr.hypergraph.rows import project_rows, weighted_sums
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.measure import memory_mb
from simulations.corpora.multihop import read_multihop
from simulations.corpora.sentences import DATASETS, encoded, pooled_documents, sentence_units, sentences_of

SEED = 7
SIZES = (1_000, 4_000, 16_000, 64_000)  # sentences
CURVES = 100  # dev rows of each set for the loss curves
DENSE = 4_000  # sentences from which the dense method learns, too
EARLY = (10, 20, 50)  # steps after which the decrease is told
_MOST_ROWS = 1_024  # prototypes for which eq. 7 is exact
_BLOCK, _CHUNK = 128, 4_096  # prototypes and memberships at a time
_TINY = 1e-9
Floats = NDArray[np.float64]
Vectors = NDArray[np.floating]


def run(bench: Bench) -> None:
    """Learn from more and more sentences, and record the loss at each step."""
    counts = bench.sized(SIZES, (40, 80))
    texts = sentences_of(pooled_documents(bench.data()))[: max(counts)]
    vectors = encoded(texts, "pooled sentences")
    kept, rows = bench.rows(), {}
    for count in counts:
        rows[count] = kept.row(f"sparse {count}", bench.apart, measure_sparse, vectors[:count])
    growth = DataFrame(list(rows.values()))
    for name in ("cpu_seconds", "peak_mb"):
        growth[f"{name} growth / N"] = (growth[name].pct_change() + 1) / (growth["sentences"].pct_change() + 1)
    bench.table("growth", growth.round(4))
    if (many := bench.sized(DENSE, counts[0])) in rows:
        other = kept.row(f"dense {many}", bench.apart, measure_dense, vectors[:many])
        bench.table("dense", DataFrame([rows[many], other]).round(4), f"At {many} sentences")
    learnt = {}
    for name, file in DATASETS.items():
        first = read_multihop(bench.data() / f"{file}.jsonl.gz", "dev", bench.sized(CURVES, 1), None).documents
        own = encoded(sentences_of(first), f"sentences of {name}")
        learnt[name] = learn([sentence_units(own)], LearningSettings(), np.random.default_rng(SEED))
    bench.table("convergence", DataFrame([convergence(name, one) for name, one in learnt.items()]))
    bench.chart("loss", DataFrame({name: Series(one.loss) for name, one in learnt.items()}), "step", "loss")


def convergence(name: str, learnt: Learning) -> Row:
    """One set's row: the share of the decrease that the first steps bring, and two checks of Appendix A.

    These are the least margin by which a step keeps the descent lemma (eq. 20), and the smallest squared gradient
    mapping as a share of its bound (eq. 26, with the mean step in place of the constant 1 / L).
    """
    loss, steps = np.array(learnt.loss), np.array(learnt.step_sizes)
    squares, drop = np.square(learnt.gradient_mapping), loss[0] - loss[-1]
    early = {f"% after {step}": round(100 * float(loss[0] - loss[min(step, len(steps))]) / drop) for step in EARLY}
    return {
        "dataset": name,
        "steps": len(steps),
        "first loss": round(loss[0], 4),
        "last loss": round(loss[-1], 4),
        **early,
        "least margin": f"{(-np.diff(loss) - steps / 2.0 * squares).min():.1e}",
        "share of the bound": f"{squares.min() * steps.sum() / (2.0 * drop):.1e}",
    }


def measure_sparse(vectors: NDArray[np.float32]) -> Row:
    """Learn as the product does, and score its memberships as the dense method's are."""
    for library in ("faiss", "scipy.sparse"):
        import_module(library)  # before the first look at memory
    units, settings = sentence_units(vectors), LearningSettings()
    before, used = _baseline_mb(), time.process_time()
    learnt = learn([units], settings, np.random.default_rng(SEED))
    took = {
        "cpu_seconds": time.process_time() - used,
        "peak_mb": memory_mb("VmHWM") - before,
        "steps": len(learnt.step_sizes),
    }
    start = begin(units, settings, np.random.default_rng(SEED))
    descent = descend([block.part for block in start.blocks], [block.rows for block in start.blocks], settings)
    entries, weights, _ = start.sparsify(descent.rows, settings.threshold)
    objective = hard_objective(units.vectors, weights, entries, settings)
    return _learnt_row("sparse", units, took, objective, np.bincount(entries.edges), learnt.orphans)


def measure_dense(vectors: NDArray[np.float32]) -> Row:
    """Run the dense method."""
    units, settings = sentence_units(vectors), LearningSettings()
    before, used = _baseline_mb(), time.process_time()
    rows, losses = learn_dense(units, settings, np.random.default_rng(SEED))
    took = {"cpu_seconds": time.process_time() - used, "peak_mb": memory_mb("VmHWM") - before, "steps": len(losses) - 1}
    kept, orphans = keep_memberships(rows, settings.threshold)
    objective = dense_hard_objective(units, rows, settings)
    return _learnt_row("dense", units, took, objective, kept.sum(axis=0), orphans)


def _learnt_row(
    method: str, units: Units, took: Row, objective: float, members: NDArray[np.integer], orphans: int
) -> Row:
    told = {"method": method, "sentences": len(units.ids), **took, "hard_objective": objective}
    return {**told, "hyperedges": int((members > 0).sum()), "largest": int(members.max()), "orphans": orphans}


def _baseline_mb() -> float:
    """What the process holds now; where the system allows it (Linux), its peak is counted from here on."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what importing left free would hide what learning takes
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_mb("VmHWM")


def separation(prototypes: Vectors, margin: float, most_rows: int = _MOST_ROWS) -> float:
    """Compute eq. 7 as written.

    Of more than `most_rows` prototypes that many, evenly spaced, stand for all as the first of each pair; the second is
    every prototype. So it takes time proportional to their number. `prototypes` are of shape (m, dimension).
    """
    if not len(prototypes):
        return 0.0
    exact = prototypes.astype(np.float64)
    squares = np.einsum("md,md->m", exact, exact)
    lengths = np.maximum(np.sqrt(squares), _TINY)
    chosen = np.unique(np.linspace(0, len(exact) - 1, min(len(exact), most_rows)).round().astype(np.int64))
    value = 0.0
    for start in range(0, len(chosen), _BLOCK):
        rows = chosen[start : start + _BLOCK]
        products = exact[rows] @ exact.T
        norms = np.sqrt(np.maximum(squares[rows, None] + squares[None, :] - 2.0 * products, 0.0))
        cosines = products / (lengths[rows, None] * lengths[None, :])
        value += float((cosines * norms + (1.0 - cosines) * np.maximum(margin - norms, 0.0)).sum())
    return value / len(chosen) / len(exact)


def hard_objective(vectors: Vectors, weights: Floats, entries: Entries, settings: LearningSettings) -> float:
    """Compute eq. 5-8 as written on one granularity's sparsified incidence.

    Empty hyperedges have neither members nor a prototype: they count in eq. 6's 1/M and are left out of eq. 7, which is
    taken as `separation` does.

    `vectors` are the units', shape (n, dimension); `weights` the memberships that were kept, shape (entries,), all
    positive.
    """
    if not len(weights) or not entries.edge_count:
        return 0.0
    order = np.argsort(entries.edges, kind="stable")
    rows = entries.rows[order]
    used, edges = np.unique(entries.edges[order], return_inverse=True)
    mass = np.bincount(edges, weights[order])
    prototypes = weighted_sums(weights[order], rows, edges, len(used), vectors).astype(np.float64) / mass[:, None]
    norms = np.empty(len(rows))
    for start in range(0, len(rows), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        norms[chunk] = np.linalg.norm(vectors[rows[chunk]] - prototypes[edges[chunk]], axis=1)
    intra = float((np.bincount(edges, norms) / np.bincount(edges)).sum()) / entries.edge_count
    return settings.intra_weight * intra + (1.0 - settings.intra_weight) * separation(prototypes, settings.margin)


def learn_dense(group: Units, settings: LearningSettings, rng: np.random.Generator) -> tuple[Floats, list[float]]:
    """Learn one granularity's full incidence by projected gradient with the fixed `learning_rate`, as the paper does.

    Starts from positive random rows (C.2) and takes exactly `settings.steps` steps; `candidates` plays no part.

    Gives tuple The soft incidence of shape (n, ceil(n / units_per_edge)), and the loss before each step and at the end.
    """
    start = rng.uniform(0.01, 1.0, (len(group.ids), math.ceil(len(group.ids) / settings.units_per_edge)))
    rows = start / np.maximum(start.sum(axis=1, keepdims=True), 1e-12)
    vectors, losses = torch.from_numpy(group.vectors), []
    for step in range(settings.steps + 1):
        memberships = torch.from_numpy(rows.astype(group.vectors.dtype)).requires_grad_()
        loss = _loss(vectors, memberships, settings)
        losses.append(float(loss.detach()))
        if step < settings.steps:
            loss.backward()  # type: ignore[no-untyped-call]
            assert memberships.grad is not None
            rows = project_rows(rows - settings.learning_rate * memberships.grad.numpy())
    return rows, losses


def dense_hard_objective(group: Units, rows: Floats, settings: LearningSettings) -> float:
    """Compute eq. 8 after sparsifying a dense incidence of shape (n, m) as `learn` does."""
    kept, _ = keep_memberships(rows, settings.threshold)
    units, edges = np.nonzero(kept)
    entries = Entries(units.astype(np.int64), edges.astype(np.int64), rows.shape[1])
    return hard_objective(group.vectors, rows[kept], entries, settings)


def dense_soft_loss(group: Units, rows: Floats, settings: LearningSettings) -> float:
    """Compute what `learn_dense` minimises, for any memberships of shape (n, m), in double precision."""
    return float(_loss(torch.from_numpy(group.vectors.astype(np.float64)), torch.from_numpy(rows), settings))


def _loss(vectors: Tensor, memberships: Tensor, settings: LearningSettings) -> Tensor:
    mass = memberships.sum(dim=0).clamp_min(1e-9)
    prototypes = memberships.T @ vectors / mass[:, None]
    intra = ((memberships * _distances(vectors, prototypes)).sum(dim=0) / mass).mean()
    between = _distances(prototypes, prototypes)
    units = torch.nn.functional.normalize(prototypes, dim=1)
    cosines = units @ units.T
    inter = (cosines * between + (1.0 - cosines) * (settings.margin - between).clamp_min(0.0)).mean()
    return settings.intra_weight * intra + (1.0 - settings.intra_weight) * inter


def _distances(left: Tensor, right: Tensor) -> Tensor:
    squares = (left**2).sum(dim=1)[:, None] + (right**2).sum(dim=1)[None, :] - 2.0 * left @ right.T
    return squares.clamp_min(1e-12).sqrt()
