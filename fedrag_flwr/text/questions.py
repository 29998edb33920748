"""What a question names and what kind of answer it expects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.facts import facts_between, typed_spans
from fedrag_flwr.text.lexicon import (
    AUXILIARIES,
    GENERIC,
    HEAD_ANSWERS,
    MEASURES,
    MONEY_UNITS,
    MONEY_VERBS,
    PERSON_SUFFIX,
    WH,
)
from fedrag_flwr.text.words import anchors_of, normalise_anchor

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_UNITS = re.compile(
    r"(?:kilo|centi|milli|mega|giga|tera)?(?:metre|meter|gram|tonne|ton|mile|foot|feet|inch|yard|watt|volt|byte|pixel|"
    r"second|minute|hour|day|week|month|year|degree|kelvin|litre|liter|light-year|pound|newton|acre|hectare|knot|decade)s?$"
)

_MATCHES = {
    "DATE": {"YEAR", "TIME"},
    "YEAR": {"DATE"},
    "GPE": {"LOC", "FAC", "NAME"},
    "LOC": {"GPE", "FAC", "NAME"},
    "ORG": {"NAME", "GPE", "NORP"},
    "PERSON": {"NAME"},
    "CARDINAL": {"QUANTITY"},
    "QUANTITY": {"CARDINAL"},
    "NAME": {"PRODUCT", "WORK_OF_ART", "EVENT", "FAC", "ORG", "PERSON", "LOC", "GPE", "LAW", "LANGUAGE", "NORP"},
}


def analyse_question(doc: Doc) -> QuestionAnalysis:
    """Give a parsed question's facts, anchors and expected answer type.

    Question words and nouns that name only the form of the answer ("name", "year", "kind") are no facts.
    """
    facts = tuple(
        fact
        for fact in facts_between(doc, typed_spans(doc), 0, len(doc))
        if fact.anchor not in GENERIC and not WH.intersection(fact.anchor.split())
    )
    return QuestionAnalysis(facts, anchors_of(facts), answer_type(doc), asked_noun(doc))


def asked_noun(doc: Doc) -> str:
    """Give the lemma of the noun that a question phrase asks for ("which rocket", "how many moons"), or ""."""
    for token in doc:
        word = token.text.casefold()
        if word in {"which", "what"} or (word == "many" and token.i and doc[token.i - 1].text.casefold() == "how"):
            return _noun_after(doc, token.i + 1)
    return ""


def _noun_after(doc: Doc, start: int) -> str:
    """Give the lemma of the last noun of the run of adjectives and nouns that begins here, or ""."""
    noun = ""
    for token in doc[start:]:
        if token.pos_ in {"NOUN", "PROPN"}:
            noun = token.lemma_.casefold()
        elif (
            noun
            or token.pos_ not in {"ADJ", "NUM", "ADV", "PUNCT", "VERB"}
            or token.tag_ not in {"JJ", "JJR", "JJS", "CD", "RB", "HYPH", "VBN"}
        ):
            break
    return noun


def answer_type(doc: Doc) -> str:
    """Tell the expected answer's type: a type of `text.base.QuestionAnalysis`, NAME, or "" when it stays open.

    NAME is a proper name of another kind: a spacecraft, a film, a prize.
    """
    words = [token.text.casefold() for token in doc]
    wh = _question_word(doc)
    if wh is None:
        lead = _lead(words)
        opens = any(0 <= i < len(doc) and words[i] in AUXILIARIES for i in (lead, _after_clause(words)))
        return "YESNO" if opens and not _is_choice(doc) else ""
    word = words[wh.i]
    if word == "how":
        return _how(doc, wh.i)
    if word in {"what", "which"}:
        return _head_type(doc, wh)
    return {"when": "DATE", "where": "GPE", "who": "PERSON", "whom": "PERSON", "whose": "PERSON"}.get(word, "")


def matches_type(expected: str, fact_type: str) -> bool:
    """Say whether a fact of a type can answer a question that expects another; an open question takes any fact."""
    return not expected or fact_type == expected or fact_type in _MATCHES.get(expected, set())


def _after_clause(words: list[str]) -> int:
    """Give the index after a leading clause ("In 1990, did ..."), or -1."""
    return words.index(",") + 1 if "," in words[:12] and words[0] not in WH else -1


def _is_choice(doc: Doc) -> bool:
    return any(token.text.casefold() == "or" and token.head.pos_ in {"PROPN", "NOUN", "NUM", "ADJ"} for token in doc)


def _lead(words: list[str]) -> int:
    """Give the index of the first word that is no punctuation."""
    return next((i for i, word in enumerate(words) if word[:1].isalnum()), 0)


def _question_word(doc: Doc) -> Token | None:
    """Find the word that asks, not a relative pronoun or a conjunction."""
    words = [token.text.casefold() for token in doc]
    lead = _lead(words)
    asking = [token for token in doc if words[token.i] in WH]
    if not asking or words[lead] in AUXILIARIES:
        return None
    for token in asking:
        if token.i - lead <= 2 and all(doc[i].pos_ in {"ADP", "ADV", "CCONJ", "SCONJ"} for i in range(lead, token.i)):
            return token
    after = _after_clause(words)
    if after >= 0:
        for token in asking:
            if after <= token.i <= after + 1:
                return token
        if after < len(words) and words[after] in AUXILIARIES:
            return next((token for token in asking if _asks_within(doc, token.i)), None)
    for token in reversed(asking):
        before = doc[token.i - 1]
        if words[token.i] in {"what", "which", "how"} and before.text not in {",", "that"}:
            return token
        if token.i + 2 >= len(doc) or before.pos_ == "ADP":
            return token
    return None


def _asks_within(doc: Doc, index: int) -> bool:
    """Whether a word asks in the middle of a statement: "It is a remake of a film released in which year?"."""
    if doc[index].text.casefold() not in {"what", "which"} or not 0 < index < len(doc) - 1:
        return False
    return doc[index - 1].tag_ in {"IN", "TO"} and (doc[index].dep_ == "det" or doc[index + 1].pos_ == "NOUN")


def _how(doc: Doc, index: int) -> str:
    after = doc[index + 1].text.casefold() if index + 1 < len(doc) else ""
    counted = doc[index + 2].lemma_.casefold() if index + 2 < len(doc) else ""
    if after == "many":
        if _UNITS.match(counted):
            return "QUANTITY"
        return "MONEY" if counted in MONEY_UNITS else "CARDINAL"
    if after == "much":
        lemmas = {token.lemma_.casefold() for token in doc[index:]}
        return "MONEY" if lemmas & MONEY_VERBS or counted in MONEY_UNITS else "QUANTITY"
    return "QUANTITY" if after in MEASURES else ""


def _head_type(doc: Doc, wh: Token) -> str:
    for noun in _head_nouns(doc, wh):
        word = normalise_anchor(noun.text)
        if word in HEAD_ANSWERS:
            return HEAD_ANSWERS[word]
        if PERSON_SUFFIX.match(word):
            return "PERSON"
        if word not in {"name", "title"}:  # "the name of the rocket": what follows tells
            return ""
    return ""


def _head_nouns(doc: Doc, wh: Token) -> list[Token]:
    """List the nouns that can name the answer, the likeliest first."""
    index = wh.i + 1
    if index >= len(doc):
        return []
    if doc[index].text.casefold() in {"is", "was", "are", "were", "'s", "’s", "of", "will", "has", "had"}:
        index += 1
    elif doc[index].pos_ in {"VERB", "AUX"}:
        return []
    nouns: list[Token] = []
    run: list[Token] = []
    for token in doc[index:]:
        lower = token.text.casefold()
        if token.pos_ in {"NOUN", "PROPN"} or (run and lower == "-"):
            run.append(token)
        elif run and token.tag_ == "POS":
            run = []  # "Jupiter's largest moon": the possessor does not tell
        elif run:
            nouns.append(run[-1])
            run = []
            if lower not in {"of", "for"} or nouns[-1].text.casefold() not in {"name", "names", "title"}:
                break
        elif token.pos_ in {"AUX", "VERB", "ADP"} and token.tag_ not in {"VBG", "VBN"} and lower not in {"of", "for"}:
            break
    if run:
        nouns.append(run[-1])
    return nouns
