"""Checks of a candidate by itself and against its evidence: it is a question, and its answer stands in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.text.lexicon import words
from fedrag_flwr.text.words import spell_signs

MAX_QUESTION_WORDS = 40
MAX_ANSWER_WORDS = 12
_DERIVED = frozenset(("comparison", "aggregation", "post-processing", "false-premise"))
_NAMES = r"[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*"
_LIST = re.compile(rf"{_NAMES}(?:, {_NAMES})*,? and {_NAMES}")
_COMPARING = re.compile(r" or | than |\b(?:both|same|more|less|earlier|later|older|younger|larger|longer|higher)\b")
_TOKEN = re.compile(r"[^\W_]+(?:[.,](?=\d)[^\W_]+)*")
_STEM = 5  # first letters by which two forms of a word are taken for one
NUMBERS = tuple(
    re.findall(
        r"\w+",
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty",
    )
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
_FITS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (
        re.compile(r"^(?:in|since|until|by|from|during) (?:what|which) year\b", re.IGNORECASE),
        frozenset(("YEAR", "DATE")),
    ),
    (
        re.compile(
            r"^(?:since |until |by |from )?when\b|^(?:on|in) (?:what|which) (?:date|day|decade|month|century)\b",
            re.IGNORECASE,
        ),
        frozenset(("YEAR", "DATE", "TIME")),
    ),
    (
        re.compile(r"^(?:in |on |to |by |for |with |from |at )?how many\b", re.IGNORECASE),
        frozenset(("CARDINAL", "QUANTITY", "PERCENT", "MONEY", "DATE", "TIME")),
    ),
    (
        re.compile(
            r"^how (?:much|tall|far|long|wide|heavy|fast|old|deep|high|large|hot|often|thick|big|close)\b",
            re.IGNORECASE,
        ),
        frozenset(("CARDINAL", "QUANTITY", "MONEY", "PERCENT", "DATE", "TIME")),
    ),
    (re.compile(r"^(?:who|whom)\b", re.IGNORECASE), frozenset(("PERSON", "ORG", "NAME", "GPE", "NORP"))),
    (re.compile(r"^(?:from )?where\b", re.IGNORECASE), frozenset(("GPE", "LOC", "FAC", "NAME", "ORG"))),
)


def verify(candidate: Candidate, texts: Sequence[str]) -> str | None:
    """Check a candidate by itself and against its support; None when it may be kept, else the reason.

    Parameters
    ----------
    candidate
        The candidate.
    texts
        The texts of its support, each with its document's title in front.

    Returns
    -------
    str or None
        One of ``empty``, ``length``, ``no-question``, ``stop-words``, ``dangling``, ``unspecific``, ``gives-away``,
        ``no-alternative``, ``one-hop``, ``type-mismatch``, ``not-in-evidence``.
    """
    if reason := unsound(candidate):
        return reason
    if candidate.kind == "multi-hop" and len(texts) < 2:
        return "one-hop"
    return None if grounded(candidate, texts) else "not-in-evidence"


def unsound(candidate: Candidate) -> str | None:
    """Check a candidate by itself alone, without its support; as :func:`verify`."""
    question, answer = normalise(candidate.question), normalise(candidate.answer)
    if not question or not answer:
        return "empty"
    words = question.split()
    if not 3 <= len(words) <= MAX_QUESTION_WORDS or len(answer.split()) > MAX_ANSWER_WORDS:
        return "length"
    if not candidate.question.rstrip().endswith("?"):
        return "no-question"
    if all(word in STOP for word in answer.split()) and answer not in NUMBERS and answer not in ("yes", "no"):
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
    if reason := _told_wrongly(candidate, says(candidate.question, candidate.answer)):
        return reason
    return None if fits(candidate.question, candidate.answer_type) else "type-mismatch"


def says(question: str, name: str) -> bool:
    """Whether a question holds the words of a name, together."""
    return f" {normalise(name)} " in f" {normalise(question)} "


def _told_wrongly(candidate: Candidate, given: bool) -> str | None:
    """Why a question gives its answer away, or does not name it: only a choice between two must."""
    chooses = candidate.kind == "comparison" and " or " in candidate.question
    if normalise(candidate.answer) not in ("yes", "no") and given != chooses:
        return "gives-away" if given else "no-alternative"
    return None


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
    """Whether the texts say the answer, list all its parts, or let it be counted, subtracted or denied.

    Parameters
    ----------
    candidate
        The candidate; its kind says what may be derived.
    texts
        The texts of its support, each with its document's title in front.
    """
    answer, evidence = normalise(candidate.answer), f" {normalise(' . '.join(texts))} "
    if candidate.kind == "false-premise":
        return answer == "no" and has_false_premise(candidate.question, texts)
    if f" {answer} " in evidence:
        return True
    if candidate.kind == "set":
        parts = [normalise(part) for part in re.split(r",| and | & |;", candidate.answer)]
        return all(f" {part} " in evidence for part in parts if part)
    if candidate.kind not in _DERIVED:
        return False
    return answer in ("yes", "no") or _derivable(answer.split()[0], texts)


def is_of_kind(candidate: Candidate) -> bool:
    """Whether a question has the form of its kind; where it has not, it asks for a single fact."""
    if candidate.kind == "set":
        return len(re.split(r",? and |, |; ", candidate.answer)) > 1
    if candidate.kind == "comparison":
        return _COMPARING.search(candidate.question) is not None
    if candidate.kind in ("aggregation", "post-processing"):
        return candidate.question.startswith("How") and candidate.answer_type in (
            "CARDINAL",
            "QUANTITY",
            "MONEY",
            "PERCENT",
        )
    return True


def has_false_premise(question: str, texts: Sequence[str]) -> bool:
    """Whether a question is about what the texts tell, but for some word that they do not hold.

    A question all of whose words the texts hold may well be true, and one of which they hold less than half is about
    something else: of neither do they say that it is not so.
    """
    said = {word[:_STEM] for word in normalise(" . ".join(texts)).split()}
    words = {word[:_STEM] for word in normalise(question).split() if word not in STOP}
    return 2 * len(words & said) >= len(words) > len(words & said)


def name_list(text: str) -> list[str]:
    """The names of a text that is nothing but a list of names ("Nix, Hydra and Styx"); else none."""
    return re.split(r",? and |, ", text) if _LIST.fullmatch(text) else []


def _derivable(number: str, texts: Sequence[str]) -> bool:
    """Whether a number is a count of names that the texts list, or the years between two of their dates."""
    value = NUMBERS.index(number) if number in NUMBERS else int(number) if number.isdecimal() else -1
    if value < 1:
        return False
    text = " ".join(texts)
    lists = [len(name_list(found[0])) for found in _LIST.finditer(text)]
    years = [int(year) for year in re.findall(r"\b[12]\d{3}\b", text)]
    return value in lists or any(abs(first - second) == value for first in years for second in years)
