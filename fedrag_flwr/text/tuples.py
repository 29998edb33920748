"""Evidence tuples by rules over the parse (HKVM-RAG eq. 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from fedrag_flwr.records import Cost, EvidenceTuple
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.facts import typed_spans
from fedrag_flwr.text.lexicon import DOUBTING
from fedrag_flwr.text.mentions import Mention, Mentions
from fedrag_flwr.text.segment import document_title

if TYPE_CHECKING:
    from spacy.tokens import Token


RULES = "tuples-2"
RESOLVED = 0.7  # how far a pronoun's or a class noun's referent is believed
HEDGED = 0.5  # how far a clause under "may", "reportedly" and the like is
BRIDGES = {"NAME": 1.0, "CONCEPT": 0.4, "DATE": 0.2}  # of an end, by the kind of its type
_NUMBERS = frozenset({"CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT", "TIME"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "oprd", "dative", "npadvmod"})
MODALS = frozenset({"may", "might", "could", "would", "should", "must"})
DENYING = frozenset({"never", "hardly", "barely", "neither"})
_CLAUSES = frozenset({"acl", "relcl"})
_PLACES = frozenset({"GPE", "LOC"})


@dataclass(frozen=True, slots=True)
class Relation:
    """Two mentions, the words between them, and whether the clause is hedged."""

    head: Mention
    words: str
    tail: Mention
    hedged: bool = False


class ParseExtractor:
    """Tuples by rule from the dependency parse that the text pipeline made.

    A verb joins its subject to each object, attribute and prepositional object; an apposition "is" its noun; a
    possessor "has" its noun; a noun's preposition joins it to that preposition's object. Conjuncts each make a tuple of
    their own; negated clauses make none. Third-person pronouns, and "the film" where the document defines its subject
    as a film, mean the document's title.

    Confidences are defined so:

    - `factual`: 1, times 0.7 for each end that was resolved from a pronoun or a class noun, times 0.5 where the clause
      is hedged ("may", "reportedly").
    - `salience`: half for an end that is the document's title, and half times how early the sentence comes in its
      passage (1 for the first, falling evenly towards 0).
    - `bridge`: the greatest over the ends that are not the title: 1 for a name, 0.4 for a concept, 0.2 for a date or
      year, 0 for an amount.
    """

    id = RULES
    cost = Cost()

    def extract(self, passages: Sequence[ParsedPassage]) -> list[EvidenceTuple]:
        """Give the tuples of one document's passages, in reading order, each once for a passage."""
        found: dict[tuple[str, str, str, str], EvidenceTuple] = {}
        classes: frozenset[str] = frozenset()
        for parsed in passages:
            title = document_title(parsed.passage.title)
            mentions = Mentions(parsed.doc, typed_spans(parsed.doc, title), title, classes)
            classes = mentions.classes
            for number, (start, end) in enumerate(parsed.spans):
                position = 1.0 - number / len(parsed.spans)
                for relation in _relations(parsed.doc[start:end], mentions):
                    one = evidence_tuple(relation, parsed.passage.id, position)
                    found.setdefault((one.passage_id, one.head, one.relation, one.tail), one)
        return list(found.values())


def evidence_tuple(relation: Relation, passage_id: str, position: float) -> EvidenceTuple:
    """A relation as a tuple, with the confidences that `ParseExtractor` defines.

    `position` is 1 for the first sentence of the passage, falling evenly towards 0.
    """
    ends = (relation.head, relation.tail)
    factual = HEDGED if relation.hedged else 1.0
    for end in ends:
        factual *= RESOLVED if end.resolved else 1.0
    salience = 0.5 * any(end.is_title for end in ends) + 0.5 * position
    bridge = max((_bridge(end) for end in ends if not end.is_title), default=0.0)
    return EvidenceTuple(relation.head.text, relation.words, relation.tail.text, passage_id, factual, salience, bridge)


def _bridge(end: Mention) -> float:
    if end.type in _NUMBERS:
        return 0.0
    return BRIDGES["DATE" if end.type in {"DATE", "YEAR"} else "CONCEPT" if end.type == "CONCEPT" else "NAME"]


def _relations(sentence: Iterable[Token], mentions: Mentions) -> Iterator[Relation]:
    for token in sentence:
        if token.pos_ in {"VERB", "AUX"} and token.dep_ not in {"aux", "auxpass"}:
            yield from _verbal(token, mentions)
        elif token.pos_ in {"NOUN", "PROPN", "NUM"}:
            yield from _nominal(token, mentions)


