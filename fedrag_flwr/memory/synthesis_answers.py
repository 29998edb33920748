"""Answer candidates within a constituent: the span, its type, and the wh-phrases that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from fedrag_flwr.memory.synthesis_classes import Classes, is_name_token, name_span, name_text, type_of_noun
from fedrag_flwr.memory.synthesis_clauses import Clause, Part, phrase_tokens
from fedrag_flwr.memory.synthesis_inflection import plural
from fedrag_flwr.memory.synthesis_lexicon import (
    ADJECTIVE_MEASURES,
    COST_VERBS,
    COUNTRIES,
    DURATION_VERBS,
    LOCATIONS,
    MEASURE_ADJECTIVES,
    MONTHS,
    NAMING_VERBS,
    PLACE_PREPOSITIONS,
    TIME_NOUNS,
    UNITS,
    VAGUE_NOUNS,
    WEIGHT_VERBS,
)

if TYPE_CHECKING:
    from spacy.tokens import Token

    from fedrag_flwr.memory.synthesis_topic import Mentions

Mode = Literal["drop", "strand", "front", "whole"]
_APPROXIMATE = frozenset("about around roughly approximately some only just".split())
_DETERMINERS = frozenset(("the", "a", "an", "its", "his", "her", "their", "this", "these", "that", "those"))
_NOUN_DIMENSION = {"length": "long", "mass": "heavy", "time": "long", "speed": "fast", "temperature": "hot"}


@dataclass(frozen=True, slots=True)
class Wh:
    """A wh-phrase, what becomes of the preposition before the answer, and how much we like it.

    ``drop`` leaves the preposition out, ``strand`` keeps it at its place, ``front`` moves it before the wh-phrase.
    """

    phrase: str
    mode: Mode = "drop"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer span with its type, the tokens that its wh-phrase replaces, and the wh-phrases."""

    text: str
    type: str
    gone: frozenset[int]
    prep: int | None
    whs: tuple[Wh, ...]
    entity: str = ""
    plural: bool = False
    dimension: str = ""
    measured: str = ""
    named: bool = False


def candidates_of(part: Part, clause: Clause, mentions: Mentions, classes: Classes) -> list[Candidate]:
    """Find the answers that a constituent holds, the most useful first."""
    if part.head is None:
        return []
    if part.role == "complement":
        return list(_in_complement(part, clause, mentions, classes))
    found = list(_of_phrase(part.head, part.tokens, part, clause, mentions, classes))
    if clause.lemma in NAMING_VERBS and (part.role == "attribute" or part.prep is not None and part.prep.lower_ == "as"):
        mode: Mode = "strand" if part.prep is not None else "drop"
        return [replace(item, whs=(Wh("What", mode),), named=True) for item in found[:1]]
    if clause.lemma in NAMING_VERBS and part.role == "object" and clause.passive:
        return [replace(item, whs=(Wh("What"),), named=True) for item in found[:1]]
    if part.role in ("attribute", "object"):
        found.extend(_nested(part, clause, mentions, classes))
    return found


def is_date(tokens: Sequence[Token]) -> bool:
    """Whether tokens are a calendar date or a year."""
    has_month = any(token.lower_ in MONTHS and token.text[:1].isupper() for token in tokens)
    years = [token for token in tokens if is_year(token)]
    names = [token for token in tokens if is_name_token(token)]
    return (has_month and any(token.text[:1].isdigit() for token in tokens) or bool(years)) and not names


def is_year(token: Token) -> bool:
    """Whether a token is a year number, or a decade ("1990s")."""
    text = token.text.rstrip("s")
    if len(text) != 4 or not text.isdigit() or not 1000 <= int(text) <= 2100:
        return False
    following = token.nbor(1) if token.i + 1 < len(token.doc) else None
    return following is None or singular_unit(following) == "" or token.ent_type_ == "DATE"


def singular_unit(token: Token) -> str:
    """Give the dimension that a unit token measures, "" when it is no unit."""
    lowered = token.lower_
    return UNITS.get(lowered) or UNITS.get(lowered.rstrip("s")) or UNITS.get(token.lemma_.lower()) or ""


