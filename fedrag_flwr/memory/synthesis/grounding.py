"""Whether evidence bears a draft's answer: it says it, or the answer follows from what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedrag_flwr.memory.synthesis.lexicon import words_of
from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.text.words import spell_signs

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
STOP = words_of(
    "a an and are as at be been being by can could did do does for from had has have he her hers him his how i if in "
    "into is it its itself me my no not of on one or our she so some such than that the their them then there these "
    "they this those to too up us was we were what when where which while who whom whose why will with would you your "
    "many much long kind year name type called"
)


def normalise(text: str) -> str:
    """Bring text to lower-case words without articles and punctuation, signs spelt; "1,025" is "1025"."""
    words = _TOKEN.findall(spell_signs(text).replace("’", "'").lower().replace("'s ", " ").removesuffix("'s"))
    return " ".join(word.replace(",", "") for word in words if word not in ("a", "an", "the"))


def grounded(draft: Draft, texts: Sequence[str]) -> bool:
    """Whether the texts say the answer, list all its parts, or let it be counted, subtracted or denied.

    Parameters
    ----------
    draft
        The draft; its kind says what may be derived.
    texts
        The texts of its support, each with its document's title in front.
    """
    answer, evidence = normalise(draft.answer), f" {normalise(' . '.join(texts))} "
    if draft.kind == "false-premise":
        return answer == "no" and has_false_premise(draft.question, texts)
    if f" {answer} " in evidence:
        return True
    if draft.kind == "set":
        parts = [normalise(part) for part in re.split(r",| and | & |;", draft.answer)]
        return all(f" {part} " in evidence for part in parts if part)
    if draft.kind not in _DERIVED:
        return False
    return answer in ("yes", "no") or _derivable(answer.split()[0], texts)


def is_of_kind(draft: Draft) -> bool:
    """Whether a question has the form of its kind; where it has not, it asks for a single fact."""
    if draft.kind == "set":
        return len(re.split(r",? and |, |; ", draft.answer)) > 1
    if draft.kind == "comparison":
        return _COMPARING.search(draft.question) is not None
    if draft.kind in ("aggregation", "post-processing"):
        return draft.question.startswith("How") and draft.answer_type in ("CARDINAL", "QUANTITY", "MONEY", "PERCENT")
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
