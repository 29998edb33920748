"""Personal data that rules hide, that the device's model names, and both one after the other.

    python simulations/bench_model_masking.py --data FOLDER [--model qwen2.5-coder-1.5b] [--texts 60] [--part fit]

FOLDER holds the three labelled sets (default: $FEDRAG_DATA). Of each set so many texts are drawn from the templates of
odd number, which nobody looked at while rules and prompt were written (`--part fit`: from the even ones). Rules are
this project's recognisers for all types, the model copies out what it takes for personal (`privacy/model_masking.py`),
in the text as it is or as the rules leave it. Measured as in ``bench_personal_data.py``. What was asked is kept as
places, without text, under ``$FEDRAG_HOME/model-masking``: a stopped run goes on, and a larger one adds to it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation import share_interval
from fedrag_flwr.models import load_generator
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from fedrag_flwr.privacy.model_masking import CONFIDENTIAL, named, piece_pattern
from fedrag_flwr.privacy.normalise import clean, probe
from fedrag_flwr.privacy.rewriting import placeholder
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text import SpacyPipeline
from simulations.bench_personal_data import ALL, FILES, Finder, Found, Score, ours
from simulations.corpora.labelled_texts import Labelled, read
from simulations.reporting.kept_rows import KeptRows, Row
from simulations.reporting.privacy_table import markdown
from simulations.reporting.row_file import this_code

SYSTEMS = ("rules", "model", "rules, then model")
Drawn = Sequence[tuple[int, Labelled]]  # texts with their numbers in the file


def draw(file: Path, texts: int, odd: bool) -> Drawn:
    """So many texts of a file, drawn from the templates of odd or even number; fewer are the first of more."""
    rows = [(place, one) for place, one in enumerate(read(file, 10_000)) if one.template % 2 == odd]
    order = np.random.default_rng(0).permutation(len(rows))
    return [rows[row] for row in order if clean(rows[row][1].text) == rows[row][1].text][:texts]


def spoken(model: LlamaGenerator, text: str, hidden: Sequence[Found]) -> Row:
    """Where in a text stands what the model names, once some of it is hidden; `kept back`: it gave no list."""
    shown, at = "", 0
    for start, end, sort in sorted(hidden):
        if start >= at:
            shown, at = shown + text[at:start] + placeholder(sort), end
    start_time = time.perf_counter()
    pieces = named(lambda: model, shown + text[at:])
    seconds = time.perf_counter() - start_time
    found = [match.span() for piece in pieces or () for match in piece_pattern(piece).finditer(probe(text))]
    if pieces is None:
        found = [(0, len(text))]
    return {
        "spans": " ".join(f"{start}-{end}" for start, end in found),
        "kept back": float(pieces is None),
        "seconds": seconds,
    }


def places(row: Row) -> list[Found]:
    """The spans of a kept row."""
    pairs = (span.split("-") for span in str(row["spans"]).split())
    return [(int(start), int(end), CONFIDENTIAL) for start, end in pairs]


def measure(kept: KeptRows, key: str, labelled: Labelled, rules: Finder, model: LlamaGenerator) -> dict[str, Row]:
    """What each system finds in a text, as kept rows."""
    start = time.perf_counter()
    hidden = rules(labelled.text)
    seconds = time.perf_counter() - start
    alone = kept.row(f"{key} alone", lambda: spoken(model, labelled.text, ()))
    after = kept.row(f"{key} after", lambda: spoken(model, labelled.text, hidden)) if hidden else alone
    spans = " ".join(f"{start}-{end}" for start, end, _ in hidden)
    first: Row = {"spans": spans, "kept back": 0.0, "seconds": seconds}
    both: Row = {
        "spans": f"{spans} {after['spans']}",
        "kept back": after["kept back"],
        "seconds": seconds + float(after["seconds"]),
    }
    return dict(zip(SYSTEMS, (first, alone, both), strict=True))


def scored(texts: Drawn, rows: Sequence[dict[str, Row]], system: str) -> Score:
    """What a system hides in texts."""
    score = Score()
    for (_, labelled), found in zip(texts, rows, strict=True):
        score.take(labelled, places(found[system]))
    return score


def gained(texts: Drawn, rows: Sequence[dict[str, Row]]) -> str:
    """How many spans of which type only the model hides, of those that the rules leave."""
    rules, both = scored(texts, rows, SYSTEMS[0]), scored(texts, rows, SYSTEMS[2])
    left = {sort: count - rules.hidden[sort] for sort, count in rules.spans.most_common()}
    return ", ".join(
        f"{sort} {both.hidden[sort] - rules.hidden[sort]} of {count}" for sort, count in left.items() if count
    )


def lines(name: str, texts: Drawn, rows: Sequence[dict[str, Row]]) -> list[list[str]]:
    """A line for each system over the texts of one set."""
    told = []
    for system in SYSTEMS:
        score = scored(texts, rows, system)
        low, high = share_interval(score.hidden[ALL], score.spans[ALL])
        milliseconds = 1000 * float(np.median([float(found[system]["seconds"]) for found in rows]))
        told.append(
            [
                *(name, str(len(texts)), system, str(score.spans[ALL])),
                f"{score.recall:.3f} [{low:.3f}, {high:.3f}]",
                *(f"{score.precision:.3f}", f"{score.f2:.3f}"),
                f"{sum(float(found[system]['kept back']) for found in rows):.0f}",
                f"{milliseconds:,.0f}",
            ]
        )
    return told


def main() -> None:
    """Ask the model about the texts that it was not asked about yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root())
    parser.add_argument("--model", default=DEFAULT_GENERATOR)
    parser.add_argument("--texts", type=int, default=60)
    parser.add_argument("--part", choices=("report", "fit"), default="report")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.data is None:
        raise SourceError("there is no data", where="--data", fix=f"name the folder with {', '.join(FILES)}")
    model = load_generator(options.model, threads=options.threads)
    rules = ours(SpacyPipeline())
    kept = KeptRows(fedrag_home() / "model-masking" / f"{options.model}.jsonl", this_code(model.id))
    every: list[tuple[int, Labelled]] = []
    found: list[dict[str, Row]] = []
    table = []
    for name in FILES:
        texts = draw(options.data / f"{name}.jsonl.gz", options.texts, odd=options.part == "report")
        rows = [measure(kept, f"{name} {place}", one, rules, model) for place, one in texts]
        table += lines(name, texts, rows)
        every, found = [*every, *texts], [*found, *rows]
    table += lines("all", every, found)
    heads = ("data", "texts", "system", "spans", "recall", "precision", "F2", "kept back", "ms a text, median")
    print("\n".join([*markdown(heads, table), "", f"Gained beyond the rules: {gained(every, found)}"]))


if __name__ == "__main__":
    main()
