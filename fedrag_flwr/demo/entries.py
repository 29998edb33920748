"""The documents and questions of a demo folder, as they are read and as their words are compared."""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

DEVICES: Final = ("missions", "launchers", "observatories", "worlds", "people")
KINDS: Final = ("single", "two-hop", "comparison", "unanswerable")
SPLITS: Final = ("train", "test")

_DOCUMENT: Final = re.compile(r"# (?P<title>\S[^\n]*)\n\n(?P<body>\S.*)", re.DOTALL)
_TEXT_FIELDS: Final = ("id", "question", "answer", "kind", "home", "split")
_LIST_FIELDS: Final = ("aliases", "documents")


@dataclass(frozen=True, slots=True)
class Document:
    """One text of the corpus.

    Attributes
    ----------
    id : str
        The stem of its file.
    device : str
        The silo that holds it.
    title : str
        Its heading.
    body : str
        Its paragraphs.
    """

    id: str
    device: str
    title: str
    body: str

    @property
    def text(self) -> str:
        """The normalised title and body, for finding answers."""
        return normalise(f"{self.title} {self.body}")


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold answer.

    Attributes
    ----------
    id : str
        A unique name.
    question : str
        The wording.
    answer : str
        The gold answer, empty if the corpus has none.
    aliases : tuple of str
        Other right forms of the answer.
    kind : str
        One of `KINDS`.
    home : str
        The device on which the question is asked.
    documents : tuple of str
        The ids of the gold documents, in the order in which they are needed.
    split : str
        One of `SPLITS`.
    """

    id: str
    question: str
    answer: str
    aliases: tuple[str, ...]
    kind: str
    home: str
    documents: tuple[str, ...]
    split: str

    @property
    def forms(self) -> tuple[str, ...]:
        """The answer and its aliases."""
        return (self.answer, *self.aliases)


def normalise(text: str) -> str:
    """Fold case, spelling of characters, and white space.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The same text in the form used for comparisons.
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def occurs(forms: Iterable[str], text: str) -> bool:
    """Tell whether any form stands in a text as whole words.

    Parameters
    ----------
    forms : iterable of str
        The forms of an answer; empty ones never occur.
    text : str
        Normalised text.

    Returns
    -------
    bool
        Whether one of them was found.
    """
    patterns = (re.escape(normalise(form)) for form in forms if form.strip())
    return any(re.search(rf"(?<!\w){pattern}(?!\w)", text) for pattern in patterns)


def read_documents(root: Path, problems: list[str]) -> list[Document]:
    """Read every document below a demo folder.

    Parameters
    ----------
    root : Path
        The folder that holds ``corpus``.
    problems : list of str
        Receives a line for each malformed file.

    Returns
    -------
    list of Document
        The well-formed documents.
    """
    documents = []
    for path in sorted((root / "corpus").glob("*/*.md")):
        match = _DOCUMENT.fullmatch(path.read_text(encoding="utf-8").strip())
        if match is None:
            problems.append(f"document {path.stem}: no title line and blank line on top")
        else:
            documents.append(Document(path.stem, path.parent.name, match["title"], match["body"]))
    return documents


def read_questions(root: Path, problems: list[str]) -> list[Question]:
    """Read every question of a demo folder.

    Parameters
    ----------
    root : Path
        The folder that holds ``questions.jsonl``.
    problems : list of str
        Receives a line for each malformed record.

    Returns
    -------
    list of Question
        The well-formed questions.
    """
    path = root / "questions.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    questions = []
    for number, line in enumerate(lines, 1):
        question = _parse(line)
        if question is None:
            problems.append(f"questions line {number}: malformed record")
        else:
            questions.append(question)
    return questions


def _parse(line: str) -> Question | None:
    """Return the question in one line of JSON, or None if it is malformed."""
    try:
        record: object = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(record, dict) or set(record) != {*_TEXT_FIELDS, *_LIST_FIELDS}:
        return None
    lists = [record[field] for field in _LIST_FIELDS]
    if not all(isinstance(items, list) for items in lists):
        return None
    texts = [record[field] for field in _TEXT_FIELDS]
    if not all(isinstance(text, str) for text in [*texts, *chain(*lists)]):
        return None
    frozen = {field: tuple(record[field]) for field in _LIST_FIELDS}
    return Question(**{**record, **frozen})
