"""What kinds of things the names of a document are, learnt from its own copulas, appositions and compounds."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.inflection import singular
from fedrag_flwr.memory.synthesis.lexicon import (
    COUNTRIES,
    ERAS,
    MONTHS,
    ORG_NOUNS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    RELATED_NOUNS,
    UNITS,
    VAGUE_NOUNS,
    words_of,
)
from fedrag_flwr.memory.synthesis.stating import is_said_to_be

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

CLASS_WORDS = (
    ORG_NOUNS | PLACE_NOUNS | frozenset().union(*RELATED_NOUNS) | {"belt", "desert", "glacier", "network", "prize"}
)
_PARTITIVES = words_of(
    "one member type kind series pair piece family set class collection innermost outermost largest smallest"
)
_SPANNING = frozenset(("WORK_OF_ART", "ORG", "LOC", "FAC", "PERSON", "EVENT"))
_LABEL_TYPES = {"PERSON": "PERSON", "ORG": "ORG", "GPE": "GPE", "LOC": "LOC", "FAC": "LOC"}


def plain(text: str) -> str:
    """Normalise a name for look-up: lower case, no leading article, no possessive ending."""
    words = text.replace("’", "'").lower().split()
    while words and words[0] in ("the", "a", "an"):
        words = words[1:]
    joined = " ".join(words)
    return joined[:-2].rstrip() if joined.endswith("'s") else joined


def is_name_token(token: Token) -> bool:
    """Whether a token can be part of a name: a proper noun, or a capitalised or numeric word beside one."""
    return token.pos_ == "PROPN" and token.lower_ not in MONTHS and token.lower_ not in UNITS and not is_era(token)


def is_era(token: Token) -> bool:
    """Whether a token is what follows, or goes before, a year: "753 BC", "AD 79"."""
    if token.text not in ERAS:
        return False
    beside = [token.nbor(step) for step in (-1, 1) if 0 <= token.i + step < len(token.doc)]
    return any(other.text[:1].isdigit() for other in beside)


_LONGEST_NAME = 40  # tokens to each side of its head; a list of initials has no end


def name_span(head: Token) -> list[Token]:
    """Give the tokens of the proper name that a noun phrase's head belongs to ([] when it has none)."""
    if not is_name_token(head):
        return []
    doc, left, right = head.doc, head.i, head.i
    sentence = head.sent
    start, end = max(sentence.start, left - _LONGEST_NAME), min(sentence.end, right + _LONGEST_NAME)
    if head.ent_type_ in _SPANNING:
        while left > start and doc[left].ent_iob_ == "I":
            left -= 1
        while right + 1 < end and doc[right + 1].ent_iob_ == "I":
            right += 1
        while left < head.i and not is_name_token(doc[left]):
            left += 1
    while left > start and _joins(doc[left - 1], head):
        left -= 1
    while right + 1 < end and _joins(doc[right + 1], head):
        right += 1
    if (
        head.ent_type_ != "PERSON"
        and right + 2 < end
        and doc[right + 1].lower_ == "of"
        and doc[right + 1].head in (head, doc[right])
    ):
        last = right + 2 + (doc[right + 2].lower_ == "the")
        if last < end and is_name_token(doc[last]):
            while last + 1 < end and is_name_token(doc[last + 1]) and doc[last].dep_ == "compound":
                last += 1
            right = last
    tokens = list(doc[left : right + 1])
    while tokens and tokens[0].is_punct:
        tokens = tokens[1:]
    while tokens and (tokens[-1].is_punct or tokens[-1].tag_ == "POS"):
        tokens = tokens[:-1]
    return tokens


def _joins(token: Token, head: Token) -> bool:
    near = token.head in (head, head.head) or token.head.head == head or token == head.head
    if token.dep_ in ("appos", "conj", "poss", "det", "nsubj", "dobj", "pobj") and token.head != head:
        return False
    if token.dep_ in ("appos", "conj", "poss", "det", "case"):
        return False
    if is_name_token(token):
        return near
    if token.like_num and token.text[0].isdigit() and token.i > head.i:
        return near
    return token.text in ("-", "–", "/") and near


