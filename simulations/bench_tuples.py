"""What extraction of evidence tuples gives and how right it is.

    python simulations/bench_tuples.py [--data FOLDER] [--sample] [--out docs/benchmarks]
    python simulations/bench_tuples.py --model 20 [--out docs/benchmarks]

Counts tuples, and seconds with and without parsing, over the demo corpus and the pool of ``reference/hipporag``, where
FOLDER has it. `--sample` prints 200 tuples of the demo corpus, drawn by a fixed seed, each with its passage,
as the sheet to judge by hand; the judged sheet is ``docs/benchmarks/tuples.csv``, and its precision is printed with
Wilson's interval. A tuple is right when its passage states it, with both ends and the relation as they are read.
`--model` lets the local model extract from so many demo passages, drawn by the same seed, beside the rules over the
same ones (``model_tuples.json``); its time counts prompt and generation, not loading.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import fedrag_flwr.demo
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation import share_interval
from fedrag_flwr.models import load_generator
from fedrag_flwr.records import Document, EvidenceTuple
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.text import Extractor, ModelExtractor, ParseExtractor, SpacyPipeline
from simulations.corpora.retrieval_pool import hipporag_pool
from simulations.reporting.folders import out_folder

SHEET = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "tuples.csv"
SAMPLE = 200
SEED = 7
FIELDS = ("passage", "head", "relation", "tail")


def demo_documents() -> list[Document]:
    """All documents of the demo corpus."""
    return list(FolderSource(Path(fedrag_flwr.demo.__file__).parent / "corpus").read().documents)


def count(name: str, documents: Sequence[Document]) -> tuple[dict[str, str | float], list[EvidenceTuple]]:
    """Extract from documents, and what it gave and took."""
    extractor, start = ParseExtractor(), time.perf_counter()
    parsed = list(SpacyPipeline().parse(documents))
    between = time.perf_counter()
    found = [extractor.extract(passages) for passages in parsed]
    end = time.perf_counter()
    tuples = [one for document in found for one in document]
    passages = [one.passage.id for document in parsed for one in document]
    silent = len(set(passages) - {one.passage_id for one in tuples})
    row: dict[str, str | float] = {
        "corpus": name,
        "passages": len(passages),
        "tuples": len(tuples),
        "a passage": len(tuples) / len(passages),
        "silent %": 100 * silent / len(passages),
        "tuples/s, rules alone": len(tuples) / (end - between),
        "tuples/s, with parsing": len(tuples) / (end - start),
    }
    return row, tuples


def by_model(documents: Sequence[Document], passages: int) -> list[dict[str, str | float]]:
    """What the rules and the model give for passages drawn by a fixed seed, and what of the model's was dropped."""
    parsed = [one for document in SpacyPipeline().parse(documents) for one in document]
    drawn = np.sort(np.random.default_rng(SEED).choice(len(parsed), min(passages, len(parsed)), replace=False))
    generator = load_generator(threads=1)
    ModelExtractor(generator).extract(parsed[:1])  # evaluates the prompt's fixed prefix, whose state is kept
    extractors: tuple[Extractor, ...] = (ParseExtractor(), ModelExtractor(generator))
    rows: list[dict[str, str | float]] = []
    for extractor in extractors:
        start = time.perf_counter()
        found = [extractor.extract([parsed[row]]) for row in drawn]
        seconds = time.perf_counter() - start
        tuples = sum(map(len, found))
        dropped = ", ".join(f"{reason}: {number}" for reason, number in sorted(extractor.dropped.items()))
        rows.append(
            {
                "extractor": extractor.id,
                "passages": len(drawn),
                "tuples": tuples,
                "a passage": tuples / len(drawn),
                "silent %": 100 * sum(not one for one in found) / len(drawn),
                "tuples/s": tuples / seconds,
                "s a passage": seconds / len(drawn),
                "dropped": dropped,
            }
        )
    return rows


def print_rows(rows: Sequence[dict[str, str | float]]) -> None:
    """Rows as a Markdown table."""
    print(f"| {' | '.join(rows[0])} |\n{'|---' * len(rows[0])}|")
    for row in rows:
        print(f"| {' | '.join(f'{v:,.3g}' if isinstance(v, float) else str(v) for v in row.values())} |")


def sample(tuples: Sequence[EvidenceTuple]) -> list[EvidenceTuple]:
    """The tuples to judge, drawn by a fixed seed, in reading order."""
    rows = np.sort(np.random.default_rng(SEED).choice(len(tuples), min(SAMPLE, len(tuples)), replace=False))
    return [tuples[row] for row in rows]


def precision(tuples: Sequence[EvidenceTuple]) -> dict[str, float]:
    """Judged tuples that are still extracted, and how many per cent of them are right, with Wilson's 95 % interval."""
    with SHEET.open(encoding="utf-8", newline="") as handle:
        judged = {tuple(row[name] for name in FIELDS): row["right"] == "yes" for row in csv.DictReader(handle)}
    present = {(one.passage_id, one.head, one.relation, one.tail) for one in tuples}
    right = [verdict for key, verdict in judged.items() if key in present]
    low, high = share_interval(sum(right), len(right))
    return {
        "judged": len(judged),
        "still extracted": len(right),
        "right %": 100 * sum(right) / max(len(right), 1),
        "low %": 100 * low,
        "high %": 100 * high,
    }


def print_sheet(tuples: Sequence[EvidenceTuple], documents: Sequence[Document]) -> None:
    """Print the sample as CSV with the passage's text, to be judged."""
    texts = {p.passage.id: p.passage.text for document in SpacyPipeline().parse(documents) for p in document}
    sheet = csv.writer(sys.stdout)
    sheet.writerow((*FIELDS, "right", "text"))
    for one in sample(tuples):
        sheet.writerow((one.passage_id, one.head, one.relation, one.tail, "", texts[one.passage_id]))


def main() -> None:
    """Parse the command line, count, and print the precision of the judged sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root())
    parser.add_argument("--sample", action="store_true", help="print the sheet and stop")
    parser.add_argument("--model", type=int, default=0, help="demo passages to extract from by the local model")
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    documents = demo_documents()
    if options.model:
        rows = by_model(documents, options.model)
        print_rows(rows)
        if options.out is not None:
            (options.out / "model_tuples.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        return
    demo, tuples = count("demo", documents)
    if options.sample:
        print_sheet(tuples, documents)
        return
    rows = [demo]
    try:
        pool = hipporag_pool(options.data) if options.data else None
    except SourceError as error:
        print(error)
        pool = None
    if pool is not None:
        rows.append(count("MuSiQue pool", [Document(p.id, p.title, p.text, "") for p in pool.passages])[0])
    print_rows(rows)
    kept = {"counts": rows, "precision": precision(tuples)}
    print(", ".join(f"{name}: {value:.1f}" for name, value in kept["precision"].items()))  # type: ignore[attr-defined]
    if options.out is not None:
        (options.out / "tuples.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
