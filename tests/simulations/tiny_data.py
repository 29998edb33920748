"""A tiny multi-hop file over the tests' made-up documents."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

from tests.strategies.federation import DOCUMENTS, QUESTIONS

ALL_DEV: Mapping[str, int | None] = {"dev": None}


def rows() -> list[dict[str, object]]:
    """One row a question that has gold documents: these, and four others as distractors."""
    texts = {
        name.removesuffix(".md"): text.partition("\n\n")[2].strip()
        for documents in DOCUMENTS.values()
        for name, text in documents.items()
    }
    made: list[dict[str, object]] = []
    for number, (question_id, question, answer, kind, _, gold) in enumerate(QUESTIONS):
        if not gold:
            continue
        others = [name for name in texts if name not in gold]
        names = [*gold, *(others[(number * 3 + step) % len(others)] for step in range(4))]
        made.append(
            {
                "id": question_id,
                "question": question,
                "answer": answer,
                "aliases": [],
                "type": kind,
                "split": "dev",
                "setting": "distractor",
                "paragraphs": [
                    {"title": name.replace("-", " ").title(), "text": texts[name], "is_supporting": name in gold}
                    for name in dict.fromkeys(names)
                ],
            }
        )
    return made


def write_data(folder: Path, name: str = "tiny", splits: Mapping[str, int | None] = ALL_DEV) -> Path:
    """Write as ``<name>.jsonl.gz`` the first so many rows for each split; None for all."""
    path = folder / f"{name}.jsonl.gz"
    written = [{**row, "split": split} for split, most in splits.items() for row in rows()[:most]]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in written)
    return path