def name_text(tokens: Sequence[Token]) -> str:
    """Join the tokens of a name as they stand in the text."""
    return "".join(token.text_with_ws for token in tokens).strip()


class Classes:
    """Class nouns ("spacecraft") and coarse types ("PERSON") of names, as one document tells them."""

    def __init__(self) -> None:
        self._votes: dict[str, Counter[str]] = defaultdict(Counter)
        self._labels: dict[str, Counter[str]] = defaultdict(Counter)
        self._weak: dict[str, Counter[str]] = defaultdict(Counter)
        self._settled: dict[str, str] = {}
        self._definite: set[str] = set()
        self._surnames: set[str] = set()

    def learn(self, docs: Iterable[Doc]) -> None:
        """Count the class nouns that texts give to names."""
        for doc in docs:
            for entity in doc.ents:
                if entity.label_ in _LABEL_TYPES:
                    key = plain(entity.text)
                    if entity.label_ == "ORG" and len(entity) == 1 and not entity.text.isupper():
                        continue  # one capitalised word: the model's guess for any name it does not know
                    self._labels[key][entity.label_] += 1
                    if entity.label_ == "PERSON" and " " in key and not any(char.isdigit() for char in key):
                        self._surnames.add(key.rsplit(" ", 1)[1])
                    if entity[0].lower_ == "the" or (entity.start > 0 and doc[entity.start - 1].lower_ == "the"):
                        self._definite.add(key)
            for token in doc:
                if token.pos_ in ("NOUN", "PROPN"):
                    self._learn_token(token)

    def vote(self, name: str, noun: str, weight: int = 1) -> None:
        """Record that a name is called by a class noun."""
        noun = singular(noun.lower())
        if noun not in VAGUE_NOUNS and noun.isalpha() and len(noun) > 2 and noun not in UNITS:
            self._votes[plain(name)][noun] += weight

    def settle(self, name: str, type_: str) -> None:
        """Record a name's type for certain."""
        self._settled[plain(name)] = type_

    def of(self, name: str) -> str:
        """Give a name's class noun, "" when none is known."""
        key = plain(name)
        votes = self._votes.get(key)
        if not votes and self._surname_of(key):
            full = sorted(name for name in self._votes if name.endswith(f" {key}"))
            votes = self._votes[full[0]] if len(full) == 1 else None
        if votes:
            return _commonest(votes)
        return class_in_name(key) or _commonest(self._weak.get(key, Counter()))

    def all_of(self, name: str) -> frozenset[str]:
        """Give every class noun that a name is called by."""
        return frozenset(self._votes.get(plain(name), ()))

    def type_of(self, name: str) -> str:
        """Give a name's type: PERSON, ORG, GPE, LOC, or NAME when it is something else or unknown."""
        key = plain(name)
        if key in self._settled:
            return self._settled[key]
        if key in COUNTRIES:
            return "GPE"
        noun = self.of(name)
        labels = self._labels.get(key)
        if noun:
            person = (
                labels is not None and labels["PERSON"] > 0 and " " in key and noun.endswith(("er", "or", "ist", "ian"))
            )
            return type_of_noun(noun) or ("PERSON" if person else "NAME")
        if labels:
            label = _commonest(labels)
            # one-word "persons" are mostly moons and spacecraft, unless a longer name ends in the word
            unsure = (label == "PERSON" and " " not in key) or (label in ("PERSON", "GPE") and key in self._definite)
            if not unsure or self._surname_of(key):
                return _LABEL_TYPES[label]
        elif self._surname_of(key):
            return "PERSON"
        return "NAME"

    def _surname_of(self, key: str) -> bool:
        return " " not in key and key in self._surnames

    def _learn_token(self, token: Token) -> None:
        name = name_span(token)
        if token.dep_ in ("nsubj",) and name and token.head.lemma_ == "be":
            for attribute in token.head.children:
                if attribute.dep_ in ("attr", "acomp"):
                    self._class_noun(name, attribute, 3)
        if name and token.dep_ == "conj" and token.head.like_num and token.head.head.dep_ == "prep":
            # "the asteroids X in 2008 and Y in 2010"
            for sibling in token.head.head.head.children:
                if sibling.dep_ == "dobj" and sibling.pos_ == "NOUN" and _plural(sibling):
                    self.vote(name_text(name), sibling.lemma_)
        if token.dep_ == "appos":
            other = token.head
            if name and other.pos_ == "NOUN" and not _plural(other):
                self._class_noun(name, other, 2)
            if not name and token.pos_ == "NOUN" and not _plural(token):
                owner = name_span(other)
                if owner:
                    self._class_noun(owner, token, 2)
        if token.pos_ == "NOUN" and not _plural(token):
            compound = [child for child in token.lefts if child.dep_ in ("compound", "nmod") and is_name_token(child)]
            direct = compound and compound[-1].i == token.i - 1
            if direct and not any(child.dep_ == "poss" for child in token.children):
                called = name_span(compound[-1]) or compound
                numbered = any(re.fullmatch(r"[IVX]+[A-Z]?|.*\d.*", part.text) for part in called)
                if numbered:
                    self.vote(name_text(called), token.lemma_)
                elif token.lemma_.lower() in CLASS_WORDS:  # "Venus probe" does not say that Venus is one
                    self._weak[plain(name_text(called))][token.lemma_.lower()] += 1
        if name and token.i > token.sent.start:
            first = name[0]
            before = first.nbor(-1) if first.i > token.sent.start else None
            beside = (
                before is not None
                and before.pos_ == "NOUN"
                and (before.head == token or before.head == token.head or token.head == before)
            )
            if before is not None and beside and first.dep_ != "nsubj":
                self.vote(name_text(name), before.lemma_, 2)

    def _class_noun(self, name: Sequence[Token], noun: Token, weight: int) -> None:
        head = class_head(noun)
        if head is not None and is_said_to_be(noun):
            self.vote(name_text(name), head.lemma_, weight)


