"""Questions with their gold answers; evaluation code alone sees them."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import DocumentError, SourceError
from fedrag_flwr.records import MOST_LINE

_MOST = {"id": 200, "home": 200, "question": MOST_LINE}  # characters that a message carries of them


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its gold answer and documents.

    `answer` is empty for a question that the documents do not answer. `kind` is the data set's own type of question,
    `documents` are ids of the documents that support the answer, and `home` is the device at which it is asked (""
    while it has none). `must` holds what a right answer to how or why has to say; ``|`` parts alternatives of an entry.
    """

    question_id: str
    text: str
    answer: str
    aliases: tuple[str, ...] = ()
    kind: str = ""
    documents: tuple[str, ...] = ()
    home: str = ""
    split: str = ""
    must: tuple[str, ...] = ()


def read_gold(path: str | Path) -> list[GoldQuestion]:
    """Read gold questions from JSON lines.

    A line has ``id, question, answer`` and optionally ``aliases, kind, documents, home, split, must``.

    Raises SourceError: the file is missing or holds no question. Raises DocumentError: a line is malformed or repeats
    an id; the error names its number.
    """
    path = Path(path)
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", where=path.name, fix="check the path") from None
    found: dict[str, GoldQuestion] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path.name}:{number}"
        question = gold_of(_fields(line, where), where, found)
        found[question.question_id] = question
    if not found:
        raise SourceError("the file holds no question", where=path.name, fix="write one JSON object on each line")
    return list(found.values())


def _is_written(text: str) -> bool:
    """Whether a text can be written: half of a surrogate pair cannot."""
    return text.encode("utf-8", "replace").decode() == text


def _fields(line: bytes, where: str) -> dict[str, object]:
    try:
        fields = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DocumentError("the line is not JSON", where=where, fix="write one JSON object on each line") from None
    if not isinstance(fields, dict):
        raise DocumentError("the line is not an object", where=where, fix="write one JSON object on each line")
    return fields


def gold_of(fields: Mapping[str, object], where: str, known: Container[str] = ()) -> GoldQuestion:
    """Make a gold question of fields named as `read_gold` has them.

    `where`: file and line, for the error; `known`: ids that others have. Raises DocumentError: a field is absent, too
    long or of another type, or the id is another question's.
    """

    def text(key: str, default: str | None = None) -> str:
        value = fields.get(key, default)
        if not isinstance(value, str) or (key in {"id", "question"} and not value.strip()):
            raise DocumentError(f"the field {key} is not a text", where=where, fix=f"give {key} as a string")
        if len(value) > (most := _MOST.get(key, len(value))):
            raise DocumentError(f"the field {key} has more than {most:,} characters", where=where, fix="shorten it")
        if not _is_written(value):
            raise DocumentError(f"the field {key} holds half a character", where=where, fix="write it in UTF-8")
        return value

    def texts(key: str) -> tuple[str, ...]:
        value = fields.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise DocumentError(f"the field {key} is not a list of texts", where=where, fix=f"give {key} as a list")
        if not all(map(_is_written, value)):
            raise DocumentError(f"the field {key} holds half a character", where=where, fix="write it in UTF-8")
        return tuple(value)

    if not (name := text("id")).isprintable():
        raise DocumentError("the question's id holds a control character", where=where, fix="use letters and digits")
    if name in known:
        raise DocumentError("the question's id is not unique", where=where, fix="give each question its own id")
    return GoldQuestion(
        name,
        text("question").strip(),
        text("answer"),
        texts("aliases"),
        text("kind", ""),
        texts("documents"),
        text("home", ""),
        text("split", ""),
        texts("must"),
    )
