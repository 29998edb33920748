"""Questions from noun phrases: appositions, measured properties, and lists that the text itself gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis_answers import span_text, strip_article
from fedrag_flwr.memory.synthesis_classes import name_span, name_text, type_of_noun
from fedrag_flwr.memory.synthesis_clauses import phrase_tokens
from fedrag_flwr.memory.synthesis_lexicon import VAGUE_NOUNS
from fedrag_flwr.memory.synthesis_questions import Asked, Asker

if TYPE_CHECKING:
    from spacy.tokens import Span, Token


def nominal_questions(sentence: Span, asker: Asker) -> Iterator[Asked]:
    """Make the questions of a sentence's noun phrases."""
    for token in sentence:
        if token.dep_ == "appos":
            yield from _apposition(token, asker)
        if token.pos_ == "NOUN" and token.tag_ == "NNS":
            yield from _listing(token, asker)


def _apposition(token: Token, asker: Asker) -> Iterator[Asked]:
    """Ask for a name by its apposition ("Saturn's largest moon, Titan"), and for the apposition by the name."""
    head = token.head
    name, described = (token, head) if name_span(token) and head.pos_ == "NOUN" else (head, token)
    if not name_span(name) or described.pos_ != "NOUN" or described.tag_ == "NNS":
        return
    names = name_span(name)
    entity = asker.mentions.entity(name)
    phrase = [item for item in phrase_tokens(described) if item not in names]
    text = asker.render(phrase, keep=entity)
    if not text or not phrase or described.lemma_ in VAGUE_NOUNS or any(child.dep_ == "conj" for child in name.children):
        return
    person = type_of_noun(described.lemma_) == "PERSON" or asker.classes.type_of(entity) == "PERSON"
    be = "was" if sentence_is_past(token) else "is"
    who = "Who" if person else "What"
    bare = entity[4:] if entity.startswith("the ") else entity
    identifying = phrase[0].lower_ == "the" or any(item.dep_ == "poss" for item in phrase) or any(item.tag_ == "JJS" for item in phrase)
    if identifying and len(text.split()) >= 3:
        type_ = "PERSON" if person else asker.classes.type_of(entity)
        yield Asked(f"{who} {be} {text}?", bare, type_, 0.95)
    description = span_text(strip_article(phrase))
    if 2 <= len(description.split()) <= 8 and not identifying:
        yield Asked(f"{who} {be} {entity}?", description, "", 0.7)


def sentence_is_past(token: Token) -> bool:
    """Whether the main verb of a token's sentence is in the past."""
    root = token.sent.root
    return root.tag_ == "VBD" or any(child.tag_ == "VBD" for child in root.children if child.dep_ in ("aux", "auxpass"))


def _listing(noun: Token, asker: Asker) -> Iterator[Asked]:
    """Ask for the members of a plural that the text lists ("two moons, Phobos and Deimos"; "moons such as ...")."""
    members = _members(noun)
    if len(members) < 2:
        return
    text = span_text([item for member in members for item in name_span(member)])
    clause_subject = next((child for child in noun.head.children if child.dep_ in ("nsubj",) and child != noun), None)
    if noun.dep_ != "dobj" or clause_subject is None or noun.head.lemma_ not in ("have", "carry", "include", "visit", "use", "discover", "find"):
        return
    subject = asker.render(phrase_tokens(clause_subject))
    if not subject:
        return
    modifiers = [item for item in phrase_tokens(noun) if item.i < noun.i and item.dep_ in ("amod", "compound", "nmod")]
    kind = " ".join([item.text for item in modifiers if item.head == noun] + [noun.text])
    past = noun.head.tag_ == "VBD"
    plural_subject = clause_subject.tag_ in ("NNS", "NNPS")
    helper = "did" if past else ("do" if plural_subject else "does")
    yield Asked(f"Which {kind} {helper} {subject} {noun.head.lemma_}?", text, "NAME", 1.0, "set")
    names = [name_text(name_span(member)) for member in members]
    if noun.head.lemma_ == "have":
        yield Asked(f"What are the names of the {kind} of {subject}?", text, "NAME", 0.9, "set")
    del names


def _members(noun: Token) -> list[Token]:
    """Find the names that a plural noun is spelt out by."""
    for child in noun.children:
        named = child.dep_ in ("appos", "conj") and child.i > noun.i and name_span(child)
        if named:
            return [child, *[other for other in child.conjuncts if other.i > child.i and name_span(other)]]
        if child.dep_ == "prep" and child.lower_ in ("as", "like", "including"):
            for member in child.children:
                if member.dep_ == "pobj" and name_span(member):
                    return [member, *[other for other in member.conjuncts if other.i > member.i and name_span(other)]]
    return []
