"""How answer-path keys grow with the corpus: time to build, memory, time for a question and for a changed document.

    python simulations/bench_key_spaces.py [--data FOLDER] [--sizes 2048,8192,32768,131072] [--out docs/benchmarks]

The corpus are the paragraphs of the three multi-hop sets, pooled (20,382), with the tuples of the rules over the parse;
beyond them they are repeated with other names: in the n-th copy the letters of capitalised words are moved n places on
in the alphabet, so that names are new and words such as "film" or "1987" get more passages, as in a larger corpus. Each
size is measured in a process of its own and kept under ``$FEDRAG_HOME/benchmarks``; a stopped run goes on with the next
one. One thread. Extraction is not part of any figure; it is kept too (the first run takes some six minutes for it).

Questions are dev questions of the three sets. They are asked exactly, and without what is negligible: scores of seeds
and vertices below three thousandths of the highest, as devices do from 200,000 vertices on. "same top 10" is the share
of the first ten passages that both have. "fresh" builds and asks the keys that are made anew for each corpus
(``HyperedgeKeys``, `VertexSeeds`) instead. A change is a passage that goes and comes back with its tuples. All times
are the thread's own (CPU), which other work on the machine lengthens less than the clock's; "load" says how much of
that there was.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from fedrag_flwr.hypergraph import (
    PRESETS,
    DiffusionSettings,
    GrowingPaths,
    GrowingSeeds,
    HyperedgeKeys,
    TupleTable,
    VertexSeeds,
    answer_paths,
)
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval import ranked
from fedrag_flwr.retrieval.evidence_sources import NEGLIGIBLE, SHARPNESS
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text.lexicon import MONTHS
from simulations.bench_controller import table
from simulations.corpora.retrieval_pool import own_tuples
from simulations.corpora.sentences import DATASETS, find_data, pooled_documents, rows_of
from simulations.reporting.row_file import RowFile, this_code

SIZES = (2_048, 8_192, 32_768, 131_072)
QUESTIONS = 34  # of each set
CHANGED = 50
_BLOCK = 1_024  # passages whose tuples are kept together
_BATCH = 8_192  # passages that are put in together
_CAPITALISED = re.compile(r"\b[A-Z][A-Za-z]*\b")
Corpus = Iterator[tuple[str, list[EvidenceTuple]]]


@dataclass(frozen=True, slots=True)
class Grown:
    """One size: counts, seconds to build, megabytes of the process that came with it, and milliseconds a question."""

    passages: int
    tuples: int
    vertices: int
    hyperedges: int
    build_s: float
    fresh_build_s: float
    mb: float
    exact_ms: tuple[float, float]  # median and 95th percentile
    cut_ms: tuple[float, float]
    fresh_ms: tuple[float, float]
    same: float
    change_ms: tuple[float, float]
    load: float  # of the machine: tasks that ran or waited for a core


def tuples_of_pool(data: Path) -> list[tuple[str, list[EvidenceTuple]]]:
    """Every passage of the pool with its tuples."""
    passages = [Passage(one.id, one.id, one.title, one.text, ()) for one in pooled_documents(data)]
    found: dict[str, list[EvidenceTuple]] = {passage.id: [] for passage in passages}
    for start in range(0, len(passages), _BLOCK):
        for one in own_tuples(passages[start : start + _BLOCK]):
            found[one.passage_id].append(one)
    return list(found.items())


def corpus(pool: Sequence[tuple[str, list[EvidenceTuple]]], size: int) -> Corpus:
    """The first passages of the pool and of its copies."""
    for number in range(size):
        copy, place = divmod(number, len(pool))
        name, tuples = pool[place]
        yield (name, tuples) if not copy else (f"{name}-{copy}", [renamed(one, copy) for one in tuples])


def renamed(one: EvidenceTuple, copy: int) -> EvidenceTuple:
    """A tuple of a copy: other names, the same words."""
    passage = f"{one.passage_id}-{copy}"
    return replace(one, head=other_names(one.head, copy), tail=other_names(one.tail, copy), passage_id=passage)


def other_names(text: str, places: int) -> str:
    """A text with the letters of its capitalised words moved on in the alphabet; months stay."""

    def moved(found: re.Match[str]) -> str:
        if found[0].lower() in MONTHS:
            return found[0]
        return "".join(
            chr((ord(char) - (first := 65 if char.isupper() else 97) + places) % 26 + first) for char in found[0]
        )

    return _CAPITALISED.sub(moved, text)


def measured(data: Path, size: int) -> Grown:
    """Build, ask and change keys over so many passages."""
    pool = tuples_of_pool(data)
    questions = [
        fields["question"].strip()
        for file in DATASETS.values()
        for fields in rows_of(data / f"{file}.jsonl.gz", "dev", QUESTIONS)
    ]
    gc.collect()
    before = _resident_mb()
    keys, build_s = _grown(pool, size)
    gc.collect()
    mb = _resident_mb() - before
    every_ms, every = _asked(questions, lambda text: keys.scores(keys.seeded(text)), keys.passages)
    keys.diffusion = DiffusionSettings(negligible=NEGLIGIBLE)
    cut_ms, few = _asked(questions, lambda text: keys.scores(keys.seeded(text)), keys.passages)
    fresh_build_s, fresh_ms = _by_fresh(pool, size, questions)
    same = float(np.mean([len(set(a) & set(b)) / max(len(a), 1) for a, b in zip(every, few, strict=True)]))
    return Grown(
        passages=size,
        tuples=sum(len(own) for _, own in corpus(pool, size)),
        vertices=len(keys.vertices),
        hyperedges=int(np.count_nonzero(keys.weights)),
        build_s=build_s,
        fresh_build_s=fresh_build_s,
        mb=mb,
        exact_ms=every_ms,
        cut_ms=cut_ms,
        fresh_ms=fresh_ms,
        same=same,
        change_ms=_changes(keys, pool, size),
        load=os.getloadavg()[0],
    )


def _grown(pool: Sequence[tuple[str, list[EvidenceTuple]]], size: int) -> tuple[GrowingPaths, float]:
    keys, seconds = GrowingPaths(GrowingSeeds(SHARPNESS)), 0.0
    batch: dict[str, list[EvidenceTuple]] = {}
    for number, (name, tuples) in enumerate(corpus(pool, size), 1):
        batch[name] = tuples
        if len(batch) == _BATCH or number == size:
            start = time.thread_time()
            keys.update((), batch)
            seconds += time.thread_time() - start
            batch = {}
    return keys, seconds


def _by_fresh(
    pool: Sequence[tuple[str, list[EvidenceTuple]]], size: int, questions: Sequence[str]
) -> tuple[float, tuple[float, float]]:
    names, tuples = [], []
    for name, own in corpus(pool, size):
        names.append(name)
        tuples += own
    start = time.thread_time()
    facts = TupleTable.of(tuples, names)
    keys = HyperedgeKeys("fresh", facts, answer_paths(facts, PRESETS["paper"]))
    seeds = VertexSeeds(facts.vertices, by_rarity=True, sharpness=SHARPNESS)
    seconds = time.thread_time() - start
    return seconds, _asked(questions, lambda text: keys.scores(seeds.seeds(text)), names)[0]


def _asked(
    questions: Sequence[str], scores: Callable[[str], np.ndarray], names: Sequence[str]
) -> tuple[tuple[float, float], list[list[str]]]:
    """Median and 95th percentile of the milliseconds that a ranking takes, and the first ten passages of each."""
    times, tops = [], []
    for text in questions:
        start = time.thread_time()
        found = ranked(names, scores(text), 10, above=0.0)
        times.append(1_000 * (time.thread_time() - start))
        tops.append([one.passage_id for one in found])
    return _spread(times), tops


def _changes(keys: GrowingPaths, pool: Sequence[tuple[str, list[EvidenceTuple]]], size: int) -> tuple[float, float]:
    chosen = set(np.random.default_rng(7).choice(size, CHANGED, replace=False).tolist())
    times = []
    for number, (name, tuples) in enumerate(corpus(pool, size)):
        if number in chosen:
            start = time.thread_time()
            keys.update([name], {name: tuples})
            times.append(1_000 * (time.thread_time() - start))
    return _spread(times)


def _spread(times: Sequence[float]) -> tuple[float, float]:
    return float(np.median(times)), float(np.percentile(times, 95))


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def shown(row: Grown) -> list[str]:
    """A row of the table."""
    pairs = (row.exact_ms, row.cut_ms, row.fresh_ms, row.change_ms)
    every, cut, fresh, change = (f"{median:.1f} / {high:.1f}" for median, high in pairs)
    counts = (row.passages, row.tuples, row.vertices, row.hyperedges)
    build = (f"{row.build_s:.1f}", f"{row.fresh_build_s:.1f}", f"{row.mb:,.0f}")
    return [*(f"{count:,}" for count in counts), *build, every, cut, f"{100 * row.same:.1f}", fresh, change]


def main() -> None:
    """Measure the sizes that were not measured yet, print the table and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    data, kept = find_data(options.data), RowFile(fedrag_home() / "benchmarks" / "key-spaces.jsonl", this_code())
    rows = {one["passages"]: Grown(**one) for one in kept.rows()}
    sizes = [int(size) for size in options.sizes.split(",")]
    for size in sizes:
        if size not in rows:
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
                rows[size] = process.submit(measured, data, size).result()
            kept.add(asdict(rows[size]))
            print(f"{size:,} passages measured", flush=True)
    columns = ("passages", "tuples", "vertices", "hyperedges", "build s", "fresh build s", "MB", "ms, exact")
    also = ("ms, without negligible", "same top 10 %", "ms, fresh", "ms, a change")
    print(table([*columns, *also], [shown(rows[size]) for size in sizes]))
    if options.out is not None:
        figures = json.dumps([asdict(rows[size]) for size in sizes], indent=1)
        (options.out / "key_spaces.json").write_text(figures + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
