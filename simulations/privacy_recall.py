"""Share of labelled personal data that type masking hides, in original, lower and upper case.

    python simulations/privacy_recall.py --data FOLDER [--rows 100] [--out docs/benchmarks]

FOLDER holds the labelled sentences (default: $FEDRAG_DATA). Every text passes the operator alone, as if it were all
that a device has. A span is hidden when not one of its characters is left. Writes ``privacy_recall.json`` and, as a
table, ``privacy_recall.md``; counts only, never a text.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from fedrag_flwr.evaluation import share_interval
from fedrag_flwr.privacy import Bundle, TypeMasking
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.persons import PERSON
from fedrag_flwr.privacy.rewriting import PLACEHOLDER
from fedrag_flwr.text import SpacyPipeline
from fedrag_flwr.text.base import Pipeline
from simulations.corpora.labelled_texts import Labelled, arguments, read
from simulations.reporting.privacy_table import markdown

FILES = ("presidio_generated_large", "presidio_synth_v2")
STRUCTURED = (
    *("CREDIT_CARD", "PHONE_NUMBER", "EMAIL_ADDRESS", "DOMAIN_NAME"),
    *("US_SSN", "IBAN_CODE", "IP_ADDRESS", "US_DRIVER_LICENSE"),
)
SORTS, ALL = (PERSON, *STRUCTURED), "all structured"
CASES: dict[str, Callable[[str], str]] = {"original": str, "lower": str.lower, "upper": str.upper}


@dataclass(frozen=True, slots=True)
class Row:
    """How many of the spans of one sort were hidden, in one file and one case."""

    data: str
    case: str
    sort: str
    spans: int
    hidden: int


def kept(text: str, masked: str) -> list[bool]:
    """For each character of a text whether it is left in its masked form, whose placeholders stand for the rest."""
    literals = PLACEHOLDER.split(masked)
    match = re.fullmatch("(.+?)".join(f"({re.escape(literal)})" for literal in literals), text, re.DOTALL)
    if match is None:
        raise ValueError("the masked text is not the text with parts replaced")
    left = [False] * len(text)
    for group in range(1, match.re.groups + 1, 2):  # literals and what was masked take turns
        left[slice(*match.span(group))] = [True] * len(match[group])
    return left


def measure(data: str, texts: Sequence[Labelled], case: str, pipeline: Pipeline) -> list[Row]:
    """Mask all texts of a file in one case."""
    spans: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    for labelled in texts:
        text = CASES[case](labelled.text)
        if len(text) != len(labelled.text) or clean(text) != text:
            continue  # a few letters become two in upper case: the labels would point elsewhere
        [masked] = TypeMasking(pipeline).operate([Bundle((text,))])
        left = kept(text, masked.prose[0])
        for start, end, sort in (span for span in labelled.spans if span[2] in SORTS):
            for counted in (sort, *([ALL] if sort in STRUCTURED else [])):
                spans[counted] += 1
                hidden[counted] += not any(left[start:end])
    return [Row(data, case, sort, spans[sort], hidden[sort]) for sort in (*SORTS, ALL) if spans[sort]]


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        cells.setdefault((row.data, row.sort), {})[row.case] = row
    lines = [
        [data, sort, str(max(row.spans for row in found.values())), *(_share(found.get(case)) for case in CASES)]
        for (data, sort), found in cells.items()
    ]
    return "\n".join(markdown(("data", "spans", "how many", *(f"hidden, {case} case" for case in CASES)), lines)) + "\n"


def _share(row: Row | None) -> str:
    if row is None:
        return "-"
    low, high = share_interval(row.hidden, row.spans)
    return f"{row.hidden / row.spans:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Measure all files and cases, write both files and print the table."""
    options = arguments(__doc__, FILES)
    pipeline = SpacyPipeline()
    rows: list[Row] = []
    for name in FILES:
        texts = list(read(options.data / f"{name}.jsonl.gz", options.rows))
        for case in CASES:
            start = time.perf_counter()
            rows += measure(name, texts, case, pipeline)
            print(f"{name}, {case}: {time.perf_counter() - start:.0f} s", flush=True)
    (options.out / "privacy_recall.json").write_text(
        json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8"
    )
    (options.out / "privacy_recall.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