def strip_article(tokens: Sequence[Token]) -> list[Token]:
    """Drop leading determiners, possessive pronouns and words of approximation."""
    kept = list(tokens)
    while len(kept) > 1 and (kept[0].lower_ in _DETERMINERS or kept[0].lower_ in _APPROXIMATE):
        kept.pop(0)
    return kept


def span_text(tokens: Sequence[Token]) -> str:
    """Give the exact text from the first to the last token."""
    if not tokens:
        return ""
    doc = tokens[0].doc
    return str(doc[tokens[0].i : tokens[-1].i + 1].text).strip()


def _of_phrase(
    head: Token, tokens: Sequence[Token], part: Part, clause: Clause, mentions: Mentions, classes: Classes
) -> Iterator[Candidate]:
    prep = part.prep
    noun_tokens = [token for token in tokens if (prep is None or token.i > prep.i)]
    if not noun_tokens or head.pos_ == "PRON" and mentions.referent(head) is None:
        return
    gone = frozenset(token.i for token in noun_tokens)
    prep_index = prep.i if prep is not None else None
    if is_date(noun_tokens):
        yield from _date(noun_tokens, gone, prep_index, prep)
        return
    measure = _measure_of(noun_tokens)
    if measure is not None:
        yield from _measures(measure, noun_tokens, gone, part, clause)
        return
    referent = mentions.referent(head)
    if referent is not None and not referent.possessive:
        extra = [token for token in noun_tokens if not referent.start <= token.i < referent.end]
        if not extra:
            yield _named(_bare(referent.text), referent.text, gone, part, classes, single=True)
        return
    number = next((child for child in head.children if child.dep_ == "nummod" and child.i < head.i), None)
    if head.pos_ == "NOUN" and number is not None and not is_year(number):
        yield from _count(head, number, noun_tokens, gone, prep_index)
    yield from _nominal(head, noun_tokens, gone, part, classes)


def _bare(name: str) -> str:
    return name[4:] if name.startswith("the ") else name


def _date(tokens: Sequence[Token], gone: frozenset[int], prep: int | None, word: Token | None) -> Iterator[Candidate]:
    kept = _calendar(strip_article(tokens))
    if not kept:
        return
    years = [token for token in kept if is_year(token)]
    text = span_text(kept)
    if word is None:
        yield Candidate(text, "DATE", gone, prep, (Wh("Which date", "drop", 0.7),))
        return
    if word is not None and word.lower_ in ("since", "until", "from", "to", "by", "before", "after", "between", "during"):
        whs: tuple[Wh, ...] = (Wh(f"{word.lower_.capitalize()} when", "drop", 0.9),) if word.lower_ in ("since", "until") else (Wh("When", "drop", 0.6),)
        if word.lower_ in ("between", "before", "after"):
            return
        yield Candidate(text, "DATE", gone, prep, whs)
        return
    if len(kept) == 1 and years:
        decade = text.endswith("s")
        phrases = (Wh("When"), Wh("In which decade", "drop", 0.8)) if decade else (Wh("When"), Wh("In what year", "drop", 1.0))
        yield Candidate(text, "DATE" if decade else "YEAR", gone, prep, phrases)
        return
    yield Candidate(text, "DATE", gone, prep, (Wh("When"), Wh("On what date", "drop", 0.7)))
    if years:
        yield Candidate(years[-1].text, "YEAR", gone, prep, (Wh("In what year", "drop", 0.9),))


def _calendar(tokens: Sequence[Token]) -> list[Token]:
    """Keep the run of tokens that belongs to a date."""
    kept: list[Token] = []
    for token in tokens:
        fits = token.lower_ in MONTHS or token.text[:1].isdigit() or token.text in (",", "–", "-", "'s") or token.lower_ in (
            "early", "late", "mid", "spring", "summer", "autumn", "winter", "to", "and", "of", "century", "christmas", "day", "mid-"
        )
        if fits or (not kept and token.pos_ in ("ADJ", "NOUN")):
            kept.append(token)
        else:
            break
    while kept and (kept[-1].is_punct or kept[-1].lower_ in ("and", "to", "of")):
        kept.pop()
    return kept if any(token.text[:1].isdigit() for token in kept) else []


