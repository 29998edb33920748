"""Check the demo corpus and its questions, and report every problem at once."""

import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from fedrag_flwr.demo.entries import (
    DEVICES,
    KINDS,
    SPLITS,
    Document,
    Question,
    normalise,
    occurs,
    read_documents,
    read_questions,
)

LEAST_QUESTIONS: Final = dict(zip(KINDS, (50, 50, 15, 15), strict=True))
GOLD_DOCUMENTS: Final = dict(zip(KINDS, (1, 2, 2, 0), strict=True))
LEAST_DOCUMENTS: Final = 90
LEAST_WORDS: Final = 90
MOST_WORDS: Final = 200
MOST_BYTES: Final = 1 << 20
LARGEST_SPLIT: Final = 0.6

_KEBAB: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def expected_splits(questions: Sequence[Question]) -> dict[str, str]:
    """Share the questions of each kind and home between the splits in turn.

    Parameters
    ----------
    questions : sequence of Question
        All questions.

    Returns
    -------
    dict of str to str
        The split of each question id, by the order of the SHA-256 of the ids.
    """
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for question in questions:
        groups[question.kind, question.home].add(question.id)
    return {
        name: SPLITS[rank % len(SPLITS)]
        for names in groups.values()
        for rank, name in enumerate(sorted(names, key=_digest))
    }


def _digest(name: str) -> str:
    """Return the SHA-256 of an id in hexadecimal form."""
    return hashlib.sha256(name.encode()).hexdigest()


def check(root: Path) -> list[str]:
    """Find every fault of a demo folder.

    Parameters
    ----------
    root : Path
        The folder that holds ``corpus``, ``questions.jsonl`` and ``public_names.json``.

    Returns
    -------
    list of str
        One line for each problem; empty if there is none.
    """
    problems: list[str] = []
    documents = read_documents(root, problems)
    questions = read_questions(root, problems)
    problems += _document_faults(documents)
    problems += _count_faults(questions)
    problems += _split_faults(questions)
    problems += _repetitions(questions)
    for question in questions:
        faults = _question_faults(question, documents)
        problems += [f"question {question.id}: {fault}" for fault in faults]
    problems += _name_faults(root / "public_names.json")
    if (size := total_bytes(root)) >= MOST_BYTES:
        problems.append(f"total size: {size} bytes, the limit is {MOST_BYTES}")
    return problems


def total_bytes(root: Path) -> int:
    """Return the size of the data files of a demo folder.

    Parameters
    ----------
    root : Path
        The folder that holds ``corpus``, ``questions.jsonl`` and ``public_names.json``.

    Returns
    -------
    int
        The number of bytes.
    """
    files = [*root.glob("corpus/*/*"), root / "questions.jsonl", root / "public_names.json"]
    return sum(path.stat().st_size for path in files if path.is_file())


def _document_faults(documents: Sequence[Document]) -> Iterator[str]:
    """Yield the faults of the documents themselves."""
    if len(documents) < LEAST_DOCUMENTS:
        yield f"documents: {len(documents)}, at least {LEAST_DOCUMENTS} are needed"
    if (devices := {document.device for document in documents}) != set(DEVICES):
        yield f"devices: {sorted(devices)}, expected {sorted(DEVICES)}"
    for name, count in Counter(document.id for document in documents).items():
        if count > 1:
            yield f"document {name}: id used {count} times"
        if not _KEBAB.fullmatch(name):
            yield f"document {name}: id is not in kebab case"
    for document in documents:
        words = len(document.body.split())
        if not LEAST_WORDS <= words <= MOST_WORDS:
            yield f"document {document.id}: {words} words, not {LEAST_WORDS} to {MOST_WORDS}"


def _count_faults(questions: Sequence[Question]) -> Iterator[str]:
    """Yield the kinds with too few questions."""
    counts = Counter(question.kind for question in questions)
    for kind, least in LEAST_QUESTIONS.items():
        if counts[kind] < least:
            yield f"kind {kind}: {counts[kind]} questions, at least {least} are needed"


