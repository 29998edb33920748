"""When two memories say the same, as far as words tell: the key of a statement, a question with its answer.

Questions that differ in one word may come as near as paraphrases do ("in 1923?" and "in 1924?", "before" and "after",
"Who defeated Germany?" and "Who was defeated by Germany?"). So a key holds what a question turns on beside its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from fedrag_flwr.text.inflection import inflections
from fedrag_flwr.text.lexicon import CONNECTORS, FUNCTION_WORDS, KIN, MONTHS, OPPOSED, by_word, words
from fedrag_flwr.text.words import number_of, told_words

# Words of which another in the same place asks the opposite, or something else.
_TURNING = words(
    "early late deeper deepest faster slower fastest slowest better worse best worst heavier lighter hotter colder "
    "wider narrower richer poorer stronger weaker same different both only "
    "not no never neither nor none without except unlike "
    "up down into out top bottom inner outer front back "
    "attack defend follow single double junior senior summer winter"
).union(*map(words, chain(KIN, *OPPOSED)))
_FAMILIES = by_word(  # words of one root that differ by more than an inflection
    {
        "win": "winner",
        "lose": "loser",
        "establish": "founded founder founding",  # "found" is of "find" as well
        "admit": "admission",
        "wed": "marry marriage wedding",
        "treat": "treatment",
        "close": "closure",
        "die": "dying",
        "mother": "mum mom",
        "father": "dad",
        "wife": "wives",
        "child": "children",
        "grandchild": "grandchildren",
        "not": "cannot",
    }
)
_ROOTS = {
    **{form: word for word in sorted(_TURNING) for form in (*inflections(word), f"{word}ing")},
    **{word: word for word in _TURNING},  # "left" is not only of "leave"
}
_INFLECTED = re.compile(r"(?<=\w{3})(?:ies|ed|ing|es|s|e|(?<=\w{4})y)$")
_DENIED = re.compile(r"(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should)nt")
_NAMES = re.compile(r"\[?[A-Z][\w'’.&-]*\]?(?: \[?[A-Z][\w'’.&-]*\]?)*")
_POSSESSIVE = re.compile(r"['’]s?\b|['’.]$")
_ASIDE = "whom|who|which|what|how|in|at|on|for|from|during|under|after|before|as|to|with|since|until|through|throughout"
_BY = re.compile(rf"\bby (?!(?:{_ASIDE})\b|\d)")  # "built by in 1924" names nobody
_ASKS_WHO = re.compile(r"(?:who|whom|what|which)\b(?! (?:year|date|day|month|decade|century|time)\b)", re.IGNORECASE)
_DOES = re.compile(r"\b(?:did|does|do) ")
_JOINED = re.compile(r"[A-Z][\w'’.-]*\]? (?:or|and) (?:the )?\[?[A-Z]")
_LISTING = re.compile(r"[,;](?!\d)|\b(and|or)\b")  # in "1,025" it lists nothing
_IN_NAMES = CONNECTORS | words("a an the")
_IN_DATES = MONTHS | words("of on in at am pm bc bce ad ce")


def holds(one: str, other: str) -> bool:
    """Whether an answer has all words of another in their order; of a date or a list, its numbers alone in theirs."""
    told, wanted = told_words(one), told_words(other)
    if not _in_turn(_digits(wanted), _digits(told)):
        return False
    if _is_date(wanted):
        return set(wanted) <= set(told)
    return _in_turn(wanted, told) or _holds_parts(_parts(one), _parts(other))


@lru_cache(maxsize=2**16)
def answer_key(answer: str) -> str:
    """The words of an answer, equal for answers that say the same: in their order, as who beat whom is told by it.

    Only dates and what a list lists may come in any order, if numbers keep theirs. A name does not list its parts:
    "Grace Kelly" and "Kelly, Grace" are two answers, for whoever may turn words round may turn round what they say.
    """
    parts = sorted(" ".join(part) for part in _parts(answer))
    return " ".join([" , ".join(parts), *_digits(told_words(answer))])


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
    root = _ROOTS.get(word, word)
    cut = _INFLECTED.sub("", _FAMILIES.get(root, root))
    return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls" else cut


_TURNING_STEMS = frozenset(map(_stem, _TURNING))


def _parts(answer: str) -> list[tuple[str, ...]]:
    """What an answer lists, "and" and "or" as well, each in its words, and those of a date sorted; else the whole."""
    listed = [part.strip() for part in _LISTING.split(answer) if part and part.strip()]
    whole = _is_date(told_words(answer)) or not all(map(_stands_alone, listed))
    said = map(told_words, [answer] if whole else listed)
    parts = (tuple(sorted(set(part)) if _is_date(part) else part) for part in said)
    return list(dict.fromkeys(filter(None, parts)))


def _stands_alone(part: str) -> bool:
    """Whether what stands between commas is one word or a name, and no sentence, which says more by its place."""
    said = [word for word in part.split() if word.casefold() not in _IN_NAMES]
    return len(said) < 2 or not any(word[0].islower() for word in said)


def _is_date(said: Iterable[str]) -> bool:
    return all(word in _IN_DATES or word[0].isdigit() for word in said)


def _holds_parts(told: list[tuple[str, ...]], wanted: list[tuple[str, ...]]) -> bool:
    """Whether each part that is wanted is within a part of its own that is told."""
    left = sorted(told, key=len)
    for part in sorted(wanted, key=len, reverse=True):
        place = next((one for one in left if _in_turn(part, one)), None)
        if place is None:
            return False
        left.remove(place)
    return True


def _in_turn(wanted: Iterable[str], told: Iterable[str]) -> bool:
    rest = iter(told)
    return all(word in rest for word in wanted)


def _digits(said: list[str]) -> list[str]:
    return [word for word in said if word.removeprefix("minus")[:1].isdigit()]
