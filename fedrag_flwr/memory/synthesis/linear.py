"""Questions for facts that the parse hides: the words of a clause in their order, with the fact's place left open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.amounts import tells_when
from fedrag_flwr.memory.synthesis.clauses import clauses_of
from fedrag_flwr.memory.synthesis.denial import any_denies
from fedrag_flwr.memory.synthesis.inflection import plural
from fedrag_flwr.memory.synthesis.lexicon import PLACE_PREPOSITIONS
from fedrag_flwr.memory.synthesis.measures import is_year, singular_unit
from fedrag_flwr.memory.synthesis.parts import Clause
from fedrag_flwr.memory.synthesis.questions import Asker
from fedrag_flwr.memory.synthesis.sharing import left_open
from fedrag_flwr.memory.synthesis.stating import is_stated
from fedrag_flwr.memory.synthesis.voice import finite_words, inverted_words
from fedrag_flwr.memory.synthesis.wording import Asked
from fedrag_flwr.records import Fact

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_AT_A_TIME = frozenset(("in", "on", "at", "during"))
_MAX_REST = 18


def linear_questions(sentence: Span, facts: Sequence[Fact], asker: Asker) -> Iterator[Asked]:
    """Make questions for facts of a sentence that no clause's constituents gave.

    Parameters
    ----------
    sentence
        The sentence.
    facts
        The facts that still lack a question.
    asker
        The paragraph's renderer of questions.
    """
    if any_denies(sentence) or "respectively" in sentence.text:
        return
    clauses = sorted(clauses_of(sentence), key=lambda clause: clause.verb.i)
    for fact in facts:
        at = sentence.text.find(fact.text)
        span = sentence.char_span(at, at + len(fact.text), alignment_mode="expand") if at >= 0 else None
        if span is None or any(token.pos_ == "VERB" for token in span) or _is_choice(span):
            continue
        before = [clause for clause in clauses if clause.verb.i < span.start < left_open(clause)]
        if before and not _closed(before[-1], span):
            yield from _after_verb(before[-1], clauses, span, fact, asker)
        elif clauses and span.end <= clauses[0].verb.i and fact.type in ("PERSON", "ORG", "NAME"):
            yield from _before_verb(clauses[0], clauses, span, fact, asker)


def _is_choice(span: Span) -> bool:
    """Whether a fact stands beside another that may be meant instead ("1900 or 1901")."""
    near = span.doc[max(span.sent.start, span.start - 2) : min(span.sent.end, span.end + 1)]
    return any(token.lower_ == "or" for token in near)


def _closed(clause: Clause, span: Span) -> bool:
    """Whether a stop, or a verb that is not stated, lies between a clause's verb and a span."""
    between = span.doc[clause.verb.i : span.start]
    verbs = [token for token in (*between, *span.root.ancestors) if token.pos_ in ("VERB", "AUX")]
    return any(token.text in (";", ":", "(", "—") for token in between) or not all(map(is_stated, verbs))


def _end(clause: Clause, clauses: Sequence[Clause]) -> int:
    """Where the words of a clause end: before the next clause's first word, or at a stop."""
    doc, stop = clause.verb.doc, min(clause.verb.sent.end, left_open(clause))
    for other in clauses:
        if other.verb.i > clause.verb.i:
            subject = [
                child.left_edge.i
                for child in other.verb.children
                if child.dep_ in ("nsubj", "nsubjpass") and child.i > clause.verb.i
            ]
            stop = min(stop, *subject, other.verb.i)
    for token in doc[clause.verb.i + 1 : stop]:
        if token.text in (";", ":", "(", "—") or token.lower_ in (
            "which",
            "who",
            "while",
            "because",
            "although",
            "whose",
        ):
            stop = token.i
            break
    while stop > clause.verb.i + 1 and (
        doc[stop - 1].is_punct
        or doc[stop - 1].dep_ in ("cc", "mark", "aux", "auxpass")
        or doc[stop - 1].pos_ == "CCONJ"
    ):
        stop -= 1
    return stop


