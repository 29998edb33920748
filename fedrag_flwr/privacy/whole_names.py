"""Whole names around a common given name: the family name behind it, or before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fedrag_flwr.privacy.given_names import ALSO_WORDS, GIVEN_NAMES, PARTICLES, TITLES
from fedrag_flwr.privacy.stop_words import STOP_WORDS

WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
NAME = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž])[^\W\d_]*(?:['’-][^\W\d_]+)*"
TOKEN = re.compile(rf"{WORD}\.?")
_NAME_TOKEN = re.compile(NAME)
_INITIAL = re.compile(r"(?:[A-Z]\.){1,3}|[A-Z]")
BY_GIVEN_NAME = "given-name"  # the rules
_FAMILY_FIRST = "family-first"  # "Lopez, Maria" and "LOPEZ Maria"
_TOLD_AFTER = re.compile(
    r"\s+(?:and|or|says?|said|asks|asked|tells|told|writes|wrote|explain(?:s|ed)|repl(?:ies|ied))\b"
)
_NAME_BEGINS = re.compile(
    r"(?:\A|[\n.!?:;|(\[\"“/=>-]\s{0,3}|\b(?:of|for|by|is|was|name|patient|pt|client|mother|father|re|dear|and|mrs?|ms|dr)\.?\s)\Z",
    re.IGNORECASE,
)
_OF = frozenset({"of", "for", "by", "and"})
_LONGEST_CUE = 10  # characters: "patient. "
_SHORTEST_CAPITALS = 4  # letters: "MRI Maria" tells no family name
_SAINTS = frozenset({"st", "saint", "san", "santa"})
_THING_WORDS = """
academy airport array award basin belt bridge building canyon cathedral center centre church city clinic college comet
company constant corporation county crater court craft day distribution effect equation expedition experiment explorer
family formation foundation fund gap group hall high hospital house inc institute institution island islands lab
laboratory lake lander law laws library limit ltd medal memorial method mission mountain mountains museum number
nebula observatory orbiter park particle peak planetarium point prize probe process program programme project
radiation ratio reserve river road rover satellite scale school sea sequence series spacecraft square station street
sphere symphony telescope test theorem theory tower trophy unit university valley war
"""
THINGS = frozenset(_THING_WORDS.split())


def whole_names(text: str, others: Sequence[str], things: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Find common given names, each with the capitalised word that follows; each form with the rule that found it.

    Parameters
    ----------
    text
        In mixed case.
    others
        Longer names of other things, within which nothing is a person's.
    things
        Names of other things as a recogniser reads them, in lower case; none of them is a family name behind "of".
    """
    tokens = list(TOKEN.finditer(text))
    for index, token in enumerate(tokens):
        first = bare(token[0])
        if first.split("-")[0].casefold() not in GIVEN_NAMES or not first[0].isupper():
            continue
        if index and bare(tokens[index - 1][0]).casefold() in _SAINTS:
            continue
        end, following = _family_name(text, tokens, index)
        if not following or all(word in GIVEN_NAMES for word in following):
            family = _family_before(text, tokens, index, things)
            if family:
                yield family, _FAMILY_FIRST
        whole = text[token.start() : end]
        if following and following[-1] in THINGS:
            continue
        if any(whole in other and len(other) > len(whole) for other in others):
            continue
        if len(following) > 0 or first.casefold() not in ALSO_WORDS:
            yield whole, BY_GIVEN_NAME


def _family_before(text: str, tokens: Sequence[re.Match[str]], index: int, things: frozenset[str]) -> str:
    """Find the family name before a given name: "Lopez, Maria", "van den Berg, Jan", "LOPEZ Maria".

    It stands where a sentence, a line or a field begins, or behind a word such as "patient"; a comma behind anything
    else ends what comes before ("Thanks to Ibuprofen, Anna slept"). "" where there is none.
    """
    if not index:
        return ""
    last, given = tokens[index - 1], tokens[index]
    word, between = last[0], text[last.end() : given.start()]
    lower = word.casefold()
    if not _NAME_TOKEN.fullmatch(word) or lower in STOP_WORDS | GIVEN_NAMES | THINGS | TITLES:
        return ""
    start = index - 1
    if re.fullmatch(r",[^\S\n]{0,2}", between):
        if _TOLD_AFTER.match(text, given.end()):  # "Protein, Maria says, ..."
            return ""
        particles = PARTICLES - {"of"}
        while start and tokens[start - 1][0].casefold() in particles and text[tokens[start - 1].end()] == " ":
            start -= 1
    elif not (between == " " and word.isupper() and len(word) >= _SHORTEST_CAPITALS and not given[0].isupper()):
        return ""
    if not _NAME_BEGINS.search(text[max(0, tokens[start].start() - _LONGEST_CUE) : tokens[start].start()]):
        return ""
    if lower in things and not word.isupper() and start and tokens[start - 1][0] in _OF:  # "the king of Spain, Philip"
        return ""
    return text[tokens[start].start() : last.end()]


def bare(word: str) -> str:
    """A word without the full stop or the possessive at its end."""
    return re.sub(r"['’][sS]?$", "", word.rstrip("."))


def _family_name(text: str, tokens: Sequence[re.Match[str]], index: int) -> tuple[int, list[str]]:
    """Follow a given name to the end of the family name, and one word further to see what it names."""
    end = tokens[index].start() + len(bare(tokens[index][0]))
    if end < tokens[index].end():
        return end, []
    following: list[str] = []
    for token in tokens[index + 1 : index + 5]:
        word = token[0]
        if not re.fullmatch(r"\s+", text[end : token.start()]) or "\n" in text[end : token.start()]:
            break
        lower = word.rstrip(".").casefold()
        if lower in PARTICLES or _INITIAL.fullmatch(word):
            end = token.end()
            continue
        if not _NAME_TOKEN.match(word) or lower in STOP_WORDS:
            break
        following.append(lower)
        if len(following) == 1:
            end = token.start() + len(bare(word))
        else:
            break
    if len(following) == 2 and following[1] not in THINGS:
        following.pop()
    return (end, following) if following else (tokens[index].start() + len(bare(tokens[index][0])), [])
