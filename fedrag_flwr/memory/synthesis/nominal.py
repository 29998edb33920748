"""Questions from noun phrases: appositions, measured properties, and lists that the text itself gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import name_span, name_text, type_of_noun
from fedrag_flwr.memory.synthesis.denial import denied_noun, is_left_out
from fedrag_flwr.memory.synthesis.lexicon import NAMING_VERBS, VAGUE_NOUNS
from fedrag_flwr.memory.synthesis.measures import is_date, span_text, strip_article
from fedrag_flwr.memory.synthesis.parts import phrase_tokens
from fedrag_flwr.memory.synthesis.questions import Asker
from fedrag_flwr.memory.synthesis.stating import is_stated
from fedrag_flwr.memory.synthesis.wording import Asked

if TYPE_CHECKING:
    from spacy.tokens import Span, Token


def nominal_questions(sentence: Span, asker: Asker) -> Iterator[Asked]:
    """Make the questions of a sentence's noun phrases."""
    for token in sentence:
        if _is_denied(token):
            continue
        if token.dep_ == "appos":
            yield from _apposition(token, asker)
        if token.pos_ == "NOUN" and token.tag_ == "NNS":
            yield from _listing(token, asker)
        if token.pos_ == "NOUN" and token.dep_ in ("appos", "attr", "pobj"):
            yield from _placed(token, asker)
        if token.tag_ == "WP$":
            yield from _whose(token, asker)
        if token.dep_ == "acl" and token.lemma_ in NAMING_VERBS:
            yield from _naming(token, asker)


def _is_denied(token: Token) -> bool:
    """Whether a noun phrase is left out, or none, or what is said of it is not stated."""
    noun = token.head if token.dep_ in ("acl", "appos") or token.tag_ == "WP$" else token
    if is_left_out(token) or denied_noun(noun, phrase_tokens(noun)):
        return True
    governor = noun.head
    verb = governor if governor.pos_ in ("VERB", "AUX") and governor != noun else None
    return token.dep_ != "appos" and verb is not None and not is_stated(verb)


def _apposition(token: Token, asker: Asker) -> Iterator[Asked]:
    """Ask for a name by its apposition ("Saturn's largest moon, Titan"), and for the apposition by the name."""
    head = token.head
    name, described = (token, head) if name_span(token) and head.pos_ == "NOUN" else (head, token)
    if not name_span(name) or described.pos_ != "NOUN" or described.tag_ == "NNS":
        return
    names = name_span(name)
    above = described.head.head
    thing_of_people = type_of_noun(described.lemma_) != "PERSON" and type_of_noun(above.lemma_) == "PERSON"
    if name == token and described.dep_ == "pobj" and above.pos_ == "NOUN" and thing_of_people:
        described = above  # "the first crew of the Starliner capsule, Butch Wilmore and Suni Williams"
    entity = asker.mentions.entity(name)
    phrase = [item for item in phrase_tokens(described) if item not in names]
    text = asker.render(phrase, keep=entity)
    if not text or not phrase or described.lemma_ in VAGUE_NOUNS:
        return
    others = [other for other in name.conjuncts if other.i > name.i and name_span(other)]
    if others:
        if (name == token and phrase[0].lower_ in ("the", "its", "his", "her")) or any(
            item.dep_ == "poss" for item in phrase
        ):
            people = type_of_noun(described.lemma_) == "PERSON" or asker.classes.type_of(name_text(names)) == "PERSON"
            listed = span_text([item for member in [name, *others] for item in name_span(member)])
            be = "were" if sentence_is_past(token) else "are"
            yield Asked(
                f"{'Who' if people else 'What'} {be} {text}?", listed, "PERSON" if people else "NAME", 0.95, "set"
            )
        return
    person = type_of_noun(described.lemma_) == "PERSON" or asker.classes.type_of(entity) == "PERSON"
    be = "was" if sentence_is_past(token) else "is"
    who = "Who" if person else "What"
    bare = entity[4:] if entity.startswith("the ") else entity
    identifying = (
        phrase[0].lower_ == "the"
        or any(item.dep_ == "poss" for item in phrase)
        or any(item.tag_ == "JJS" for item in phrase)
    )
    if identifying and len(text.split()) >= 3:
        type_ = "PERSON" if person else asker.classes.type_of(entity)
        yield Asked(f"{who} {be} {text}?", bare, type_, 0.95)
    description = span_text(strip_article(phrase))
    if 2 <= len(description.split()) <= 8 and not identifying:
        yield Asked(f"{who} {be} {entity}?", description, "", 0.7)


