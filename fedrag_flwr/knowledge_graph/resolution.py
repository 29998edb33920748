"""Which mentions are one entity: surface forms merged, homonyms kept apart by type and context."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.rows import cosine
from fedrag_flwr.knowledge_graph.statements import CONCEPT, NAME, Statement
from fedrag_flwr.text.segment import document_title
from fedrag_flwr.text.words import normalise_anchor

Floats = NDArray[np.float32]
ALIKE = 0.3  # cosine of two contexts from which mentions of compatible types are one thing
FULL = 0.1  # of names of several words, which few things share
DESPITE = 0.5  # and of types that contradict each other, which a tagger mixes up
_CLASSES = {
    **dict.fromkeys(("GPE", "LOC", "FAC"), "place"),
    "PERSON": "person",
    "ORG": "organisation",
    "NORP": "people",
    "LANGUAGE": "language",
}
_IN_BRACKETS = re.compile(r"(.+?)\s*\(([^()]+)\)\s*")
_LEAST_LETTERS = 2  # of an abbreviation

Place = tuple[str, str]  # a document's id and a key in it


@dataclass(frozen=True, slots=True)
class Entities:
    """Entity ids by mention, and what each is called."""

    of: Mapping[Place, str]  # the entity of each (document id, key)
    names: Mapping[str, str]  # the commonest surface form of each entity


@dataclass(slots=True)
class _Sense:
    """Mentions of one key that are one thing so far: their documents, forms and types, and the sum of contexts.

    `qualifier` is what the title of a document about it has in brackets.
    """

    key: str
    context: Floats
    documents: list[str] = field(default_factory=list)
    keys: dict[str, set[str]] = field(default_factory=dict)  # by document, the keys that stand for it there
    forms: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    qualifier: str = ""

    @property
    def type(self) -> str:
        """The commonest type; a type that says more goes before a bare name or concept."""
        typed = {name: count for name, count in self.types.items() if name not in (NAME, CONCEPT)}
        return _commonest(typed or self.types)

    def take(self, other: _Sense) -> None:
        self.context = self.context + other.context
        self.documents += other.documents
        self.forms.update(other.forms)
        self.types.update(other.types)
        self.qualifier = self.qualifier or other.qualifier
        for document, keys in other.keys.items():
            self.keys.setdefault(document, set()).update(keys)


def resolve(statements: Sequence[Statement], contexts: Mapping[str, Floats], titles: Mapping[str, str]) -> Entities:
    """Decide which mentions are one entity.

    Within a document one form means one thing, a part of a person's name the only person there who has it, and an
    abbreviation the name whose initials it holds. Across documents mentions with one normal form are one thing where
    their contexts are near (`ALIKE`; `FULL` for names of several words), or very near (`DESPITE`) if their types
    contradict each other; never where the titles of documents about them tell them apart in brackets, "Mercury
    (planet)" and "Mercury (god)".

    Parameters
    ----------
    statements
        All statements of a device.
    contexts
        The vector of each passage, shape (dimension,), unit norm.
    titles
        The title of each document.
    """
    by_key: defaultdict[str, list[_Sense]] = defaultdict(list)
    found = _within_documents(statements, contexts)
    for sense in found:
        sense.qualifier = _qualifier(titles.get(sense.documents[0], ""), sense.key)
    for sense in sorted(found, key=lambda one: (not one.qualifier, one.documents[0])):  # what titles tell apart first
        home = _nearest(by_key[sense.key], sense)
        if home is None:
            by_key[sense.key].append(sense)
        else:
            home.take(sense)
    of: dict[Place, str] = {}
    names: dict[str, str] = {}
    for key, senses in by_key.items():
        for rank, sense in enumerate(sorted(senses, key=lambda one: (-len(one.documents), one.documents[0]))):
            entity = key if rank == 0 else f"{key}|{rank}"
            names[entity] = _commonest(sense.forms)
            of.update({(document, known): entity for document, keys in sense.keys.items() for known in keys})
    return Entities(of, names)


def _within_documents(statements: Iterable[Statement], contexts: Mapping[str, Floats]) -> list[_Sense]:
    """One sense for each thing of each document, documents in the order of their ids."""
    found: dict[Place, _Sense] = {}
    for one in sorted(statements, key=lambda one: one.document_id):
        for end in one.things:
            place = (one.document_id, end.key)
            if place not in found:
                found[place] = _Sense(end.key, np.zeros_like(contexts[one.passage_id]), [one.document_id])
                found[place].keys[one.document_id] = {end.key}
            sense = found[place]
            sense.context = sense.context + contexts[one.passage_id]
            sense.forms[end.text] += 1
            sense.types[end.type] += 1
    by_document: defaultdict[str, dict[str, _Sense]] = defaultdict(dict)
    for (document, key), sense in found.items():
        by_document[document][key] = sense
    for senses in by_document.values():
        _merge_variants(senses)
    return [sense for senses in by_document.values() for sense in senses.values()]


def _merge_variants(senses: dict[str, _Sense]) -> None:
    """Merge a document's short forms into the one long form that they can stand for."""
    initials: defaultdict[str, list[str]] = defaultdict(list)
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for key, sense in senses.items():
        words = key.split()
        if len(words) > 1:
            initials["".join(word[0] for word in words)].append(key)
            if sense.type == "PERSON":
                for word in (words[0], words[-1]):
                    parts[word].append(key)
    for key in list(senses):
        sense = senses[key]
        short = _abbreviates(sense)
        longer = initials[key] if short else parts[key] if _is_name(sense) else []
        if len(longer) == 1 and longer[0] in senses and longer[0] != key:
            del senses[key]
            sense.forms.clear()  # nothing is called by a short form
            senses[longer[0]].take(sense)


def _is_name(sense: _Sense) -> bool:
    return sense.type in ("PERSON", NAME, CONCEPT) and _commonest(sense.forms)[:1].isupper()


def _abbreviates(sense: _Sense) -> bool:
    form = _commonest(sense.forms)
    return form.isupper() and form.isalpha() and len(form) >= _LEAST_LETTERS


def _nearest(senses: Sequence[_Sense], other: _Sense) -> _Sense | None:
    """The sense whose context is nearest, where it is near enough for the types of both."""
    near = [(cosine(sense.context, other.context), -rank) for rank, sense in enumerate(senses)]
    for nearness, place in sorted(near, reverse=True):
        sense = senses[-place]
        if sense.qualifier and other.qualifier and sense.qualifier != other.qualifier:
            continue
        if nearness >= _bar(sense, other):
            return sense
    return None


def _bar(sense: _Sense, other: _Sense) -> float:
    if not _compatible(sense.type, other.type):
        return DESPITE
    return FULL if " " in sense.key and CONCEPT not in (sense.type, other.type) else ALIKE


def _qualifier(title: str, key: str) -> str:
    found = _IN_BRACKETS.fullmatch(document_title(title))
    return normalise_anchor(found[2]) if found and normalise_anchor(found[1]) == key else ""


def _compatible(one: str, other: str) -> bool:
    first, second = _CLASSES.get(one, ""), _CLASSES.get(other, "")
    if CONCEPT in (one, other) and (first or second):
        return False  # "turkey" is no country
    return not (first and second) or first == second


def _commonest(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))