def _measure_of(tokens: Sequence[Token]) -> tuple[str, list[Token], str] | None:
    """Find "number unit" at the end of a phrase, or behind "of": dimension, tokens and the noun that it measures."""
    for position, token in enumerate(tokens):
        dimension = singular_unit(token)
        if not dimension or position == 0:
            continue
        start = position
        while start > 0 and (
            tokens[start - 1].like_num
            or tokens[start - 1].text[:1].isdigit()
            or tokens[start - 1].lower_ in ("and", "a", "half", "cubic", "square", "metric", "light", "per", "-", "astronomical", "solar", "earth", "sidereal", "million", "billion", "to", "–", "$", "us$")
            or tokens[start - 1].lower_ in _APPROXIMATE | {"nearly", "almost", "over", "than", "more", "less"}
        ):
            start -= 1
        number = [item for item in tokens[start : position + 1] if item.like_num or item.text[:1].isdigit() or item.lower_ in ("half",)]
        if not number:
            continue
        before = list(tokens[:start])
        end = position + 1
        while end < len(tokens) and (tokens[end].lower_ in ("per", "/", "an", "a", "second", "hour", "square", "celsius", "fahrenheit", "c") or singular_unit(tokens[end])) and end - position <= 3:
            end += 1
        inner = strip_article(tokens[start:end])
        if not before or all(item.lower_ in _DETERMINERS for item in before):
            return dimension, inner, ""
        if before[-1].lower_ == "of":
            noun = next((item for item in reversed(before[:-1]) if item.pos_ == "NOUN"), None)
            if noun is not None and noun.lemma_ not in VAGUE_NOUNS:
                modifiers = [item.text for item in before if item.i < noun.i and item.head == noun and item.dep_ in ("amod", "compound", "poss") and item.dep_ != "poss"]
                return dimension, inner, " ".join([*modifiers, noun.text])
        return None
    return None


def _measures(
    measure: tuple[str, list[Token], str], tokens: Sequence[Token], gone: frozenset[int], part: Part, clause: Clause
) -> Iterator[Candidate]:
    dimension, inner, noun = measure
    text = span_text(inner)
    type_ = {"money": "MONEY", "percent": "PERCENT"}.get(dimension, "QUANTITY")
    prep = part.prep
    index = prep.i if prep is not None else None
    unit = next((token for token in inner if singular_unit(token)), inner[-1])
    unit_text = unit.lower_ if unit.lower_.endswith("s") or len(unit) < 4 else plural(unit.lower_)
    whs: list[Wh] = []
    substance = next((child for child in unit.children if child.dep_ == "prep" and child.lower_ == "of" and child.i in gone), None)
    if substance is not None:
        inside = [token for token in tokens if token.i > substance.i]
        made = strip_article(inside)
        whs.append(Wh(f"How many {unit_text} of {span_text(inside)}", "front" if prep is not None else "drop"))
        if made:
            yield Candidate(
                span_text(made), "", frozenset(gone), index, (Wh("What", "strand" if prep is not None else "drop", 0.9),)
            )
    elif noun:
        whs.append(Wh(f"What {noun}", "front" if prep is not None else "drop", 0.9))
    elif dimension == "money":
        whs.append(Wh("How much", "strand" if prep is not None else "drop"))
    elif dimension == "percent":
        whs.append(Wh("What percentage", "drop", 0.7))
    elif clause.lemma in WEIGHT_VERBS:
        whs.append(Wh("How much"))
    elif clause.lemma in COST_VERBS:
        whs.append(Wh("How much"))
    elif dimension == "time":
        if prep is not None and prep.lower_ in ("for", "over", "in", "within", "during") or clause.lemma in DURATION_VERBS:
            whs.append(Wh("How long"))
        elif tokens[0].lower_ == "every":
            whs.append(Wh("How often"))
        elif prep is not None and prep.lower_ == "after":
            whs.append(Wh("After how long"))
        if clause.lemma in DURATION_VERBS or prep is not None and prep.lower_ in ("for", "over"):
            whs.append(Wh(f"How many {unit_text}", "drop", 0.8))
    elif dimension == "length" and any(other.prep is not None and other.prep.lower_ in ("from", "of", "to", "above") for other in clause.parts):
        whs.append(Wh("How far"))
        whs.append(Wh(f"How many {unit_text}", "drop", 0.7))
    elif prep is not None and prep.lower_ == "at" and dimension == "speed":
        whs.append(Wh("How fast"))
    elif prep is None:
        if dimension in ("length", "speed"):
            whs.append(Wh({"length": "How far", "speed": "How fast"}[dimension], "drop", 0.6))
        if clause.lemma != "be":
            whs.append(Wh(f"How many {unit_text}", "drop", 0.8))
    if part.role in ("attribute",) and clause.lemma == "be":
        whs.append(Wh("What"))
    yield Candidate(text, type_, gone, index, tuple(whs), dimension=dimension, measured=noun)