def _placed(noun: Token, asker: Asker) -> Iterator[Asked]:
    """Ask where a described thing is ("a dark shadow in the galaxy M87" -> "In which galaxy is ...")."""
    for prep in noun.rights:
        if prep.dep_ != "prep" or prep.lower_ not in ("in", "at", "on", "near"):
            continue
        for place in prep.children:
            restrictive = [child for child in place.children if child.dep_ == "appos" and name_span(child)]
            named = place if name_span(place) else (restrictive[0] if restrictive and place.pos_ == "NOUN" else None)
            if place.dep_ != "pobj" or named is None:
                continue
            text = asker.render(phrase_tokens(noun, without=[prep]))
            answer = name_text(name_span(named))
            kind = place.lower_ if named is not place else asker.classes.of(answer)
            if not text or len(text.split()) < 2 or is_date(name_span(named)):
                continue
            be = (
                ("were" if noun.tag_ == "NNS" else "was")
                if sentence_is_past(noun)
                else ("are" if noun.tag_ == "NNS" else "is")
            )
            type_ = asker.classes.type_of(answer)
            yield Asked(f"Where {be} {text}?", answer, type_ if type_ != "PERSON" else "NAME", 0.6)
            if kind:
                yield Asked(
                    f"{prep.text.capitalize()} which {kind} {be} {text}?",
                    answer,
                    type_ if type_ != "PERSON" else "NAME",
                    0.8,
                )


def _whose(pronoun: Token, asker: Asker) -> Iterator[Asked]:
    """Ask for a property given by "whose" ("Mount Sharp, whose formal name is Aeolis Mons")."""
    noun, verb = pronoun.head, pronoun.head.head
    if noun.dep_ != "nsubj" or verb.lemma_ != "be" or verb.dep_ != "relcl":
        return
    owner = asker.render(phrase_tokens(verb.head))
    value = next((child for child in verb.children if child.dep_ == "attr"), None)
    text = asker.render([item for item in phrase_tokens(noun) if item != pronoun])
    if not owner or not text or value is None:
        return
    type_ = asker.classes.type_of(span_text(name_span(value))) if name_span(value) else ""
    yield Asked(
        f"What {verb.lower_} the {text} of {owner}?", span_text(strip_article(phrase_tokens(value))), type_, 0.9
    )


def _naming(verb: Token, asker: Asker) -> Iterator[Asked]:
    """Ask for the name in "photographed a storm named the Great Dark Spot"."""
    noun = verb.head
    value = next(
        (item for item in verb.subtree if item.dep_ in ("oprd", "dobj", "pobj", "attr") and name_span(item)), None
    )
    if noun.pos_ != "NOUN" or value is None:
        return
    text = asker.render(phrase_tokens(noun, without=[verb]))
    if not text:
        return
    text = re.sub(r"^(?:a|an) ", "the ", text)
    answer = name_text(name_span(value))
    governor = noun.head
    if noun.dep_ == "dobj" and governor.tag_ == "VBD":
        subject = next((child for child in governor.children if child.dep_ == "nsubj"), None)
        while subject is None and governor.dep_ == "conj":
            governor = governor.head
            subject = next((child for child in governor.children if child.dep_ == "nsubj"), None)
        doer = asker.render(phrase_tokens(subject)) if subject is not None else None
        if doer:
            yield Asked(f"What is the name of {text} that {doer} {noun.head.lower_}?", answer, "NAME", 1.0)
            return
    if asker.mentions.topic is not None and not re.search(r"[A-Z0-9]", text):
        text = f"{text} of {asker.mentions.topic.name}"
    yield Asked(f"What is the name of {text}?", answer, "NAME", 0.9)


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
    if (
        noun.dep_ != "dobj"
        or clause_subject is None
        or noun.head.lemma_ not in ("have", "carry", "include", "visit", "use", "discover", "find")
    ):
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
