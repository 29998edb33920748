"""On which sense of a thing a text turns: whether it denies, which of two opposites it tells, and whose kin it names.

Wordings that differ in one such word come as near to each other as paraphrases do, and name the same things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from fedrag_flwr.text.inflection import inflections
from fedrag_flwr.text.lexicon import FUNCTION_WORDS, GENERIC, KIN, OPPOSED, words
from fedrag_flwr.text.words import number_of, told_words

DENYING = words(
    "no not never none nobody nothing neither nor without except cannot hardly barely dont doesnt didnt isnt arent "
    "wasnt werent hasnt havent hadnt cant couldnt wont wouldnt shouldnt"
)


def _inflected(lemmas: str) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(inflections, words(lemmas))))


_OPPOSED_FORMS = tuple((_inflected(one), _inflected(other)) for one, other in OPPOSED)
_KIN_FORMS = {group.split()[0]: _inflected(group) for group in KIN}
_IDIOMS = re.compile(  # they deny nothing and end nothing
    r"\b(?:or not\b|not only\b|no\.|no (?=\d)|(?:at|how|comes?|came) close\b)", re.IGNORECASE
)
_FOUNDS = re.compile(r"\b((?:did|does|to)\b.*) found\b", re.IGNORECASE)  # elsewhere "found" is of "find"
_NAMES = re.compile(r"(?<=[\w,;'’] )[\"'(“‘]*[A-Z][a-z][\w'’-]*")
_IN_LOWER_CASE = re.compile(r"(?<!\S)[a-z]")


def denials(told: Iterable[str]) -> frozenset[str]:
    """Those of `told_words` that deny or except."""
    return DENYING.intersection(told)


def misses(question: str, told: str) -> str:
    """In which sense a question asks for something else than another one, near in its wording, or "".

    A question that tells both of two opposites does not say which of them it asks for, so it does not go with one that
    tells one of them. Kin must be named by both: what is told of a mother is not told of her son.

    Parameters
    ----------
    question
        The question that is asked.
    told
        The question to which the answer is known.
    """
    here, there = _words(question), _words(told)
    if bool(denials(here)) != bool(denials(there)):
        return f"{'no denial' if denials(there) else 'a denial'} is asked for"
    for pair in _OPPOSED_FORMS:
        asked, known = ([sorted(sense & text) for sense in pair] for text in (here, there))
        if any(asked) and any(known) and list(map(bool, asked)) != list(map(bool, known)):
            return f"it tells of {_and(known)}, of {_and(asked)} is asked"
    kin = [*_own_kin(question, told), *_own_kin(told, question)]
    return f"it does not tell of the same kin: {' and '.join(kin)}" if kin else ""


def content(text: str) -> frozenset[str]:
    """The words of a text that tell something of the things that it names."""
    return frozenset(word for word in _words(text) - FUNCTION_WORDS - GENERIC if not number_of(word))


@lru_cache(maxsize=2**14)
def _words(text: str) -> frozenset[str]:
    """The words of a text that are no names; one without lower case shows no names."""
    shown = _NAMES.sub("", text) if _IN_LOWER_CASE.search(text) else text
    return frozenset(told_words(_FOUNDS.sub(r"\1 founded", _IDIOMS.sub(" ", shown))))


def _own_kin(text: str, other: str) -> list[str]:
    """The kin that a text names and another does not, not even in a name ("Mother Teresa")."""
    named = [kin for kin, forms in _KIN_FORMS.items() if forms & _words(text)]
    told = set(told_words(other)) if named else set()
    return [kin for kin in named if told.isdisjoint(_KIN_FORMS[kin])]


def _and(groups: Iterable[Iterable[str]]) -> str:
    return " and ".join(word for group in groups for word in group)
