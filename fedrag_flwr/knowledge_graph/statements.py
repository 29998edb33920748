"""What passages state of things: evidence tuples with the types of their ends and the sentence they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fedrag_flwr.records import EvidenceTuple, Passage, Sentence
from fedrag_flwr.text.names import NUMERIC_TYPES
from fedrag_flwr.text.segment import document_title, subject_of
from fedrag_flwr.text.words import normalise_anchor

CONCEPT, NAME = "CONCEPT", "NAME"
_LITERALS = NUMERIC_TYPES | {"TIME"}
_LONGEST = 80  # characters of a thing's name; what is longer is a clause


@dataclass(frozen=True, slots=True)
class End:
    """One end of a statement: a thing as it is written, its normal form, and its type; a literal is no thing."""

    text: str
    key: str
    type: str

    @property
    def is_literal(self) -> bool:
        """Whether it is an amount or a time, which joins nothing to anything."""
        return self.type in _LITERALS or not any(char.isalpha() for char in self.key)


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation that one passage states; `weight` in [0, 1] says how plainly."""

    head: End
    relation: str
    tail: End
    document_id: str
    passage_id: str
    sentence_id: str
    weight: float

    @property
    def things(self) -> tuple[End, ...]:
        """Its ends without literals."""
        return tuple(end for end in (self.head, self.tail) if not end.is_literal)


def statements_of(tuples: Iterable[EvidenceTuple], passages: Mapping[str, Passage]) -> Iterator[Statement]:
    """Give tuples as statements, those that say something of a thing, in their order."""
    types = {passage_id: _types(passage) for passage_id, passage in passages.items()}
    for one in tuples:
        passage = passages[one.passage_id]
        head, tail = (_end(text, types[one.passage_id]) for text in (one.head, one.tail))
        if not (_is_named(head) and _is_named(tail)) or head.key == tail.key or (head.is_literal and tail.is_literal):
            continue
        sentence = _sentence(passage, one)
        yield Statement(
            head,
            one.relation,
            tail,
            passage.document_id,
            passage.id,
            sentence.id,
            one.factual * one.confidence,
        )


def _types(passage: Passage) -> dict[str, str]:
    types = {fact.anchor: fact.type for fact in reversed(passage.facts)}
    subject = normalise_anchor(subject_of(passage.title))
    types.setdefault(subject, NAME)
    return types


def _end(text: str, types: Mapping[str, str]) -> End:
    shown = subject_of(text) or document_title(text)
    key = normalise_anchor(shown)
    return End(shown, key, types.get(key, CONCEPT))


def _is_named(end: End) -> bool:
    return bool(end.key) and len(end.text) <= _LONGEST


def _sentence(passage: Passage, stated: EvidenceTuple) -> Sentence:
    """The first sentence that holds both ends, else one that holds the tail, the head, or the passage's first."""

    def fits(sentence: Sentence) -> tuple[bool, bool]:
        return stated.tail in sentence.text, stated.head in sentence.text

    return max(passage.sentences, key=fits)  # of equals the first
