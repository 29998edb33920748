"""Texts with labelled personal data, as presidio-research publishes them, and the options of who measures with them."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.benchmark import data_root


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, its labelled spans as (start, end, sort), and the number of the template that it was made from."""

    text: str
    spans: tuple[tuple[int, int, str], ...]
    template: int


def read(path: Path, rows: int) -> Iterator[Labelled]:
    """The first rows of a file; a span whose place does not hold its value is left out."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for _, line in zip(range(rows), lines, strict=False):
            row = json.loads(line)
            text: str = row["full_text"]
            spans = ((span["start_position"], span["end_position"], span) for span in row["spans"])
            found = [(a, b, span["entity_type"]) for a, b, span in spans if text[a:b] == span["entity_value"]]
            yield Labelled(text, tuple(found), row["template_id"])


def arguments(description: str | None, files: Sequence[str]) -> argparse.Namespace:
    """The options ``data``, ``rows`` and ``out``.

    Raises
    ------
    SourceError
        No folder is named.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the labelled sentences")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of each file")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    given = parser.parse_args()
    if given.data is None:
        raise SourceError("there is no data", where="--data", fix=f"name the folder with {', '.join(files)}")
    return given