def _count(
    head: Token, number: Token, tokens: Sequence[Token], gone: frozenset[int], prep: int | None
) -> Iterator[Candidate]:
    count = [token for token in tokens if token == number or token.head == number or (token.head.head == number and token.i < head.i)]
    counted = [token for token in tokens if token.i > number.i and token not in count]
    cut = next((place for place, token in enumerate(counted) if token.text in (",", "(", ":")), len(counted))
    counted = [token for token in counted[:cut] if token.head == head or token == head or token.i > head.i or token.head.head == head]
    if len(counted) > 6:
        counted = [token for token in counted if token.i <= head.i]
    if not counted or len(counted) > 6:
        return
    noun = span_text(counted)
    value = [token for token in count if token.lower_ not in _APPROXIMATE]
    if not any(token.like_num or token.text[:1].isdigit() for token in value) or head.tag_ not in ("NNS", "NNPS", "NN"):
        return
    text = span_text(sorted(value, key=lambda token: token.i))
    if head.tag_ == "NN" and head.lemma_ not in ("spacecraft", "craft", "aircraft", "series", "people"):
        return
    yield Candidate(text, "CARDINAL", gone, prep, (Wh(f"How many {noun}", "front" if prep is not None else "drop", 1.0),))


def _nominal(head: Token, tokens: Sequence[Token], gone: frozenset[int], part: Part, classes: Classes) -> Iterator[Candidate]:
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
        class_noun = lower_start[-1].lower_ if lower_start and lower_start[-1].pos_ == "NOUN" and len(lower_start[-1]) > 2 else ""
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
    restrictive = next((child for child in head.children if child.dep_ == "appos" and name_span(child) and child.i in gone), None)
    if restrictive is not None:
        inner = name_span(restrictive)
        yield _named(name_text(inner), name_text(inner), gone, part, classes, class_noun=head.lemma_.lower())
        return
    kept = strip_article(tokens)
    text = span_text(kept)
    compound = next((child for child in reversed(list(head.lefts)) if child.dep_ in ("compound", "nmod") and is_name_token(child) and child.i == head.i - 1), None)
    if compound is not None and head.lemma_.lower() not in VAGUE_NOUNS:
        yield _named(text, text, gone, part, classes, class_noun=head.lemma_.lower() if len(head) > 2 else "")
        return
    if head.lemma_.lower() in VAGUE_NOUNS or head.lemma_.lower() in TIME_NOUNS or len(text) < 3:
        return
    if any(token.tag_ in ("VBD", "VBZ", "VBP") for token in kept):
        return
    person = type_of_noun(head.lemma_) == "PERSON"
    whs = [Wh("Who" if person else "What", "strand" if part.prep is not None else "drop", 0.75)]
    if part.prep is not None and part.prep.lower_ in PLACE_PREPOSITIONS and head.lemma_.lower() in LOCATIONS:
        whs.append(Wh("Where", "drop", 0.75))
    called = next((child for child in head.children if child.dep_ == "appos" and child.pos_ == "NOUN" and child.i > head.i and child.tag_ == "NN"), None)
    if called is not None and called.lemma_.lower() not in VAGUE_NOUNS:
        whs.append(Wh(f"Which {called.lower_}", "strand" if part.prep is not None else "drop", 0.9))
    modified = [child for child in head.lefts if child.dep_ in ("amod", "compound", "nmod") and child.i in gone]
    if modified and not person and part.role in ("object", "prep"):
        whs.append(Wh(f"What kind of {head.text.lower()}", "strand" if part.prep is not None else "drop", 0.6))
    yield Candidate(text, "PERSON" if person else "", gone, part.prep.i if part.prep is not None else None, tuple(whs), plural=head.tag_ == "NNS")


