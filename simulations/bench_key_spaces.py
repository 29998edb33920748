"""How answer-path keys grow with the corpus: time to build, memory, and time for a question.

    python simulations/bench_key_spaces.py [--data FOLDER] [--sizes 2048,8192,32768,131072] [--out docs/benchmarks]

The corpus are the paragraphs of the three multi-hop sets, pooled (20,382), with the tuples of the rules over the parse;
beyond them they are repeated with other names: in the n-th copy the letters of capitalised words are moved n places on
in the alphabet, so that names are new and words such as "film" or "1987" get more passages, as in a larger corpus. Each
size is measured in a process of its own and kept under ``$FEDRAG_HOME/benchmarks``; a stopped run goes on with the next
one. One thread. Extraction is not part of any figure; it is kept too (the first run takes some six minutes for it).

Questions are dev questions of the three sets. A change is a build: a device makes its keys anew. All times are the
thread's own (CPU), which other work on the machine lengthens less than the clock's; "load" says how much of that there
was.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval import ranked
from fedrag_flwr.retrieval.evidence_sources import PathKeys
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text.lexicon import MONTHS
from simulations.bench_controller import table
from simulations.corpora.retrieval_pool import own_tuples
from simulations.corpora.sentences import DATASETS, find_data, pooled_documents, rows_of
from simulations.reporting.row_file import RowFile, this_code

SIZES = (2_048, 8_192, 32_768, 131_072)
QUESTIONS = 34  # of each set
_BLOCK = 1_024  # passages whose tuples are kept together
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
    mb: float
    question_ms: tuple[float, float]  # median and 95th percentile
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
    """Build keys over so many passages, and ask them."""
    pool = tuples_of_pool(data)
    questions = [
        fields["question"].strip()
        for file in DATASETS.values()
        for fields in rows_of(data / f"{file}.jsonl.gz", "dev", QUESTIONS)
    ]
    gc.collect()
    before = _resident_mb()
    held = dict(corpus(pool, size))
    start = time.thread_time()
    keys = PathKeys.of(list(held), held)
    build_s = time.thread_time() - start
    gc.collect()
    return Grown(
        passages=size,
        tuples=sum(map(len, held.values())),
        vertices=len(keys.paths.table.vertices),
        hyperedges=len(keys.paths.edges.names),
        build_s=build_s,
        mb=_resident_mb() - before,
        question_ms=_asked(questions, keys, list(held)),
        load=os.getloadavg()[0],
    )


def _asked(questions: Sequence[str], keys: PathKeys, names: Sequence[str]) -> tuple[float, float]:
    """Median and 95th percentile of the milliseconds that a ranking takes."""
    times = []
    for text in questions:
        start = time.thread_time()
        ranked(names, keys.paths.scores(keys.seeds.seeds(text)), 10, above=0.0)
        times.append(1_000 * (time.thread_time() - start))
    return float(np.median(times)), float(np.percentile(times, 95))


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def shown(row: Grown) -> list[str]:
    """A row of the table."""
    counts = (row.passages, row.tuples, row.vertices, row.hyperedges)
    median, high = row.question_ms
    return [*(f"{count:,}" for count in counts), f"{row.build_s:.1f}", f"{row.mb:,.0f}", f"{median:.1f} / {high:.1f}"]


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
    columns = ("passages", "tuples", "vertices", "hyperedges", "build s", "MB", "ms a question")
    print(table(columns, [shown(rows[size]) for size in sizes]))
    if options.out is not None:
        figures = json.dumps([asdict(rows[size]) for size in sizes], indent=1)
        (options.out / "key_spaces.json").write_text(figures + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
