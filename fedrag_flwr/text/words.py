"""Words in the form in which they compare: lines, anchors (FD-RAG eq. 12), numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from fedrag_flwr.errors import SettingError
from fedrag_flwr.records import Fact

_BELOW_ZERO = re.compile(r"(?<![^\s(])(?<!\d\s)[-−–](?=\d)")
_SUSPENDED = r",? (?:and |or )?\w+-\w"  # "hepatitis B- or C-infected"
_GRADE = re.compile(rf"(?<![\w-])([A-Z]{{1,2}})([+−-])(?![\w+-]|{_SUSPENDED})")  # blood groups, marks, ions
_NAMES = {"+": "plus", "-": "minus", "−": "minus"}


def spell_signs(text: str) -> str:
    """Join the sign before a number, and that after one or two capitals, to it as a word: -5 is minus5, A+ is Aplus."""
    return _GRADE.sub(lambda found: found[1] + _NAMES[found[2]], _BELOW_ZERO.sub("minus", text))


_DROPPED = {"Cf", "Cc", "Cs", "Co"}
_SPACES = re.compile(r"[^\S\n]+")
_LINE_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")  # and what parts fields and records


def plain_breaks(text: str) -> str:
    """Every line break, page break and separator of fields as ``\\n``: dropped, they would join two words to one."""
    return _LINE_BREAKS.sub("\n", text)


_POWER = re.compile(r"(?<=\d)[⁺⁻]?[⁰¹²³⁴-⁹]+")
_FRACTION = re.compile(r"(\d?)([¼-¾⅐-⅞↉])")


def _plain_numbers(text: str) -> str:
    """Powers and fractions in plain characters, with their value: NFKC alone makes 10⁶ 106, and 2½ 21⁄2."""
    text = _POWER.sub(lambda found: "^" + unicodedata.normalize("NFKC", found[0]).replace("−", "-"), text)
    text = _FRACTION.sub(lambda found: f"{found[1]} " * bool(found[1]) + unicodedata.normalize("NFKC", found[2]), text)
    return re.sub(r"(?<=\d)⁄(?=\d)", "/", text)


def normalise_text(text: str) -> str:
    """Bring a text to NFKC without format characters, tabs or odd spaces; line breaks become ``\\n`` and are kept.

    A zero-width space or a full-width digit defeats recognisers and exact matching, so it goes before anything else.
    Powers and fractions keep their value: 10⁶ is 10^6, and 2½ is 2 1/2.
    """
    text = plain_breaks(text).replace("\t", " ")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _plain_numbers(text))
    kept = text
    if not text.replace("\n", "").isprintable():  # what is dropped is not, and few texts hold any
        kept = "".join(char for char in text if char == "\n" or unicodedata.category(char) not in _DROPPED)
    if not kept.isascii():  # dropping characters can bring a base letter and its accent together
        kept = unicodedata.normalize("NFKC", kept)
    return "\n".join(_SPACES.sub(" ", line).strip() for line in kept.split("\n")).strip("\n")


def normalise_line(text: str) -> str:
    """Bring a title or another one-line text to its normal form, without line breaks."""
    return " ".join(normalise_text(text).split())


def question_line(text: str) -> str:
    """A question as one line; raises SettingError where there is none."""
    line = normalise_line(text)
    if not line:
        raise SettingError("there is no question", where="question", fix="ask something")
    return line


_ACCENTS = re.compile(r"[\u0300-\u036f]")
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee"}
_MONEY = re.compile(r"(?:\b(?:us|a|c|nz|hk))?([$€£¥₹])\s?(\d[\d.]*(?: (?:thousand|million|billion|trillion)\b)?)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DOTTED = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,}(?!\w)")
_POSSESSIVE = re.compile(r"(?<=[^\W\d_])'s\b|(?<=s)'(?!\w)")
_ARTICLE = re.compile(r"(?:a|an|the)\s+(?=\S)")
_LETTERS = re.compile(r"(?<!\w)(?:[a-z] )+[a-z](?!\w)")
_SKIPPED = frozenset({"ORDINAL"})


def unaccented(text: str) -> str:
    """A text without the accents of its letters: "Café" is "Cafe"."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def normalise_anchor(text: str) -> str:
    """Bring a span of text to the form in which equal things are equal.

    Case, accents, articles, possessives, punctuation and spaces go; thousands separators go; ``$5`` is ``5 dollar``
    and ``5%`` is ``5 percent``; the last word loses a plural ending. Applied twice it changes nothing more.
    """
    for _ in range(8):
        once = _normalise(text)
        if once == text:
            break
        text = once
    return text


def anchors_of(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Give the sorted unique anchors of facts; ordinals are too common to be anchors."""
    return tuple(sorted({fact.anchor for fact in facts if fact.anchor and fact.type not in _SKIPPED}))


def _normalise(text: str) -> str:
    text = unaccented(normalise_line(text).casefold())
    text = text.replace("’", "'").replace("‘", "'").replace("`", "'")
    text = _THOUSANDS.sub("", text)
    text = _MONEY.sub(lambda found: f" {found[2]} {_CURRENCIES[found[1]]} ", text)
    text = re.sub(r"(?<=\d)\s?%", " percent", text).replace("per cent", "percent").replace("&", " and ")
    text = _DOTTED.sub(lambda found: found[0].replace(".", "") + " ", text)
    text = _POSSESSIVE.sub("", text)
    text = re.sub(r"(?<=\w)'(?=\w)", "", text)
    text = re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w.]|_", " ", text)
    text = " ".join(text.split())
    while article := _ARTICLE.match(text):
        text = text[article.end() :]
    text = _LETTERS.sub(lambda found: found[0].replace(" ", ""), text)
    head, space, last = text.rpartition(" ")
    return f"{head}{space}{_singular(last)}"


def _singular(word: str) -> str:
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


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
