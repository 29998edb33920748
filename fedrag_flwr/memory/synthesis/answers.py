"""Answer candidates within a constituent: the span, its type, and the wh-phrases that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.amounts import Candidate, Mode, Wh, adjective_measure, amounts_of, counts_of, dates_of
from fedrag_flwr.memory.synthesis.classes import Classes, is_name_token, name_span, name_text, type_of_noun
from fedrag_flwr.memory.synthesis.denial import is_left_out
from fedrag_flwr.memory.synthesis.inflection import plural, singular
from fedrag_flwr.memory.synthesis.lexicon import (
    ADJECTIVE_MEASURES,
    COUNTRIES,
    LOCATIONS,
    NAMING_VERBS,
    PLACE_PREPOSITIONS,
    TIME_NOUNS,
    VAGUE_NOUNS,
)
from fedrag_flwr.memory.synthesis.measures import (
    is_date,
    is_year,
    measure_of,
    span_text,
    strip_article,
)
from fedrag_flwr.memory.synthesis.parts import Clause, Part, phrase_tokens

if TYPE_CHECKING:
    from spacy.tokens import Token

    from fedrag_flwr.memory.synthesis.mentions import Mentions


def candidates_of(part: Part, clause: Clause, mentions: Mentions, classes: Classes) -> list[Candidate]:
    """Find the answers that a constituent holds, the most useful first."""
    if part.head is None:
        return []
    if part.role == "complement":
        return list(_in_complement(part, clause, mentions, classes))
    found = list(_of_phrase(part.head, part.tokens, part, clause, mentions, classes))
    as_name = part.role == "attribute" or (part.prep is not None and part.prep.lower_ == "as")
    if clause.lemma in NAMING_VERBS and (as_name or (part.role == "object" and clause.passive)):
        of_person = _is_person(clause.subject, mentions, classes)
        mode: Mode = "strand" if part.prep is not None else "drop"
        title = clause.lemma == "name" and not name_span(part.head) and _name_before(part.head) is None
        named = clause.passive and not of_person and not title  # who is "named director" has no new name
        return [
            replace(
                item, type=item.type if of_person or not item.type else "NAME", whs=(Wh("What", mode),), named=named
            )
            for item in found[:1]
        ]
    if part.role in ("attribute", "object"):
        found.extend(_nested(part, clause, mentions, classes))
    return found


def _is_person(subject: Part, mentions: Mentions, classes: Classes) -> bool:
    head = subject.head
    return head is not None and "PERSON" in (type_of_noun(head.lemma_), classes.type_of(mentions.entity(head)))


def _of_phrase(
    head: Token, tokens: Sequence[Token], part: Part, clause: Clause, mentions: Mentions, classes: Classes
) -> Iterator[Candidate]:
    prep = part.prep
    noun_tokens = [token for token in tokens if (prep is None or token.i > prep.i)]
    if not noun_tokens or mentions.unresolved(head) or (head.pos_ == "PRON" and mentions.referent(head) is None):
        return
    gone = frozenset(token.i for token in noun_tokens)
    prep_index = prep.i if prep is not None else None
    if any(token.lower_ == "or" for token in noun_tokens) and any(token.like_num for token in noun_tokens):
        return  # "1900 or 1901"
    if is_date(noun_tokens):
        yield from dates_of(noun_tokens, gone, prep_index, prep)
        return
    measure = measure_of(noun_tokens)
    if measure is not None:
        yield from amounts_of(measure, noun_tokens, gone, part, clause)
        return
    referent = mentions.referent(head)
    if referent is not None and not referent.possessive:
        extra = [token for token in noun_tokens if not referent.start <= token.i < referent.end]
        if not extra:
            yield _named(_bare(referent.text), referent.text, gone, part, classes, single=True)
        return
    number = next((child for child in head.children if child.dep_ == "nummod" and child.i < head.i), None)
    if head.pos_ == "NOUN" and number is not None and not is_year(number):
        yield from counts_of(head, number, noun_tokens, gone, prep_index)
    yield from _nominal(head, noun_tokens, gone, part, classes)


def _bare(name: str) -> str:
    return name[4:] if name.startswith("the ") else name


def _nominal(
    head: Token, tokens: Sequence[Token], gone: frozenset[int], part: Part, classes: Classes
) -> Iterator[Candidate]:
    names = name_span(head)
    if names:
        joined = [token for token in head.conjuncts if token.i > head.i and token.i in gone]
        if joined:
            whole = strip_article(tokens)
            yield _listed(span_text(whole), name_text(names), gone, part, classes)
            return
        begin = min(names[0].i, tokens[0].i)
        kept = strip_article([token for token in tokens if token.i >= begin])
        lower_start = [token for token in kept if token.i < names[0].i and token.pos_ in ("NOUN", "ADJ")]
        class_noun = (
            singular(lower_start[-1].lower_)
            if lower_start and lower_start[-1].pos_ == "NOUN" and len(lower_start[-1]) > 2
            else ""
        )
        text = span_text([token for token in kept if token.i >= names[0].i]) if class_noun else span_text(kept)
        named = _named(text, name_text(names), gone, part, classes, class_noun=class_noun)
        yield replace(named, text=name_text(names)) if named.type == "PERSON" else named
        return
    if head.pos_ != "NOUN":
        return
    alias = _alias_of(head, gone)
    if alias is not None:
        yield _named(span_text(alias), span_text(alias), gone, part, classes, class_noun=head.lemma_.lower())
        return
    restrictive = next(
        (child for child in head.children if child.dep_ == "appos" and name_span(child) and child.i in gone), None
    )
    if restrictive is not None:
        inner = name_span(restrictive)
        yield _named(name_text(inner), name_text(inner), gone, part, classes, class_noun=head.lemma_.lower())
        return
    kept = strip_article(tokens)
    text = span_text(kept)
    compound = _name_before(head)
    if compound is not None and head.lemma_.lower() not in VAGUE_NOUNS:
        yield _named(text, text, gone, part, classes, class_noun=head.lemma_.lower() if len(head) > 2 else "")
        return
    if head.lemma_.lower() in VAGUE_NOUNS or head.lemma_.lower() in TIME_NOUNS or len(text) < 3:
        return
    if any(token.tag_ in ("VBD", "VBZ", "VBP") for token in kept):
        return
    if len(noun_tokens_of(tokens)) == 1 and head.lemma_ in ("place", "part", "care", "advantage", "use", "root", "off"):
        return  # "take place" is a verb
    person = type_of_noun(head.lemma_) == "PERSON"
    whs: list[Wh] = []
    if (
        part.prep is None
        or part.needed
        or person
        or part.role == "agent"
        or (part.prep.lower_ in ("with", "using", "as", "after") and not list(part.prep.lefts))
    ):
        whs.append(Wh("Who" if person else "What", "strand" if part.prep is not None else "drop", 0.75))
    if part.prep is not None and part.prep.lower_ in PLACE_PREPOSITIONS and head.lemma_.lower() in LOCATIONS:
        whs.append(Wh("Where", "drop", 0.75))
    called = next(
        (
            child
            for child in head.children
            if child.dep_ == "appos" and child.tag_ == "NN" and child.i > head.i and not is_left_out(child)
        ),
        None,
    )
    if called is not None and called.lemma_.lower() not in VAGUE_NOUNS:
        whs.append(Wh(f"Which {called.lower_}", "strand" if part.prep is not None else "drop", 0.9))
    modified = [child for child in head.lefts if child.dep_ in ("amod", "compound", "nmod") and child.i in gone]
    if modified and not person and (part.role == "object" or (part.role == "prep" and part.needed)):
        whs.append(Wh(f"What kind of {head.text.lower()}", "strand" if part.prep is not None else "drop", 0.6))
    yield Candidate(
        text,
        "PERSON" if person else "",
        gone,
        part.prep.i if part.prep is not None else None,
        tuple(whs),
        plural=head.tag_ == "NNS",
    )


def _name_before(head: Token) -> Token | None:
    """Find the name in "the Skylab space station": a proper noun with nothing but compounds up to the head."""
    for index in range(head.i - 1, max(head.i - 5, head.sent.start - 1), -1):
        token = head.doc[index]
        if token.head.i not in range(index + 1, head.i + 1) or token.dep_ not in ("compound", "nmod"):
            return None
        if is_name_token(token):
            return token
    return None


def noun_tokens_of(tokens: Sequence[Token]) -> list[Token]:
    """Drop prepositions and punctuation from a phrase's tokens."""
    return [token for token in tokens if token.pos_ not in ("ADP", "PUNCT")]


