"""When two memories say the same, as far as words tell: the key of a statement, a question with its answer.

Questions that differ in one word may come as near as paraphrases do ("in 1923?" and "in 1924?", "before" and "after",
"Who defeated Germany?" and "Who was defeated by Germany?"). So a key holds what a question turns on beside its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from fedrag_flwr.text.lexicon import FUNCTION_WORDS, by_word, words
from fedrag_flwr.text.numbers import number_of, told_words

# Words of which another in the same place asks the opposite, or something else; in all their inflections.
_TURNING = words(
    "first last next previous before after since until earlier later earliest latest early late older younger oldest "
    "youngest more less fewer most least longer shorter longest shortest larger smaller largest smallest bigger "
    "biggest higher lower highest lowest taller tallest deeper deepest faster slower fastest slowest better worse best "
    "worst heavier lighter hotter colder wider narrower richer poorer stronger weaker same different both only "
    "not no never neither nor none without except unlike "
    "north south east west northern southern eastern western left right up down into out inside outside above below "
    "over under upper top bottom inner outer front back "
    "increase decrease raise reduce rise fall grow shrink win lose buy sell import export enter leave arrive depart "
    "start end begin finish open close join dissolve attack defend cause prevent precede "
    "succeed follow predecessor successor maximum minimum positive negative male female man woman men women boy girl "
    "father mother son daughter brother sister husband wife parent child birth death born die single double junior "
    "senior summer winter"
)
_IRREGULAR = by_word(
    {
        "win": "won winner",
        "lose": "lost loser",
        "buy": "bought",
        "sell": "sold",
        "rise": "rose risen",
        "fall": "fell fallen",
        "grow": "grew grown",
        "shrink": "shrank",
        "begin": "began begun",
        "die": "died dying",
        "child": "children",
        "not": "cannot",
    }
)
_INFLECTED = re.compile(r"(?<=\w{3})(?:ies|ed|ing|es|s|e|(?<=\w{4})y)$")
_DENIED = re.compile(r"(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should)nt")
_NAMES = re.compile(r"\[?[A-Z][\w'’.&-]*\]?(?: \[?[A-Z][\w'’.&-]*\]?)*")
_POSSESSIVE = re.compile(r"['’]s?\b|['’.]$")
_ASIDE = "whom|who|which|what|how|in|at|on|for|from|during|under|after|before|as|to|with|since|until|through|throughout"
_BY = re.compile(rf"\bby (?!(?:{_ASIDE})\b|\d)")  # "built by in 1924" names nobody
_ASKS_WHO = re.compile(r"(?:who|whom|what|which)\b(?! (?:year|date|day|month|decade|century|time)\b)", re.IGNORECASE)
_DOES = re.compile(r"\b(?:did|does|do) ")
_JOINED = re.compile(r"[A-Z][\w'’.-]*\]? (?:or|and) (?:the )?\[?[A-Z]")


def holds(one: str, other: str) -> bool:
    """Whether an answer has all words of another, and its numbers in the same order."""
    told, wanted = told_words(one), told_words(other)
    numbers = iter(_digits(told))
    return set(wanted) <= set(told) and all(number in numbers for number in _digits(wanted))


@lru_cache(maxsize=2**16)
def answer_key(answer: str) -> str:
    """The words of an answer in one order, its numbers in their own: equal for answers that say the same."""
    said = told_words(answer)
    return " ".join([*sorted(set(said)), *_digits(said)])


@lru_cache(maxsize=2**16)
def statement_key(question: str, answer: str) -> str:
    """A key that is equal where a question and its answer may say the same: only then does nearness tell.

    It holds the answer's key; the question's numbers, and its words of comparison, direction and denial, both in their
    order; and who does and who suffers: whether what it names acts, and the order of its names where it has several.
    Yes or no is said of all words of a question, so there these are held in their order.
    """
    said = told_words(question)
    numbers = filter(None, map(number_of, said))
    stems = [_stem(word) for word in said]
    turning = (stem for stem in stems if stem in _TURNING_STEMS)
    parts = (answer_key(answer), " ".join(numbers), " ".join(turning), " ".join(_order(question, answer, said, stems)))
    return " | ".join(parts)


def _order(question: str, answer: str, said: list[str], stems: list[str]) -> Iterable[str]:
    """Who acts on whom in a question, as far as the order of its words tells."""
    closed = answer_key(answer) in ("yes", "no")
    by = bool(_BY.search(question))
    if closed:
        content = (stem for word, stem in zip(said, stems, strict=True) if _is_content(word))
        return (*content, "by" if by else "")
    does = _ASKS_WHO.match(question) is not None and _DOES.search(question) is not None
    named = names_of(question)
    if len(named) < 2:
        named = []
    elif _JOINED.search(question):
        named = sorted(named)  # "the Ossel or the Marl" offers the same as "the Marl or the Ossel"
    return (*named, "acting" if by or does else "")


def names_of(question: str) -> list[str]:
    """The names in a question in their order, in lower case; placeholders of names are names, too."""
    start = question.partition(" ")[0].strip("\"'(").casefold()
    body = question.partition(" ")[2] if start in FUNCTION_WORDS else question
    return [_POSSESSIVE.sub("", found.casefold().strip("[]")) for found in _NAMES.findall(body)]


@lru_cache(maxsize=2**16)
def _is_content(word: str) -> bool:
    return word not in FUNCTION_WORDS and not number_of(word) and not _DENIED.fullmatch(word)


@lru_cache(maxsize=2**16)
def _stem(word: str) -> str:
    """A word without its inflection; a shortened denial is "not"."""
    if _DENIED.fullmatch(word):
        return "not"
    word = _IRREGULAR.get(word, word)
    cut = _INFLECTED.sub("", word)
    return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls" else cut


_TURNING_STEMS = frozenset(map(_stem, _TURNING))


def _digits(said: list[str]) -> list[str]:
    return [word for word in said if word.removeprefix("minus")[:1].isdigit()]
