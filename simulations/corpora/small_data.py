"""The folder of evaluation data in small, for quick runs: few rows, and few paragraphs of each."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simulations.corpora.domain_data import split_of
from simulations.corpora.sentences import DATASETS, json_lines, rows_of

ROWS = {"dev": 4, "train": 3}  # of a multi-hop file
OTHERS = 3  # paragraphs of a row that do not support its answer
PASSAGES = 3  # of a textbook
Rows = Iterator[Mapping[str, Any]]


def small_data(data: Path, folder: Path) -> Path:
    """Lay out a folder with small files, and links to the others; gives it."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in data.iterdir():
        kept, few = folder / path.name, _SMALL.get(path.name)
        if kept.exists():
            continue
        if few is None:
            kept.symlink_to(path.resolve())
            continue
        with gzip.open(kept, "wt", encoding="utf-8") as out:
            out.writelines(f"{json.dumps(row)}\n" for row in few(path))
    return folder


def _few_rows(path: Path) -> Rows:
    for split, count in ROWS.items():
        for row in rows_of(path, split, count):
            ranked = sorted(row["paragraphs"], key=lambda one: not one["is_supporting"])
            gold = sum(one["is_supporting"] for one in ranked)
            yield row | {"paragraphs": ranked[: gold + OTHERS]}


def _few_questions(path: Path) -> Rows:
    """The first train and dev question of each textbook."""
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in json_lines(path):
        first.setdefault((row["domain"], split_of(row["id"])), row)
    yield from first.values()


def _few_passages(path: Path) -> Rows:
    """The first passages of the modules that these questions need."""
    asked = {row["gold_module"] for row in _few_questions(path.with_name("openstax_qa.jsonl.gz"))}
    left = dict.fromkeys(asked, PASSAGES)
    for row in json_lines(path):
        if left.get(row["module"]):
            left[row["module"]] -= 1
            yield row


_SMALL: Mapping[str, Callable[[Path], Rows]] = {
    **{f"{name}.jsonl.gz": _few_rows for name in DATASETS.values()},
    "openstax_qa.jsonl.gz": _few_questions,
    "openstax_passages.jsonl.gz": _few_passages,
}