def _commonest(counts: Counter[str]) -> str:
    return min(counts.items(), key=lambda pair: (-pair[1], pair[0]))[0] if counts else ""


def class_head(noun: Token) -> Token | None:
    """Give the class noun of an attribute or apposition: "one of the largest moons" is a moon."""
    partitive = noun.lemma_.lower() in _PARTITIVES or noun.pos_ in ("NUM", "ADJ") or noun.lemma_ in VAGUE_NOUNS
    if not partitive:
        return noun if noun.pos_ == "NOUN" else None
    inner = [pobj for prep in noun.children if prep.lower_ == "of" for pobj in prep.children if pobj.dep_ == "pobj"]
    return inner[0] if inner and inner[0].pos_ == "NOUN" else None


def class_in_name(key: str) -> str:
    """Give the class noun within a name: its last word, or the one before "of" ("bank of england")."""
    words = key.split()
    if len(words) < 2:
        return ""
    if words[-1] in ("industries", "corporation", "inc", "inc.", "ltd", "gmbh", "co.", "aerospace", "motors"):
        return "company"
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    return head if head in CLASS_WORDS and head not in VAGUE_NOUNS else ""


def type_of_noun(noun: str) -> str:
    """Give the type that a class noun implies: PERSON, ORG, LOC, or "" for other things."""
    noun = singular(noun.lower())
    if noun in PERSON_NOUNS:
        return "PERSON"
    if noun in ORG_NOUNS:
        return "ORG"
    if noun in PLACE_NOUNS:
        return "LOC"
    return ""


def _plural(token: Token) -> bool:
    return "Plur" in token.morph.get("Number", []) and token.lower_ not in ("spacecraft", "series")
