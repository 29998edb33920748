"""The phrases of a question that describe a thing instead of naming it: where a second hop begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedrag_flwr.text.base import Description
from fedrag_flwr.text.lexicon import AUXILIARIES, GENERIC, is_person

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_CLAUSES = frozenset({"relcl", "acl"})
_HAVING = frozenset({"with", "from", "behind"})  # "the moon with the tiger stripes"
_ASKING = frozenset({"which", "what", "how"})
_COUNTED = _ASKING | {"many", "much"}
_BEGINS = frozenset({"DET", "ADJ", "NOUN", "PROPN", "PRON", "NUM"})
_BE = frozenset({"is", "are", "was", "were"})
_PREDICATE = frozenset({"VERB", "AUX", "ADP", "ADV", "PART", "NOUN", "ADJ", "PROPN"})
_MOST_CUT = 4  # words of the question's own predicate that a parse takes into a phrase


def descriptions(doc: Doc, asking: int | None = None) -> tuple[Description, ...]:
    """Give a question's descriptions: nouns with a relative clause, a participle, or what they have or belong to.

    "Which rocket launched *the probe that first visited Pluto*?", "Where was *the designer of the bridge* born?" A
    parser takes the question's own last words into such a phrase ("*the designer of the bridge born*"); where the
    question's auxiliary still waits for them, the phrase ends before them. One noun's longer phrases come first.
    What holds the word that asks, the token at `asking`, describes nothing: "... from *an opera created by who*?"
    """
    found = []
    for noun in doc:
        if not _is_described(doc, noun):
            continue
        start, ends = _extent(doc, noun)
        if asking is not None:
            ends = [end for end in ends if not _asks(doc, start, end, asking)]
        before = doc[:start].text_with_ws
        found += [Description(before, doc[start:end].text, doc[end:].text, noun.lemma_.casefold()) for end in ends]
    return tuple(found)


def _asks(doc: Doc, start: int, end: int, asking: int) -> bool:
    """Whether a phrase holds the word that asks, or ends in the preposition before it."""
    return start <= asking < end or (asking == end and doc[end - 1].pos_ == "ADP")


def _is_described(doc: Doc, noun: Token) -> bool:
    if noun.pos_ not in {"NOUN", "PROPN"} or (noun.i and doc[noun.i - 1].lower_ in _COUNTED):
        return False
    if noun.lemma_.casefold() in GENERIC and not is_person(noun.lemma_.casefold()):
        return False
    return any(child.i > noun.i and _describes(noun, child) for child in noun.children)


def _describes(noun: Token, child: Token) -> bool:
    if child.dep_ == "prep":
        return child.lower_ in _HAVING or (child.lower_ == "of" and is_person(noun.lemma_.casefold()))
    return child.dep_ in _CLAUSES


def _extent(doc: Doc, noun: Token) -> tuple[int, list[int]]:
    """The first token of a noun's phrase, and the likely tokens after its end."""
    places = [token.i for token in noun.subtree]
    start, end = min(places), max(places) + 1
    while start < noun.i and (doc[start].lower_ in _ASKING or doc[start].pos_ not in _BEGINS):
        start += 1
    last = len(doc) - 1
    while last and doc[last].is_punct:
        last -= 1
    if end <= last:
        return start, [end]
    waiting = _waiting_auxiliary(doc, start)
    if not waiting:
        return start, [last + 1, *_before_adverb(doc, noun.i + 2, last)]
    whole = waiting in _BE and not _follows_auxiliary(doc, start)
    return start, ([last + 1] if whole else []) + [_before_predicate(doc, noun.i + 2, last)]


def _waiting_auxiliary(doc: Doc, start: int) -> str:
    """The auxiliary before a phrase whose predicate has not come yet, or ""."""
    for token in reversed(doc[:start]):
        if token.lower_ in AUXILIARIES:
            return token.lower_
        if token.pos_ == "VERB":
            return ""
    return ""


def _follows_auxiliary(doc: Doc, start: int) -> bool:
    return start > 0 and doc[start - 1].lower_ in AUXILIARIES


def _before_adverb(doc: Doc, least: int, last: int) -> list[int]:
    """Where the question's own closing words may begin: "... that measured the stars | away from Earth"."""
    places = [i for i in range(least, last + 1) if doc[i].pos_ in {"ADP", "ADV"} and doc[i - 1].pos_ != "VERB"]
    return [i for i in places[-2:] if doc[i].lower_ != "of"]


def _before_predicate(doc: Doc, least: int, last: int) -> int:
    """Where the question's own predicate begins: at a verb among the last words, else at the last word."""
    for cut in range(last, max(last - _MOST_CUT, least), -1):
        if doc[cut].pos_ not in _PREDICATE:
            break
        if doc[cut].pos_ == "VERB":
            return cut
    return last
