"""Compositional drafts out of fact-level ones, by rules: counts, comparisons, spans of years and denials.

Counts, spans and denials depend on the document that they rest on alone. A comparison joins two documents that share a
name, as long as that name is not common among all. Two hops over two documents are composed when memories are fused
(`composition`), and by the model over two hyperedges.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

from fedrag_flwr.memory.synthesis.composition import CONTEXT
from fedrag_flwr.memory.synthesis.descriptions import statement
from fedrag_flwr.memory.synthesis.grounding import NUMBERS, STOP, name_list, normalise
from fedrag_flwr.memory.synthesis.inflection import singular
from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.records import Fact
from fedrag_flwr.text.segment import document_of

_WHEN = re.compile(r"^(?:When|In what year) (?P<verb>was|were|did) (?P<rest>.+)\?$")
_YEAR = re.compile(r"(?:(?:[A-Z][a-z]+ )?(?:\d{1,2},? )?(?:[A-Z][a-z]+,? )?)(1\d{3}|20\d{2})")
_SUBJECT = re.compile(r"(?:the )?(?:[A-Z0-9][^\s]*)(?: (?:[A-Z0-9][^\s]*|(?:of|and|the|de|von)(?= [A-Z])))*")
_MORE = re.compile(r"\b(?:includ\w+|such as|among|like|other|others|especially|e\.g)\b")
_ONCE = frozenset(  # "was born", "did die": what is said of one thing for one year alone
    (
        *("born", "die", "founded", "established", "incorporated", "built", "constructed", "erected", "completed"),
        *("discovered", "invented", "launched", "commissioned", "opened", "open", "premiered", "premiere"),
        *("demolished", "dissolved", "abolished"),
    )
)
_NAMED = frozenset(("PERSON", "ORG", "GPE", "LOC", "FAC", "NAME", "NORP", "EVENT", "WORK_OF_ART", "PRODUCT"))
_MOST_WORDS = 24
_MOST_DATED = (
    16  # dated sentences of a document whose events are set against each other, so that a chronicle stays small
)
_COMMON = 16  # documents: a name in more of them joins none


@dataclass(frozen=True, slots=True)
class _Event:
    """A dated fact: what happened to `subject` ("was discovered by ..."), and when.

    `verb` and `rest` are the question's words after "When"; `statement` is the same as a clause.
    """

    draft: Draft
    verb: str
    rest: str
    statement: str
    subject: str
    year: int

    @property
    def predicate(self) -> str:
        """What is said of the subject, as a clause says it: "was discovered by ...", "reached Pluto"."""
        return self.statement.removeprefix(self.subject).strip()


class Derivation:
    """Derives the compositional drafts that rest on one document.

    Parameters
    ----------
    drafts
        The document's verified fact-level drafts.
    texts, facts
        Texts and facts of its units, by unit id.
    """

    def __init__(
        self, drafts: Sequence[Draft], texts: Mapping[str, str], facts: Mapping[str, tuple[Fact, ...]]
    ) -> None:
        self._drafts = [draft for draft in drafts if CONTEXT not in draft.question]
        self._texts = texts
        self._facts = facts
        self._units = sorted({unit for draft in drafts for unit in draft.support})
        self._types = {fact.text: fact.type for unit in self._units for fact in facts[unit]}
        self._saying: defaultdict[str, list[frozenset[str]]] = defaultdict(list)  # word -> sentences, without titles
        for unit in self._units:
            said = frozenset(normalise(texts[unit].partition(". ")[2] or texts[unit]).split())
            for word in said:
                self._saying[word].append(said)
        self._years = {
            text: frozenset(normalise(text).split()) for text, type_ in sorted(self._types.items()) if type_ == "YEAR"
        }
        self._events = _events(drafts)

    def drafts(self) -> list[Draft]:
        """Give the drafts of all types but comparisons, which join documents."""
        return _shortest(chain(self._counts(), self._spans(), self._denials()))

    def _counts(self) -> Iterator[Draft]:
        """ "Which moons orbit Pluto?" answered by a whole list becomes "How many moons orbit Pluto?"."""
        for draft in self._drafts:
            names = name_list(draft.answer)
            word, _, rest = draft.question.partition(" ")
            if draft.kind != "set" or not 2 <= len(names) <= 10 or not self._is_whole(draft, len(names)):
                continue
            noun = rest.split()[0]
            if word == "Which" and noun.islower() and singular(noun) != noun:
                yield _draft(f"How many {rest}", NUMBERS[len(names)], "aggregation", "CARDINAL", draft)
            elif word == "Who" and all(self._types.get(name) == "PERSON" for name in names):
                yield _draft(f"How many people {rest}", NUMBERS[len(names)], "aggregation", "CARDINAL", draft)

    def _is_whole(self, draft: Draft, count: int) -> bool:
        """Whether its text says itself that the list has so many: what it does not name another sentence may."""
        told = " ".join(self._told(draft))
        closed = rf"\b(?:{NUMBERS[count]}|{count}|only|all{'|both' if count == 2 else ''})\b"
        return not _MORE.search(told) and re.search(closed, told, re.IGNORECASE) is not None

    def _spans(self) -> Iterator[Draft]:
        """Two dated events: how many years after the one was the other?"""
        for one, other in combinations(self._events, 2):
            first, last = sorted((one, other), key=lambda event: event.year)
            if first.year < last.year and first.draft.support != last.draft.support:
                question = f"How many years after {first.statement} {last.verb} {last.rest}?"
                yield _draft(
                    question, str(last.year - first.year), "post-processing", "CARDINAL", first.draft, last.draft
                )

    def _denials(self) -> Iterator[Draft]:
        """A year that the document tells of elsewhere in the place of that of what happens once.

        Nobody is denied to have done a thing: who else did it another sentence may tell in other words.
        """
        for event in self._events:
            if not _ONCE.isdisjoint(event.rest.split()):
                yield from self._denied(event.draft, f"{event.verb.capitalize()} {event.rest} in ")

    def _denied(self, draft: Draft, before: str) -> Iterator[Draft]:
        """The shortest question about a year of the document of which the draft's own support holds no word."""
        own = frozenset(normalise(" ".join(self._told(draft))).split())
        for other, words in self._years.items():
            question = f"{before}{other}?"
            fits = not words & own and len(question.split()) <= _MOST_WORDS
            if fits and not self._may_be_so(draft, words):
                yield _draft(question, "No", "false-premise", "YESNO", draft)
                return

    def _may_be_so(self, draft: Draft, other: frozenset[str]) -> bool:
        """Whether some sentence says the other and all names of the question: it may have happened then, too.

        Where the question says one word of a name, or none, the sentence says half of its other words besides.
        """
        asked = draft.question.split()[1:]
        names = frozenset(normalise(" ".join(w for w in asked if w[0].isupper() or re.search(r"\d", w))).split())
        more = frozenset(normalise(" ".join(asked)).split()) - STOP - names
        least = 0 if len(names) > 1 else len(more) / 2
        telling = min((self._saying[word] for word in other), key=len, default=[])
        return any(other | names <= said and len(more & said) >= least for said in telling)

    def _told(self, draft: Draft) -> list[str]:
        return [self._texts[unit] for unit in draft.support]


