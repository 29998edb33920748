"""Which entities sentences name: the substrate of graphs over entities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from fedrag_flwr.inference.candidates import NAMES
from fedrag_flwr.records import EvidenceTuple, Fact, Passage, Sentence
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.segment import subject_of

_MOST_RELATION_WORDS = 12


def named(facts: Iterable[Fact]) -> list[Fact]:
    """The names among typed facts, each anchor once, in their order."""
    return list({fact.anchor: fact for fact in reversed(list(facts)) if fact.type in NAMES and fact.anchor}.values())[
        ::-1
    ]


def entities(passage: Passage, sentence: Sentence) -> list[Fact]:
    """The entities of a sentence: what its document's title names, for which pronouns stand, and the names in it."""
    subject = subject_of(passage.title)
    title = Fact(subject, "NAME", normalise_anchor(subject))
    return named([title, *sentence.facts])


def shared_sentences(passages: Sequence[Passage]) -> Counter[tuple[str, str]]:
    """How many sentences each pair of entities shares; a pair's anchors stand in ascending order."""
    return Counter(
        pair
        for passage in passages
        for sentence in passage.sentences
        for pair in combinations(sorted(fact.anchor for fact in entities(passage, sentence)), 2)
    )


def statements(passages: Sequence[Passage]) -> list[EvidenceTuple]:
    """What sentences say of the entities that they share, as tuples.

    Each name in a sentence is joined to what the document's title names and to the name before it; the relation is the
    words that lead from the name before to it.
    """
    return [
        one
        for passage in passages
        for sentence in passage.sentences
        for one in _stated(passage.id, sentence.text, entities(passage, sentence))
    ]


def _stated(passage_id: str, text: str, found: Sequence[Fact]) -> Iterator[EvidenceTuple]:
    if not found:
        return
    before = title = found[0]
    said = text.find(title.text)
    end = said + len(title.text) if said >= 0 else 0
    for fact in found[1:]:
        start = text.find(fact.text, end)
        if start < 0:  # it stands before the one before, or only as a part of another name
            start = end
        relation = " ".join(re.findall(r"\w+", text[end:start])[-_MOST_RELATION_WORDS:])
        end = start + len(fact.text)
        for head in dict.fromkeys((title.anchor, before.anchor)):
            yield EvidenceTuple(head, relation, fact.anchor, passage_id)
        before = fact
