"""HKVM-RAG's published inputs and results, where the evaluation data is at hand."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fedrag_flwr.records import EvidenceTuple, Passage
from simulations.corpora.multihop import data_root

MODES = ("default", "hash")


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its candidate passages and its tuples in both modes."""

    id: str
    question: str
    passages: tuple[Passage, ...]
    tuples: dict[str, tuple[EvidenceTuple, ...]]


@dataclass(frozen=True, slots=True)
class Expected:
    """The reference's ten best passages of one question, and their scores."""

    ranked: tuple[str, ...]
    scores: dict[str, float]


def reference_folder(name: str) -> Path:
    """A folder of reference results; skips the test where it is not."""
    root = data_root()
    if root is None or not (root / "reference" / name).is_dir():
        pytest.skip(f"there is no reference/{name} in the evaluation data (set FEDRAG_DATA)")
    return root / "reference" / name


def read(path: Path) -> Any:
    """Read compressed JSON."""
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        return json.load(handle)


def cases() -> list[Case]:
    """The 100 questions."""
    folder = reference_folder("hkvm")
    tuples = read(folder / "musique100_triples_hashconf.json.gz")
    with gzip.open(folder / "musique100.jsonl.gz", "rt", encoding="utf-8") as handle:
        rows = [json.loads(line) for line in handle]
    return [
        Case(
            row["id"],
            row["question"],
            tuple(
                Passage(str(p["idx"]), str(p["idx"]), p["title"], p["paragraph_text"], ()) for p in row["paragraphs"]
            ),
            {mode: tuple(_tuple(one, mode) for one in tuples[row["id"]]) for mode in MODES},
        )
        for row in rows
    ]


def expected(mode: str, method: str) -> dict[str, Expected]:
    """The reference's rankings by question id."""
    found = read(reference_folder("hkvm") / "reference_musique100.json.gz")[f"{mode}/{method}"]["predictions"]
    return {one["id"]: Expected(tuple(one["ranked"]), one["scores"]) for one in found}


def _tuple(row: dict[str, Any], mode: str) -> EvidenceTuple:
    ends = (row["head"], row["relation"], row["tail"], row["passage_id"])
    if mode == "default":
        return EvidenceTuple(*ends, confidence=row["confidence"])
    return EvidenceTuple(
        *ends,
        factual=row["factual_confidence"],
        salience=row["semantic_salience"],
        bridge=row["bridge_potential"],
        confidence=row["confidence"],
    )