def _alias_of(head: Token, gone: frozenset[int]) -> list[Token] | None:
    """Find the name in "a rover called Pragyan"."""
    for child in head.children:
        if child.dep_ == "acl" and child.lemma_ in NAMING_VERBS and child.i in gone:
            inner = [
                item
                for item in child.subtree
                if item.dep_ in ("oprd", "dobj", "pobj", "attr", "appos") and name_span(item)
            ]
            if inner:
                return name_span(inner[0])
    return None


def _named(
    text: str,
    entity: str,
    gone: frozenset[int],
    part: Part,
    classes: Classes,
    *,
    class_noun: str = "",
    single: bool = False,
) -> Candidate:
    del single
    noun = class_noun or classes.of(entity)
    type_ = type_of_noun(noun) if noun else classes.type_of(entity)
    type_ = type_ or "NAME"
    country = entity.lower().removeprefix("the ") in COUNTRIES
    prep = part.prep.lower_ if part.prep is not None else ""
    plain_mode: Mode = "strand" if prep else "drop"
    whs: list[Wh] = []
    if type_ == "PERSON":
        whs.append(Wh("Who", plain_mode))
        if noun:
            whs.append(Wh(f"Which {noun}", plain_mode, 0.9))
    elif country:
        whs.extend(
            (Wh("Which country", plain_mode, 0.95), Wh("In which country", "drop", 0.9))
            if prep == "in"
            else (Wh("Which country", plain_mode, 0.95),)
        )
        type_ = "GPE"
    elif noun:
        whs.append(Wh(f"Which {noun}", plain_mode))
        if not prep:
            whs.append(Wh("Who" if type_ == "ORG" else "What", plain_mode, 0.8))
    elif type_ == "ORG":
        whs.append(Wh("Which organisation", plain_mode, 0.8))
        whs.append(Wh("Who", plain_mode, 0.9))
    elif type_ in ("GPE", "LOC"):
        whs.append(Wh("Which place" if type_ == "GPE" else "What", plain_mode, 0.8))
    else:
        whs.append(Wh("What", plain_mode, 0.9))
    if prep in PLACE_PREPOSITIONS and type_ in ("GPE", "LOC", "NAME", "ORG"):
        if prep == "from":
            whs.insert(0, Wh("Where", "strand"))
            whs.append(Wh("From where", "drop", 0.7))
        else:
            whs.insert(0, Wh("Where", "drop"))
    if noun and prep and type_ != "PERSON":
        whs.append(Wh(f"which {noun}", "front", 0.9))
    return Candidate(text, type_, gone, part.prep.i if part.prep is not None else None, tuple(whs), entity=entity)


