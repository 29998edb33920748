"""MMLU as knowledge that lies with peers: its rows, and the vectors of what is asked and of what is known."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SourceError
from fedrag_flwr.models import load_encoder
from fedrag_flwr.retrieval.dense import TextEncoder
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources.benchmark import data_root

_CHUNK = 512
_FILE = "mmlu.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Mmlu:
    """Rows of MMLU: `asked` and `known` hold unit vectors of shape (rows, dimension), `subject` numbers of subjects.

    What is asked is a question with its choices; what is known is the question with its right answer.
    """

    subjects: tuple[str, ...]
    subject: NDArray[np.int64]
    asked: NDArray[np.float32]
    known: NDArray[np.float32]

    def rows(self, chosen: NDArray[np.int64]) -> Mmlu:
        """Some of the rows, under the same subjects."""
        return Mmlu(self.subjects, self.subject[chosen], self.asked[chosen], self.known[chosen])


def read_mmlu(split: str, data: Path | None = None, every: int = 1) -> Mmlu:
    """Read a split, ``dev`` (5 rows a subject, for fitting) or ``test``; it is encoded once and kept in the home.

    `every` takes one of so many rows.

    Raises
    ------
    SourceError
        There is no such file.
    """
    folder = data or data_root()
    if folder is None or not (folder / _FILE).is_file():
        raise SourceError(f"{_FILE} is not there", where="--data", fix="name its folder, or set FEDRAG_DATA")
    with gzip.open(folder / _FILE, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["split"] == split][::every]
    encoder = load_encoder("", threads=1)
    subjects = tuple(sorted({row["subject"] for row in rows}))
    place = {name: number for number, name in enumerate(subjects)}
    asked = [f"{row['question']} {' '.join(map(str, row['choices']))}" for row in rows]
    known = [f"{row['question']} {row['choices'][row['answer_idx']]}" for row in rows]
    return Mmlu(
        subjects,
        np.array([place[row["subject"]] for row in rows]),
        encoded(encoder, asked, f"mmlu-{split}-asked"),
        encoded(encoder, known, f"mmlu-{split}-known"),
    )


def encoded(encoder: TextEncoder, texts: Sequence[str], name: str) -> NDArray[np.float32]:
    """The vectors of texts, shape (texts, dimension), from the home or made chunk by chunk and kept there."""
    digest = hashlib.sha256("\x1f".join((encoder.id, *texts)).encode()).hexdigest()[:16]
    folder = fedrag_home() / "overlay" / f"{name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(texts), _CHUNK):
        file = folder / f"{start}.npy"
        if not file.exists():
            written = file.with_suffix(".part.npy")
            np.save(written, encoder.encode(texts[start : start + _CHUNK]))
            written.replace(file)
            print(f"{name}: {min(start + _CHUNK, len(texts))} of {len(texts)} encoded", flush=True)
        parts.append(np.load(file))
    return np.concatenate(parts) if parts else np.zeros((0, encoder.dimension), dtype=np.float32)
