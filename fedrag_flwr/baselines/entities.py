"""Which entities sentences name: the substrate of graphs over entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from fedrag_flwr.records import Fact, Passage, Sentence
from fedrag_flwr.text.segment import subject_of
from fedrag_flwr.text.support import NAMES
from fedrag_flwr.text.words import normalise_anchor


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