def _listed(text: str, first: str, gone: frozenset[int], part: Part, classes: Classes) -> Candidate:
    noun = classes.of(first)
    type_ = type_of_noun(noun) if noun else classes.type_of(first)
    mode: Mode = "strand" if part.prep is not None else "drop"
    whs = [Wh("Who" if type_ == "PERSON" else "What", mode, 0.9)]
    if noun:
        whs.insert(0, Wh(f"Which {plural(noun)}", mode))
    if part.prep is not None and part.prep.lower_ in PLACE_PREPOSITIONS:
        whs.insert(0, Wh("Where", "drop", 0.9))
    return Candidate(
        text, type_ or "NAME", gone, part.prep.i if part.prep is not None else None, tuple(whs), plural=True
    )


def _nested(part: Part, clause: Clause, mentions: Mentions, classes: Classes) -> Iterator[Candidate]:
    """Names behind "of" within an object or attribute ("the largest moon of Saturn" -> "Saturn")."""
    head = part.head
    if head is None:
        return
    inside = {token.i for token in part.tokens}
    for prep in head.children:
        if prep.dep_ != "prep" or prep.i not in inside or prep.i < head.i or prep.lower_ != "of":
            continue
        for noun in prep.children:
            if noun.dep_ == "pobj" and noun.i in inside:
                inner = Part(
                    "prep", noun, (prep, *[token for token in phrase_tokens(noun) if token.i in inside]), prep=prep
                )
                for candidate in _of_phrase(noun, inner.tokens, inner, clause, mentions, classes):
                    if candidate.type and candidate.type not in ("QUANTITY",):
                        whs = tuple(
                            Wh(wh.phrase, "strand", wh.weight * 0.7) for wh in candidate.whs if wh.mode == "strand"
                        )[:1]
                        yield Candidate(
                            candidate.text, candidate.type, candidate.gone, candidate.prep, whs, candidate.entity
                        )


def _in_complement(part: Part, clause: Clause, mentions: Mentions, classes: Classes) -> Iterator[Candidate]:
    """Objects of an infinitive or adjective ("designed to study Jupiter"), and adjectives with a measure."""
    head = part.head
    if head is None:
        return
    inside = {token.i for token in part.tokens}
    amount = next((child for child in head.children if child.dep_ == "npadvmod"), None)
    if amount is not None and head.lower_ in ADJECTIVE_MEASURES:
        yield from adjective_measure(head)
        return
    for child in head.children:
        if child.i not in inside:
            continue
        if child.dep_ == "dobj":
            inner = Part("object", child, tuple(token for token in phrase_tokens(child) if token.i in inside))
            yield from _of_phrase(child, inner.tokens, inner, clause, mentions, classes)
        elif child.dep_ == "prep":
            for noun in child.children:
                if noun.dep_ == "pobj":
                    inner = Part(
                        "prep",
                        noun,
                        (child, *[token for token in phrase_tokens(noun) if token.i in inside]),
                        prep=child,
                    )
                    yield from _of_phrase(noun, inner.tokens, inner, clause, mentions, classes)
