"""Checks of a candidate by itself and against its evidence: it is a question, and its answer stands in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.text.lexicon import words
from fedrag_flwr.text.words import spell_signs

MAX_QUESTION_WORDS = 40
MAX_ANSWER_WORDS = 12
_NAMES = r"[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*"
_LIST = re.compile(rf"{_NAMES}(?:, {_NAMES})*,? and {_NAMES}")
_TOKEN = re.compile(r"[^\W_]+(?:[.,](?=\d)[^\W_]+)*")
_NUMBERS = words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
STOP = words(
    "a an and are as at be been being by can could did do does for from had has have he her hers him his how i if in "
    "into is it its itself me my no not of on one or our she so some such than that the their them then there these "
    "they this those to too up us was we were what when where which while who whom whose why will with would you your "
    "many much long kind year name type called"
)


_DANGLING = re.compile(
    r"\b(?:[Tt]his|[Tt]hese|[Tt]hose)\b(?! (?:is|was|day)\b)|\b(?:we|you|my|our|your)\b|"
    r"\bthe (?:former|latter|above|following|text|passage|article|document|sentence|paragraph)\b"
)
_PRONOUNS = re.compile(r"\b(?:it|he|she|they|him|them|its|his|her|their)\b", re.IGNORECASE)
_FITS = [  # how a question begins, and the types of answer that it asks for
    (re.compile(f"^{begins}\\b", re.IGNORECASE), frozenset(types.split()))
    for begins, types in (
        (r"(?:in|since|until|by|from|during) (?:what|which) year", "YEAR DATE"),
        (
            r"(?:(?:since |until |by |from )?when|(?:on|in) (?:what|which) (?:date|day|decade|month|century))",
            "YEAR DATE TIME",
        ),
        (r"(?:in |on |to |by |for |with |from |at )?how many", "CARDINAL QUANTITY PERCENT MONEY DATE TIME"),
        (
            r"how (?:much|tall|far|long|wide|heavy|fast|old|deep|high|large|hot|often|thick|big|close)",
            "CARDINAL QUANTITY MONEY PERCENT DATE TIME",
        ),
        (r"(?:who|whom)", "PERSON ORG NAME GPE NORP"),
        (r"(?:from )?where", "GPE LOC FAC NAME ORG"),
    )
]


def verify(candidate: Candidate, texts: Sequence[str]) -> str | None:
    """Check a candidate by itself and against its support's texts, each under its title; None or why it is not kept.

    Returns
    -------
    str or None
        One of ``empty``, ``length``, ``no-question``, ``stop-words``, ``dangling``, ``unspecific``, ``gives-away``,
        ``type-mismatch``, ``not-in-evidence``.
    """
    if reason := _unsound(candidate):
        return reason
    return None if grounded(candidate, texts) else "not-in-evidence"


def _unsound(candidate: Candidate) -> str | None:
    """Check a candidate by itself alone, without its support; as :func:`verify`."""
    question, answer = normalise(candidate.question), normalise(candidate.answer)
    if not question or not answer:
        return "empty"
    words = question.split()
    if not 3 <= len(words) <= MAX_QUESTION_WORDS or len(answer.split()) > MAX_ANSWER_WORDS:
        return "length"
    if not candidate.question.rstrip().endswith("?"):
        return "no-question"
    if all(word in STOP for word in answer.split()) and answer not in _NUMBERS:
        return "stop-words"
    content = [word for word in words if word not in STOP]
    if not content:
        return "stop-words"
    if _DANGLING.search(candidate.question):
        return "dangling"
    named = re.search(r"(?<!^)\b[A-Z0-9]", candidate.question[1:]) is not None
    if not named and (_PRONOUNS.search(candidate.question) or len(content) < 3):
        return "unspecific"
    if len(content) < 2:
        return "unspecific"
    if says(candidate.question, candidate.answer):
        return "gives-away"
    return None if fits(candidate.question, candidate.answer_type) else "type-mismatch"


def says(question: str, name: str) -> bool:
    """Whether a question holds the words of a name, together."""
    return f" {normalise(name)} " in f" {normalise(question)} "


def fits(question: str, answer_type: str) -> bool:
    """Whether an answer's type is one that the question's wh-phrase asks for; an open type fits all but amounts."""
    for pattern, types in _FITS:
        if pattern.search(question):
            return answer_type in types or (not answer_type and "CARDINAL" not in types and "YEAR" not in types)
    return True


def normalise(text: str) -> str:
    """Bring text to lower-case words without articles and punctuation, signs spelt; "1,025" is "1025"."""
    words = _TOKEN.findall(spell_signs(text).replace("’", "'").lower().replace("'s ", " ").removesuffix("'s"))
    return " ".join(word.replace(",", "") for word in words if word not in ("a", "an", "the"))


def grounded(candidate: Candidate, texts: Sequence[str]) -> bool:
    """Whether the texts say the answer, or list all its parts."""
    evidence = f" {normalise(' . '.join(texts))} "
    parts = [candidate.answer]
    if candidate.kind == "set":
        parts = re.split(r",| and | & |;", candidate.answer)
    return all(f" {normalise(part)} " in evidence for part in parts if part.strip())


def listed(text: str) -> frozenset[str]:
    """The names that a text tells in lists of names, as those in "Nix, Hydra and Styx orbit Pluto"."""
    return frozenset(name for found in _LIST.finditer(text) for name in re.split(r",? and |, ", found[0]))