def derive(
    drafts: Sequence[Draft],
    texts: Mapping[str, str],
    facts: Mapping[str, tuple[Fact, ...]],
    within: Container[str] | None = None,
) -> list[Draft]:
    """Derive compositional drafts (FD-RAG D.4); in which order the fact-level ones come makes no difference.

    Parameters
    ----------
    drafts
        Verified fact-level drafts of any number of documents.
    texts, facts
        Texts, with their titles, and facts of all units, by unit id; those of a document in reading order.
    within
        The documents whose own drafts are wanted; None: all. Comparisons, which join documents, are given of all.
    """
    place = {unit: order for order, unit in enumerate(texts)}
    by_document: defaultdict[str, list[Draft]] = defaultdict(list)
    for draft in sorted(drafts, key=lambda draft: (place[draft.support[0]], draft.question, draft.answer)):
        by_document[document_of(draft.support[0])].append(draft)
    own = [
        draft
        for document, group in by_document.items()
        if within is None or document in within
        for draft in Derivation(group, texts, facts).drafts()
    ]
    return own + _shortest(_comparisons(by_document, facts))


def _comparisons(by_document: Mapping[str, Sequence[Draft]], facts: Mapping[str, tuple[Fact, ...]]) -> Iterator[Draft]:
    """Of two subjects with the same predicate, in documents that share a name: which was first?"""
    events: dict[str, dict[str, list[_Event]]] = {}
    for document, group in by_document.items():
        for event in _events(group):
            events.setdefault(document, {}).setdefault(event.predicate, []).append(event)
    holders: defaultdict[str, set[str]] = defaultdict(set)
    types: dict[str, str] = {}
    for unit in sorted(facts):
        for fact in facts[unit]:
            types.setdefault(fact.text, fact.type)
            if fact.type in _NAMED:
                holders[fact.anchor].add(document_of(unit))
    linked = {
        pair
        for held in holders.values()
        if len(held) <= _COMMON
        for pair in combinations(sorted(document for document in held if document in events), 2)
    }
    pairs = chain(
        (pair for own in events.values() for alike in own.values() for pair in combinations(alike, 2)),
        (
            pair
            for a, b in sorted(linked)
            for predicate in events[a].keys() & events[b].keys()
            for pair in product(events[a][predicate], events[b][predicate])
        ),
    )
    for one, other in pairs:
        if one.subject != other.subject and one.year != other.year:
            first = min(one, other, key=lambda event: event.year).subject
            choice = " or ".join(sorted((one.subject, other.subject)))
            who = "Who" if types.get(first) == "PERSON" else "Which"
            question = f"{who} {one.predicate} first, {choice}?"
            yield _draft(question, first, "comparison", types.get(first, "NAME"), one.draft, other.draft)


def _shortest(drafts: Iterable[Draft]) -> list[Draft]:
    """Of each type and each set of units the shortest question."""
    best: dict[tuple[str, tuple[str, ...]], Draft] = {}
    for draft in sorted(drafts, key=lambda draft: (len(draft.question), draft.question, draft.answer)):
        if len(draft.question.split()) <= _MOST_WORDS:
            best.setdefault((draft.kind, draft.support), draft)
    return list(best.values())


def _draft(question: str, answer: str, kind: str, answer_type: str, *parents: Draft) -> Draft:
    support = tuple(sorted({unit for parent in parents for unit in parent.support}))
    return Draft(question, answer, kind, answer_type, support)


def _events(drafts: Sequence[Draft]) -> list[_Event]:
    """The dated facts of a document's drafts, of its first dated sentences."""
    found = [event for draft in drafts if CONTEXT not in draft.question and (event := _event(draft)) is not None]
    dated = list(dict.fromkeys(event.draft.support for event in found))[:_MOST_DATED]
    return [event for event in found if event.draft.support in dated]


def _event(draft: Draft) -> _Event | None:
    """Read a dated draft; None where its date is no single year or its subject no plain name."""
    asked, date = _WHEN.match(draft.question), _YEAR.fullmatch(draft.answer)
    if asked is None or date is None:
        return None
    said = statement(f"{asked['verb']} {asked['rest']}")
    subject = _SUBJECT.match(said)
    if not said or subject is None:
        return None
    return _Event(draft, asked["verb"], asked["rest"], said, subject[0], int(date[1]))