def _after_verb(clause: Clause, clauses: Sequence[Clause], span: Span, fact: Fact, asker: Asker) -> Iterator[Asked]:
    stop = _end(clause, clauses)
    subject = asker.subject_text(clause.subject)
    if span.end > stop or not subject or span.text.lower() in subject.lower():
        return
    doc = span.doc
    first, last = span.start, span.end
    while first - 1 > clause.verb.i and doc[first - 1].lower_ in ("the", "a", "an", "only", "about", "just"):
        first -= 1
    prep = doc[first - 1] if doc[first - 1].pos_ == "ADP" and first - 1 > clause.verb.i else None
    found = _wh(fact, span, prep, asker, clause)
    if found is None:
        return
    phrase, drops = found
    if prep is not None and drops:
        first -= 1
    if phrase.startswith("How many"):
        while (
            last < stop
            and doc[last].lower_ != "left"
            and doc[last].pos_ in ("ADP", "NOUN", "ADJ")
            and (doc[last].pos_ != "ADP" or doc[last].lower_ == "of")
        ):
            last += 1
        tail = list(doc[span.end : last])
        phrase = " ".join([phrase, *[token.text for token in tail]])
    rest = [token for token in doc[clause.verb.i + 1 : stop] if not first <= token.i < last]
    if len(rest) > _MAX_REST or (last < len(doc) and doc[last].lower_ == "and" and last < stop):
        rest = [token for token in rest if token.i < first]
    text = asker.render(
        rest, keep=asker.mentions.entity(clause.subject.head) if clause.subject.head is not None else ""
    )
    if text is None:
        return
    yield asker.question(f"{phrase} {inverted_words(clause, subject)} {text}", fact.text, fact.type, 0.6)


def _before_verb(clause: Clause, clauses: Sequence[Clause], span: Span, fact: Fact, asker: Asker) -> Iterator[Asked]:
    between = [
        token
        for token in span.doc[span.end : clause.verb.i]
        if not token.is_punct and token.dep_ not in ("aux", "auxpass", "advmod", "neg")
    ]
    if between:
        return
    stop = _end(clause, clauses)
    text = asker.render(list(span.doc[clause.verb.i + 1 : stop])[:_MAX_REST])
    if not text:
        return
    noun = asker.classes.of(fact.text)
    phrase = "Who" if fact.type == "PERSON" else (f"Which {noun}" if noun else "What")
    yield asker.question(f"{phrase} {' '.join(finite_words(clause))} {text}", fact.text, fact.type, 0.8)


def _wh(fact: Fact, span: Span, prep: Token | None, asker: Asker, clause: Clause) -> tuple[str, bool] | None:
    """Choose a wh-phrase, and whether the preposition before the fact goes."""
    noun = asker.classes.of(fact.text)
    if fact.type in ("DATE", "YEAR"):
        if prep is None or prep.lower_ not in _AT_A_TIME:
            return None  # what was "before 1500" was not then
        return ("In what year" if len(span) == 1 and is_year(span[0]) else "When"), True
    if fact.type == "QUANTITY":
        unit = next((token for token in span if singular_unit(token)), None)
        if unit is None or (singular_unit(unit) == "time" and tells_when(unit, clause)):
            return None
        name = unit.text if unit.text.endswith("s") or len(unit) < 4 else plural(unit.text)
        return f"How many {name}", prep is not None and prep.lower_ == "for"
    if fact.type == "CARDINAL":
        following = span.doc[span.end] if span.end < len(span.doc) else None
        return ("How many", False) if following is not None and following.pos_ in ("NOUN", "ADJ") else None
    if fact.type == "PERSON":
        return "Who", False
    if noun:
        return f"Which {noun}", False
    if prep is not None and prep.lower_ in PLACE_PREPOSITIONS:
        return ("From where" if prep.lower_ == "from" else "Where"), True
    return (
        ("What", False)
        if fact.type in ("NAME", "ORG", "GPE", "LOC", "FAC", "EVENT", "WORK_OF_ART", "PRODUCT")
        else None
    )
