"""Answer candidates that are dates, amounts or counts, with the wh-phrases that ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fedrag_flwr.memory.synthesis.classes import is_era
from fedrag_flwr.memory.synthesis.denial import next_word
from fedrag_flwr.memory.synthesis.inflection import plural
from fedrag_flwr.memory.synthesis.lexicon import (
    ADJECTIVE_MEASURES,
    APPROXIMATE,
    COST_VERBS,
    DURATION_VERBS,
    MEASURE_ADJECTIVES,
    WEIGHT_VERBS,
    words_of,
)
from fedrag_flwr.memory.synthesis.measures import (
    calendar_tokens,
    is_year,
    measure_of,
    singular_unit,
    span_text,
    strip_article,
)
from fedrag_flwr.memory.synthesis.parts import Clause, Part

if TYPE_CHECKING:
    from spacy.tokens import Token


_DATING = words_of("ago after before later earlier prior previously afterwards")
_LASTING = words_of("last take spend endure")

Mode = Literal["drop", "strand", "front", "whole"]


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


def dates_of(
    tokens: Sequence[Token], gone: frozenset[int], prep: int | None, word: Token | None
) -> Iterator[Candidate]:
    kept = calendar_tokens(strip_article(tokens))
    if not kept:
        return
    years = [token for token in kept if is_year(token)]
    text = span_text(kept)
    if word is None:
        yield Candidate(text, "DATE", gone, prep, (Wh("Which date", "drop", 0.7),))
        return
    if word.lower_ in ("between", "before", "after", "by", "to"):
        return  # it was not then: "completed by 1450", "postponed to 1451"
    if word.lower_ in ("since", "until", "from"):
        yield Candidate(text, "DATE", gone, prep, (Wh(f"{word.lower_.capitalize()} when", "drop", 0.9),))
        return
    if word.lower_ == "during":
        yield Candidate(text, "DATE", gone, prep, (Wh("When", "drop", 0.6),))
        return
    if len(kept) == 1 and years:
        decade = text.endswith("s")
        phrases = (
            (Wh("When"), Wh("In which decade", "drop", 0.8))
            if decade
            else (Wh("When"), Wh("In what year", "drop", 1.0))
        )
        yield Candidate(text, "DATE" if decade else "YEAR", gone, prep, phrases)
        return
    yield Candidate(text, "DATE", gone, prep, (Wh("When"), Wh("On what date", "drop", 0.7)))
    if len(years) == 1 and not any(map(is_era, kept)):
        yield Candidate(years[-1].text, "YEAR", gone, prep, (Wh("In what year", "drop", 0.9),))


def amounts_of(
    measure: tuple[str, list[Token], str], tokens: Sequence[Token], gone: frozenset[int], part: Part, clause: Clause
) -> Iterator[Candidate]:
    dimension, inner, noun = measure
    text = span_text(inner)
    type_ = {"money": "MONEY", "percent": "PERCENT"}.get(dimension, "QUANTITY")
    prep = part.prep
    index = prep.i if prep is not None else None
    unit = next((token for token in inner if singular_unit(token)), inner[-1])
    if dimension == "time" and tells_when(unit, clause):
        return
    unit_text = unit.lower_ if unit.lower_.endswith("s") or len(unit) < 4 else plural(unit.lower_)
    whs: list[Wh] = []
    substance = next(
        (child for child in unit.children if child.dep_ == "prep" and child.lower_ == "of" and child.i in gone), None
    )
    if substance is not None:
        inside = [token for token in tokens if token.i > substance.i]
        made = strip_article(inside)
        whs.append(Wh(f"How many {unit_text} of {span_text(inside)}", "front" if prep is not None else "drop"))
        if made:
            yield Candidate(
                span_text(made),
                "",
                frozenset(gone),
                index,
                (Wh("What", "strand" if prep is not None else "drop", 0.9),),
            )
    elif noun:
        whs.append(Wh(f"What {noun}", "front" if prep is not None else "drop", 0.9))
    elif dimension == "money":
        whs.append(Wh("How much", "strand" if prep is not None else "drop"))
    elif dimension == "percent":
        whs.append(Wh("What percentage", "drop", 0.7))
    elif clause.lemma in WEIGHT_VERBS or clause.lemma in COST_VERBS:
        whs.append(Wh("How much"))
    elif dimension == "time":
        if (prep is not None and prep.lower_ in ("for", "over", "during")) or clause.lemma in DURATION_VERBS:
            whs.append(Wh("How long"))
        elif tokens[0].lower_ == "every":
            whs.append(Wh("How often"))
        elif prep is not None and prep.lower_ == "after":
            whs.append(Wh("After how long"))
        if clause.lemma in DURATION_VERBS or (prep is not None and prep.lower_ in ("for", "over")):
            whs.append(Wh(f"How many {unit_text}", "drop", 0.8))
    elif dimension == "length" and any(
        other.prep is not None and other.prep.lower_ in ("from", "of", "to", "above") for other in clause.parts
    ):
        whs.append(Wh("How far"))
        whs.append(Wh(f"How many {unit_text}", "drop", 0.7))
    elif prep is not None and prep.lower_ == "at" and dimension == "speed":
        whs.append(Wh("How fast"))
    elif prep is None:
        if dimension in ("length", "speed"):
            whs.append(Wh({"length": "How far", "speed": "How fast"}[dimension], "drop", 0.6))
        if clause.lemma != "be":
            whs.append(Wh(f"How many {unit_text}", "drop", 0.8))
    if part.role == "attribute" and clause.lemma == "be" and part.head in inner:
        whs.append(Wh("What"))
    yield Candidate(text, type_, gone, index, tuple(whs), dimension=dimension, measured=noun)


def tells_when(unit: Token, clause: Clause) -> bool:
    """Whether an amount of time dates what a clause tells: "ago", or how long before or after something else it was.

    How long it went on it tells behind "for", and as all that a verb takes ("the trial took two years after that").
    """
    following, first = next_word(unit), unit.left_edge.i
    if following not in _DATING or (first and unit.doc[first - 1].lower_ in ("for", "over", "during")):
        return False
    others = [part for part in clause.parts if part.role == "object" and unit not in part.tokens]
    return following == "ago" or clause.lemma not in _LASTING or bool(others)


def counts_of(
    head: Token, number: Token, tokens: Sequence[Token], gone: frozenset[int], prep: int | None
) -> Iterator[Candidate]:
    count = [
        token
        for token in tokens
        if token == number or token.head == number or (token.head.head == number and token.i < head.i)
    ]
    counted = [token for token in tokens if token.i > number.i and token not in count]
    cut = next((place for place, token in enumerate(counted) if token.text in (",", "(", ":")), len(counted))
    counted = [
        token
        for token in counted[:cut]
        if token.head == head or token == head or token.i > head.i or token.head.head == head
    ]
    whose = [token for token in counted if token.i > head.i]
    if len(counted) > 6 or (whose and whose[0].lower_ != "of"):
        counted = [token for token in counted if token.i <= head.i]
    if not counted or len(counted) > 6:
        return
    noun = span_text(counted)
    value = [token for token in count if token.lower_ not in APPROXIMATE]
    if not any(token.like_num or token.text[:1].isdigit() for token in value) or head.tag_ not in ("NNS", "NNPS", "NN"):
        return
    text = span_text(sorted(value, key=lambda token: token.i))
    if head.tag_ == "NN" and head.lemma_ not in ("spacecraft", "craft", "aircraft", "series", "people"):
        return
    yield Candidate(
        text, "CARDINAL", gone, prep, (Wh(f"How many {noun}", "front" if prep is not None else "drop", 1.0),)
    )


def adjective_measure(head: Token) -> Iterator[Candidate]:
    """Ask for the measure before an adjective ("300 metres wide" -> "How wide", "What is the width of")."""
    measured = sorted(
        (token for child in head.children if child.dep_ == "npadvmod" for token in child.subtree),
        key=lambda token: token.i,
    )
    measure = measure_of(measured)
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