def _verbal(verb: Token, mentions: Mentions) -> Iterator[Relation]:
    if any(child.dep_ == "neg" or child.lower_ in DENYING for child in verb.children):
        return
    subjects = [mention for token in _subjects(verb) for mention in mentions.conjuncts(token)]
    hedged = any(
        (child.dep_ == "aux" and child.lower_ in MODALS) or child.lower_ in DOUBTING for child in verb.children
    )
    words = _verb_words(verb)
    for relation, token in _complements(verb):
        for head, tail in product(subjects, mentions.conjuncts(token)):
            if head.text != tail.text:
                yield Relation(head, f"{words} {relation}".strip(), tail, hedged)


def _subjects(verb: Token) -> list[Token]:
    """The subjects of a verb: its own, its antecedent's in a relative or reduced clause, its first conjunct's."""
    own = [child for child in verb.children if child.dep_ in _SUBJECTS]
    if own and own[0].tag_ not in {"WDT", "WP"}:
        return own
    if verb.dep_ in _CLAUSES:
        return [_described(verb.head)] if own or verb.tag_ in {"VBN", "VBG", "VBD"} else []
    if verb.dep_ in {"conj", "xcomp", "advcl"} and verb.head.pos_ in {"VERB", "AUX"}:
        return _subjects(verb.head)
    return []


def _described(noun: Token) -> Token:
    """What a noun says something of: the copula's subject for an attribute, the other noun for an apposition."""
    if noun.pos_ == "NOUN" and noun.dep_ == "attr" and noun.head.lemma_ == "be":
        return next((child for child in noun.head.children if child.dep_ in _SUBJECTS), noun)
    return noun.head if noun.pos_ == "NOUN" and noun.dep_ == "appos" else noun


def _complements(verb: Token) -> Iterator[tuple[str, Token]]:
    """What a verb joins to its subject: the words that its own do not hold yet, and the noun.

    A preposition's words hold the object before it: "took place on".
    """
    thing = ""
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            thing = f"{child.text} " if child.dep_ == "dobj" else thing
            yield "", child
        elif child.dep_ in {"prep", "agent"}:
            for noun in child.children:
                if noun.dep_ == "pobj":
                    yield f"{thing}{child.lower_}", noun
        elif child.dep_ == "acomp":
            for prep in child.children:
                for noun in prep.children:
                    if prep.dep_ == "prep" and noun.dep_ == "pobj":
                        yield f"{child.lower_} {prep.lower_}", noun


def _verb_words(verb: Token) -> str:
    helpers = [child.lower_ for child in verb.children if child.dep_ in {"aux", "auxpass"} and child.lower_ != "to"]
    particles = [child.lower_ for child in verb.children if child.dep_ == "prt"]
    reduced = verb.dep_ in _CLAUSES and verb.tag_ == "VBN" and not helpers
    return " ".join([*(["was"] if reduced else helpers), verb.lower_, *particles])


def _nominal(noun: Token, mentions: Mentions) -> Iterator[Relation]:
    own = mentions.of(noun)
    if own is None:
        return
    for child in noun.children:
        if child.dep_ in {"appos", "npadvmod"}:
            for tail in mentions.conjuncts(child):
                places = {own.type, tail.type} <= _PLACES  # "Rome, Italy"
                if places or child.dep_ == "appos":
                    yield from _apart(own, "in" if places else "is", tail)
        elif child.dep_ == "poss":
            for head in mentions.conjuncts(child):
                yield from _apart(head, "has", own)
        elif child.dep_ == "prep":
            yield from _prepositional(noun, own, child, mentions)


def _prepositional(noun: Token, own: Mention, prep: Token, mentions: Mentions) -> Iterator[Relation]:
    """A noun's phrase with its object; what "is a waterfall in Sri Lanka" says is said of the waterfall's name."""
    described = _described(noun)
    subject = mentions.of(described) if described != noun else None
    head, words = (subject, f"is {own.text} {prep.lower_}") if subject else (own, prep.lower_)
    for token in prep.children:
        if token.dep_ == "pobj":
            for tail in mentions.conjuncts(token):
                yield from _apart(head, words, tail)


def _apart(head: Mention, words: str, tail: Mention) -> Iterator[Relation]:
    if head.text != tail.text:
        yield Relation(head, words, tail)
