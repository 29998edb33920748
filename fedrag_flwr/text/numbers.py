"""The numbers that a text holds, in digits or in words: what is said of one year or place is not said of another."""

from __future__ import annotations

import re
from functools import lru_cache

from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.signs import spell_signs

_ENDING = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_SIGNED = re.compile(r"[a-z]{1,2}(?:plus|minus)")  # a group or a mark: "aplus"
_COUNTS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty"
)
_ORDINALS = (
    "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELT = (
    {word: str(place) for place, word in enumerate(_COUNTS.split(), 2)}
    | {word: str(place) for place, word in enumerate(_ORDINALS.split(), 2)}
    | {word: str(10 * place) for place, word in enumerate(_TENS.split(), 2)}
)


def told_words(text: str) -> list[str]:
    """The words of a text in the form in which they compare, with their signs."""
    return normalise_anchor(spell_signs(text)).split()


@lru_cache(maxsize=2**16)
def number_of(word: str) -> str:
    """The number that one of `told_words` is, or "": "35th" and "35" are one, and a name's ("m87") is told whole."""
    if _SIGNED.fullmatch(word) or any(sending.isdigit() for sending in word):
        return _ENDING.sub("", word)
    return _SPELT.get(word, "")


def numbers_in(text: str) -> list[str]:
    """The numbers of a text in their order; "one" and "first" are none, as what is told often leaves them out."""
    return [number for word in told_words(text) if (number := number_of(word))]