def _split_faults(questions: Sequence[Question]) -> Iterator[str]:
    """Yield the faults of the division into splits."""
    expected = expected_splits(questions)
    for question in questions:
        if question.split != expected[question.id]:
            yield f"question {question.id}: split {question.split}, not {expected[question.id]}"
    for kind in KINDS:
        counts = Counter(question.split for question in questions if question.kind == kind)
        shares = [counts[split] / max(1, counts.total()) for split in SPLITS]
        if min(shares) == 0 or max(shares) > LARGEST_SPLIT:
            yield f"kind {kind}: unbalanced splits {dict(counts)}"


def _repetitions(questions: Sequence[Question]) -> Iterator[str]:
    """Yield the ids and the wordings that occur more than once."""
    for name, count in Counter(question.id for question in questions).items():
        if count > 1:
            yield f"question {name}: id used {count} times"
    wordings: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        words = re.findall(r"\w+", normalise(question.question))
        wordings[" ".join(words)].append(question.id)
    for names in wordings.values():
        if len(names) > 1:
            yield f"questions {', '.join(names)}: same wording"


def _question_faults(question: Question, documents: Sequence[Document]) -> Iterator[str]:
    """Yield the faults of one question."""
    if question.kind not in KINDS:
        yield f"unknown kind {question.kind}"
        return
    if question.home not in DEVICES:
        yield f"unknown home {question.home}"
    if question.kind == "unanswerable":
        if question.documents or question.answer or question.aliases:
            yield "unanswerable, but has documents or an answer"
        return
    if not question.answer.strip():
        yield "no answer"
    known = {document.id: document for document in documents}
    missing = [name for name in question.documents if name not in known]
    if missing:
        yield f"no document {', '.join(missing)}"
    elif len(question.documents) != GOLD_DOCUMENTS[question.kind]:
        yield f"has {len(question.documents)} documents"
    else:
        gold = [known[name] for name in question.documents]
        yield from _gold_faults(question, gold, documents)


def _gold_faults(question: Question, gold: Sequence[Document], documents: Sequence[Document]) -> Iterator[str]:
    """Yield the faults in the relation of a question to its gold documents."""
    if gold[0].device != question.home:
        yield f"home {question.home} does not hold {gold[0].id}"
    if question.kind == "two-hop":
        yield from _two_hop_faults(question, gold, documents)
    elif question.kind == "comparison":
        yield from _comparison_faults(question, gold)
    elif not occurs(question.forms, gold[0].text):
        yield f"answer {question.answer!r} not in {gold[0].id}"


def _two_hop_faults(question: Question, gold: Sequence[Document], documents: Sequence[Document]) -> Iterator[str]:
    """Yield the ways in which a two-hop question is not one."""
    if gold[0].device == gold[1].device:
        yield f"both documents are on {gold[0].device}"
    if not occurs(question.forms, gold[1].text):
        yield f"answer {question.answer!r} not in {gold[1].id}"
    for document in documents:
        if document.device == question.home and occurs(question.forms, document.text):
            yield f"answer {question.answer!r} is at home in {document.id}"


def _comparison_faults(question: Question, gold: Sequence[Document]) -> Iterator[str]:
    """Yield the faults of the answer to a comparison."""
    if question.answer in {"yes", "no"}:
        return
    if not occurs(question.forms, normalise(question.question)):
        yield f"answer {question.answer!r} not in the question"
    if not any(occurs(question.forms, document.text) for document in gold):
        yield f"answer {question.answer!r} not in {gold[0].id} or {gold[1].id}"


def _name_faults(path: Path) -> Iterator[str]:
    """Yield the faults of the list of public names."""
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        names = None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        yield "public names: not a list of names"
        return
    for before, after in pairwise(names):
        if before >= after:
            yield f"public names: {after!r} is out of order or repeated"


def main() -> int:
    """Print the counts and the problems of the shipped demo folder.

    Returns
    -------
    int
        The exit status: 1 if there are problems, otherwise 0.
    """
    root = Path(__file__).resolve().parent
    problems = check(root)
    documents = read_documents(root, [])
    questions = read_questions(root, [])
    for device in DEVICES:
        held = [document for document in documents if document.device == device]
        words = sum(len(document.body.split()) for document in held)
        kinds = Counter(question.kind for question in questions if question.home == device)
        counts = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)
        print(f"{device}: {len(held)} documents, {words} words; {counts}")
    totals = f"{len(documents)} documents, {len(questions)} questions"
    print(f"total: {totals}, {total_bytes(root)} bytes")
    for problem in problems:
        print(f"problem: {problem}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
