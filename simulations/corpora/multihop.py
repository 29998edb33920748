"""Multi-hop benchmark files: questions, and the pool of their paragraphs as documents."""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrag_flwr.errors import DocumentError, SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion, gold_of
from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import make_document


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Questions without homes and the documents of all of them, each content once."""

    questions: tuple[GoldQuestion, ...]
    documents: tuple[Document, ...]


def data_root() -> Path | None:
    """Find the folder of evaluation data: `FEDRAG_DATA`, else ``../shared/data`` beside the repository, else None.

    Raises SourceError: `FEDRAG_DATA` names no folder.
    """
    if named := os.environ.get("FEDRAG_DATA"):
        if not Path(named).is_dir():
            raise SourceError("is not a folder", where="FEDRAG_DATA", fix="set it to the data folder, or unset it")
        return Path(named)
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    return beside if beside.is_dir() else None


def read_multihop(
    path: str | Path, split: str | None = "dev", limit: int | None = None, setting: str | None = "distractor"
) -> Benchmark:
    """Read a multi-hop file (``*.jsonl`` or ``*.jsonl.gz``): HotpotQA, 2WikiMultihopQA or MuSiQue.

    `split`, `setting`: rows of these only, None for all (rows that name no setting are kept); `limit`: the first so
    many of those. Raises SourceError: the file is missing or torn, or no row is left. Raises DocumentError: a row is
    malformed; the error names its line.
    """
    path = Path(path)
    documents: dict[str, Document] = {}
    questions: dict[str, GoldQuestion] = {}
    for number, row in _rows(path):
        if limit is not None and len(questions) >= limit:
            break
        if (split and row.get("split") != split) or (setting and row.get("setting", setting) != setting):
            continue
        with _schema_of(path, number) as where:
            fields = {"kind": row["type"], "documents": _supporting(row["paragraphs"], documents)}
            question = gold_of({**row, **fields}, where, questions)
            questions[question.question_id] = question
    if not questions:
        raise SourceError("no row is left", where=path.name, fix="choose another split, limit or setting")
    return Benchmark(tuple(questions.values()), tuple(documents.values()))


@contextmanager
def _schema_of(path: Path, number: int) -> Iterator[str]:
    where = f"{path.name}:{number}"
    try:
        yield where
    except (KeyError, TypeError, AttributeError):
        raise DocumentError(
            "the row lacks a field of the multi-hop schema, or has another type there", where=where, fix="mend the row"
        ) from None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as handle:
            for number, line in enumerate(handle, 1):
                try:
                    yield number, dict(json.loads(line))
                except (ValueError, TypeError, RecursionError):
                    raise DocumentError(
                        "the row is not a JSON object", where=f"{path.name}:{number}", fix="restore the file"
                    ) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "the file is torn"
        raise SourceError(f"cannot be read ({reason})", where=path.name, fix="check the path and restore it") from None


def _supporting(paragraphs: Iterable[Any], documents: dict[str, Document]) -> list[str]:
    """Add a row's paragraphs to the pool, and give the ids of those that support its answer."""
    gold: list[str] = []
    for paragraph in paragraphs:
        if not any(char.isalnum() for char in paragraph["text"]):
            continue
        document = _document(paragraph["title"] or "", paragraph["text"])
        documents.setdefault(document.id, document)
        if paragraph["is_supporting"] and document.id not in gold:
            gold.append(document.id)
    return gold


def _document(title: str, text: str) -> Document:
    """Make a document whose id comes from its content."""
    document = make_document("content", title, text)
    return Document(document.digest[:16], document.title, document.text, document.digest)