def _alias_of(head: Token, gone: frozenset[int]) -> list[Token] | None:
    """Find the name in "a rover called Pragyan"."""
    for child in head.children:
        if child.dep_ == "acl" and child.lemma_ in NAMING_VERBS and child.i in gone:
            inner = [item for item in child.subtree if item.dep_ in ("oprd", "dobj", "pobj", "attr", "appos") and name_span(item)]
            if inner:
                return name_span(inner[0])
    return None


def _named(
    text: str, entity: str, gone: frozenset[int], part: Part, classes: Classes, *, class_noun: str = "", single: bool = False
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
        whs.extend((Wh("Which country", plain_mode, 0.95), Wh("In which country", "drop", 0.9)) if prep == "in" else (Wh("Which country", plain_mode, 0.95),))
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
    return Candidate(text, type_ or "NAME", gone, part.prep.i if part.prep is not None else None, tuple(whs), plural=True)


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
                inner = Part("prep", noun, (prep, *[token for token in phrase_tokens(noun) if token.i in inside]), prep=prep)
                for candidate in _of_phrase(noun, inner.tokens, inner, clause, mentions, classes):
                    if candidate.type and candidate.type not in ("QUANTITY",):
                        whs = tuple(Wh(wh.phrase, "strand", wh.weight * 0.7) for wh in candidate.whs if wh.mode == "strand")[:1]
                        yield Candidate(candidate.text, candidate.type, candidate.gone, candidate.prep, whs, candidate.entity)


def _in_complement(part: Part, clause: Clause, mentions: Mentions, classes: Classes) -> Iterator[Candidate]:
    """Objects of an infinitive or adjective ("designed to study Jupiter" -> "Jupiter"), and adjectives with a measure."""
    head = part.head
    if head is None:
        return
    inside = {token.i for token in part.tokens}
    amount = next((child for child in head.children if child.dep_ == "npadvmod"), None)
    if amount is not None and head.lower_ in ADJECTIVE_MEASURES:
        yield from adjective_measure(head, part)
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
                    inner = Part("prep", noun, (child, *[token for token in phrase_tokens(noun) if token.i in inside]), prep=child)
                    yield from _of_phrase(noun, inner.tokens, inner, clause, mentions, classes)


def adjective_measure(head: Token, part: Part) -> Iterator[Candidate]:
    """Ask for the measure before an adjective ("300 metres wide" -> "How wide", "What is the width of")."""
    measured = sorted((token for child in head.children if child.dep_ == "npadvmod" for token in child.subtree), key=lambda token: token.i)
    measure = _measure_of(measured)
    if measure is None:
        return
    adjective = {"across": "wide", "away": "far away"}.get(head.lower_, head.lower_)
    gone = frozenset(token.i for token in [*measured, head])
    yield Candidate(
        span_text(measure[1]),
        "QUANTITY",
        gone,
        None,
        (Wh(f"How {adjective}"),),
        dimension=measure[0],
        measured=ADJECTIVE_MEASURES[head.lower_],
    )


def measure_adjective(noun: str) -> str:
    """Give the adjective that asks for a measure ("diameter" -> "wide"), "" when there is none."""
    return MEASURE_ADJECTIVES.get(noun.split()[-1].lower(), "") if noun else ""
