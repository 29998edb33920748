"""Evidence tuples by the local language model: at most five a passage, kept where both ends stand in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.records import EvidenceTuple
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.facts import typed_spans
from fedrag_flwr.text.lexicon import DOUBTING
from fedrag_flwr.text.mentions import PRONOUNS, Mention, Mentions
from fedrag_flwr.text.segment import document_title
from fedrag_flwr.text.words import normalise_anchor

if TYPE_CHECKING:
    from spacy.tokens import Token


RULES = "tuples-2"
RESOLVED = 0.7  # how far a pronoun's or a class noun's referent is believed
HEDGED = 0.5  # how far a clause under "may", "reportedly" and the like is
BRIDGES = {"NAME": 1.0, "CONCEPT": 0.4, "DATE": 0.2}  # of an end, by the kind of its type
_NUMBERS = frozenset({"CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT", "TIME"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "oprd", "dative", "npadvmod"})
MODALS = frozenset({"may", "might", "could", "would", "should", "must"})
DENYING = frozenset({"never", "hardly", "barely", "neither"})
_CLAUSES = frozenset({"acl", "relcl"})
_PLACES = frozenset({"GPE", "LOC"})


class Extractor(Protocol):
    """Finds the evidence tuples of passages."""

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many tuples it has found so far and not kept, by reason."""
        ...

    @property
    def id(self) -> str:
        """Name and version; stored with what it found."""
        ...

    def extract(self, passages: Sequence[ParsedPassage]) -> list[EvidenceTuple]:
        """Give the tuples of one document's passages, in reading order."""
        ...


@dataclass(frozen=True, slots=True)
class Relation:
    """Two mentions, the words between them, and whether the clause is hedged."""

    head: Mention
    words: str
    tail: Mention
    hedged: bool = False


class ParseExtractor:
    """Tuples by rule from the dependency parse that the text pipeline made.

    A verb joins its subject to each object, attribute and prepositional object; an apposition "is" its noun; a
    possessor "has" its noun; a noun's preposition joins it to that preposition's object. Conjuncts each make a tuple of
    their own; negated clauses make none. Third-person pronouns, and "the film" where the document defines its subject
    as a film, mean the document's title.

    Confidences are defined so:

    - `factual`: 1, times 0.7 for each end that was resolved from a pronoun or a class noun, times 0.5 where the clause
      is hedged ("may", "reportedly").
    - `salience`: half for an end that is the document's title, and half times how early the sentence comes in its
      passage (1 for the first, falling evenly towards 0).
    - `bridge`: the greatest over the ends that are not the title: 1 for a name, 0.4 for a concept, 0.2 for a date or
      year, 0 for an amount.
    """

    id = RULES
    dropped: Mapping[str, int] = MappingProxyType({})

    def extract(self, passages: Sequence[ParsedPassage]) -> list[EvidenceTuple]:
        """Give the tuples of one document's passages, in reading order, each once for a passage."""
        found: dict[tuple[str, str, str, str], EvidenceTuple] = {}
        classes: frozenset[str] = frozenset()
        for parsed in passages:
            title = document_title(parsed.passage.title)
            mentions = Mentions(parsed.doc, typed_spans(parsed.doc, title), title, classes)
            classes = mentions.classes
            for number, (start, end) in enumerate(parsed.spans):
                position = 1.0 - number / len(parsed.spans)
                for relation in _relations(parsed.doc[start:end], mentions):
                    one = evidence_tuple(relation, parsed.passage.id, position)
                    found.setdefault((one.passage_id, one.head, one.relation, one.tail), one)
        return list(found.values())


def evidence_tuple(relation: Relation, passage_id: str, position: float) -> EvidenceTuple:
    """A relation as a tuple, with the confidences that `ParseExtractor` defines.

    Parameters
    ----------
    position
        1 for the first sentence of the passage, falling evenly towards 0.
    """
    ends = (relation.head, relation.tail)
    factual = HEDGED if relation.hedged else 1.0
    for end in ends:
        factual *= RESOLVED if end.resolved else 1.0
    salience = 0.5 * any(end.is_title for end in ends) + 0.5 * position
    bridge = max((_bridge(end) for end in ends if not end.is_title), default=0.0)
    return EvidenceTuple(relation.head.text, relation.words, relation.tail.text, passage_id, factual, salience, bridge)


def _bridge(end: Mention) -> float:
    if end.type in _NUMBERS:
        return 0.0
    return BRIDGES["DATE" if end.type in {"DATE", "YEAR"} else "CONCEPT" if end.type == "CONCEPT" else "NAME"]


def _relations(sentence: Iterable[Token], mentions: Mentions) -> Iterator[Relation]:
    for token in sentence:
        if token.pos_ in {"VERB", "AUX"} and token.dep_ not in {"aux", "auxpass"}:
            yield from _verbal(token, mentions)
        elif token.pos_ in {"NOUN", "PROPN", "NUM"}:
            yield from _nominal(token, mentions)


def _verbal(verb: Token, mentions: Mentions) -> Iterator[Relation]:
    if any(child.dep_ == "neg" or child.lower_ in DENYING for child in verb.children):
        return
    subjects = [mention for token in _subjects(verb) for mention in mentions.conjuncts(token)]
    hedged = any(
        (child.dep_ == "aux" and child.lower_ in MODALS) or child.lower_ in DOUBTING for child in verb.children
    )
    words = _verb_words(verb)
    for relation, token in _complements(verb):
        for head, tail in product(subjects, mentions.conjuncts(token)):
            if head.text != tail.text:
                yield Relation(head, f"{words} {relation}".strip(), tail, hedged)


def _subjects(verb: Token) -> list[Token]:
    """The subjects of a verb: its own, its antecedent's in a relative or reduced clause, its first conjunct's."""
    own = [child for child in verb.children if child.dep_ in _SUBJECTS]
    if own and own[0].tag_ not in {"WDT", "WP"}:
        return own
    if verb.dep_ in _CLAUSES:
        return [_described(verb.head)] if own or verb.tag_ in {"VBN", "VBG", "VBD"} else []
    if verb.dep_ in {"conj", "xcomp", "advcl"} and verb.head.pos_ in {"VERB", "AUX"}:
        return _subjects(verb.head)
    return []


def _described(noun: Token) -> Token:
    """What a noun says something of: the copula's subject for an attribute, the other noun for an apposition."""
    if noun.pos_ == "NOUN" and noun.dep_ == "attr" and noun.head.lemma_ == "be":
        return next((child for child in noun.head.children if child.dep_ in _SUBJECTS), noun)
    return noun.head if noun.pos_ == "NOUN" and noun.dep_ == "appos" else noun


def _complements(verb: Token) -> Iterator[tuple[str, Token]]:
    """What a verb joins to its subject: the words that its own do not hold yet, and the noun.

    A preposition's words hold the object before it: "took place on".
    """
    thing = ""
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            thing = f"{child.text} " if child.dep_ == "dobj" else thing
            yield "", child
        elif child.dep_ in {"prep", "agent"}:
            for noun in child.children:
                if noun.dep_ == "pobj":
                    yield f"{thing}{child.lower_}", noun
        elif child.dep_ == "acomp":
            for prep in child.children:
                for noun in prep.children:
                    if prep.dep_ == "prep" and noun.dep_ == "pobj":
                        yield f"{child.lower_} {prep.lower_}", noun


def _verb_words(verb: Token) -> str:
    helpers = [child.lower_ for child in verb.children if child.dep_ in {"aux", "auxpass"} and child.lower_ != "to"]
    particles = [child.lower_ for child in verb.children if child.dep_ == "prt"]
    reduced = verb.dep_ in _CLAUSES and verb.tag_ == "VBN" and not helpers
    return " ".join([*(["was"] if reduced else helpers), verb.lower_, *particles])


def _nominal(noun: Token, mentions: Mentions) -> Iterator[Relation]:
    own = mentions.of(noun)
    if own is None:
        return
    for child in noun.children:
        if child.dep_ in {"appos", "npadvmod"}:
            for tail in mentions.conjuncts(child):
                places = {own.type, tail.type} <= _PLACES  # "Rome, Italy"
                if places or child.dep_ == "appos":
                    yield from _apart(own, "in" if places else "is", tail)
        elif child.dep_ == "poss":
            for head in mentions.conjuncts(child):
                yield from _apart(head, "has", own)
        elif child.dep_ == "prep":
            yield from _prepositional(noun, own, child, mentions)


def _prepositional(noun: Token, own: Mention, prep: Token, mentions: Mentions) -> Iterator[Relation]:
    """A noun's phrase with its object; what "is a waterfall in Sri Lanka" says is said of the waterfall's name."""
    described = _described(noun)
    subject = mentions.of(described) if described != noun else None
    head, words = (subject, f"is {own.text} {prep.lower_}") if subject else (own, prep.lower_)
    for token in prep.children:
        if token.dep_ == "pobj":
            for tail in mentions.conjuncts(token):
                yield from _apart(head, words, tail)


def _apart(head: Mention, words: str, tail: Mention) -> Iterator[Relation]:
    if head.text != tail.text:
        yield Relation(head, words, tail)


PROMPT = "model-tuples-2"
MOST = 5  # tuples of a passage (HKVM-RAG IV-E)
_TOKENS = 160  # most output tokens of a passage
_WORD = re.compile(r"\w+")
_NEGATIONS = DENYING | {"not", "no"}
_GRAMMAR = Grammar(
    f"root ::= line{' line?' * (MOST - 1)}\n"
    r"""line ::= part " | " part " | " part "\n"
part ::= [^|\n ] [^|\n]{0,59}
"""
)
_SYSTEM = (
    f"You list what a text states, as lines 'subject | relation | object', at most {MOST}, the most telling first. "
    "Subjects and objects are names, things, places, dates or amounts, copied from the text, and short. "
    "Write the title instead of he, she, it or they."
)
_EXAMPLES = (
    (
        "Title: Odile Varro\nText: Odile Varro was an engineer born in Lindmoor in 1881. She designed Tarn Bridge, "
        "which opened in 1924.",
        "Odile Varro | was | engineer\nOdile Varro | was born in | Lindmoor\nOdile Varro | was born in | 1881\n"
        "Odile Varro | designed | Tarn Bridge\nTarn Bridge | opened in | 1924\n",
    ),
    (
        "Title: The Glass Orchard\nText: The Glass Orchard is a novel by Irma Feld. It is set in Old Town.",
        "The Glass Orchard | is | novel\nThe Glass Orchard | was written by | Irma Feld\n"
        "The Glass Orchard | is set in | Old Town\n",
    ),
)


class ModelExtractor:
    """Tuples that a local language model lists under a grammar, one greedy completion for each passage.

    A tuple is dropped, and counted, whose line was cut short, whose relation is denied, whose head or tail does not
    stand in the passage or as its title, whose ends are the same, or that was listed before. The confidences are
    `ParseExtractor`'s, with the parse telling the ends' types: `factual` loses 0.3 of itself for an end that is the
    title where the sentence does not name it, and half where the sentence or the relation is hedged; `salience` and
    `bridge` are the same.

    Parameters
    ----------
    generator
        The local model.
    seed
        Handed to it.
    """

    def __init__(self, generator: Generator, seed: int = 0) -> None:
        self._generator = generator
        self._seed = seed
        self._dropped: Counter[str] = Counter()

    @property
    def id(self) -> str:
        """Version of the prompt, and the model with the start of its weights' hash."""
        return f"{PROMPT}/{self._generator.id}"

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many tuples it has found so far and not kept, by reason."""
        return dict(self._dropped)

    def extract(self, passages: Sequence[ParsedPassage]) -> list[EvidenceTuple]:
        """Give the tuples of one document's passages, in reading order, each once for a passage."""
        return [one for parsed in passages for one in self._of_passage(parsed)]

    def _of_passage(self, parsed: ParsedPassage) -> Iterator[EvidenceTuple]:
        title = document_title(parsed.passage.title)
        prompt = Prompt(_SYSTEM, f"Title: {title}\nText: {' '.join(parsed.passage.text.split())}", _EXAMPLES)
        [done] = self._generator.complete(prompt, grammar=_GRAMMAR, max_tokens=_TOKENS, seed=self._seed)
        lines = done.text.splitlines()
        if done.tokens_out >= _TOKENS and lines:
            lines.pop()
            self._dropped["cut short"] += 1
        read = PassageReading(parsed, title)
        seen: set[tuple[str, str, str]] = set()
        for line in lines:
            found = read.tuple_of(line)
            if isinstance(found, str):
                self._dropped[found] += 1
            elif (key := (found.head, found.relation, found.tail)) in seen:
                self._dropped["repeated"] += 1
            else:
                seen.add(key)
                yield found


class PassageReading:
    """Finds in a parsed passage what the model says of it."""

    def __init__(self, parsed: ParsedPassage, title: str) -> None:
        self._parsed = parsed
        self._title = title
        self._spans = typed_spans(parsed.doc, title)
        self._lines = [_plain(parsed.doc[start:end].text) for start, end in parsed.spans]

    def tuple_of(self, line: str) -> EvidenceTuple | str:
        """The tuple of one line, or the reason why it is none."""
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not all(parts):
            return "not three parts"
        words = parts[1].lower()
        if _NEGATIONS & set(words.split()):
            return "denied"
        head, tail = self._mention(parts[0]), self._mention(parts[2])
        if head is None or tail is None:
            return "head not in the passage" if head is None else "tail not in the passage"
        if normalise_anchor(head.text) == normalise_anchor(tail.text):
            return "ends are the same"
        place = self._sentence(head, tail)
        hedged = bool((MODALS | DOUBTING) & set(words.split()) or DOUBTING & set(self._lines[place].split()))
        relation = Relation(self._here(head, place), words, self._here(tail, place), hedged)
        return evidence_tuple(relation, self._parsed.passage.id, 1.0 - place / len(self._lines))

    def _mention(self, text: str) -> Mention | None:
        """What the model's words mention: the title, a typed fact or a part of one, or other words of the passage."""
        if self._title and (text.lower() in PRONOUNS or normalise_anchor(text) == normalise_anchor(self._title)):
            return Mention(self._title, "NAME", is_title=True)
        anchor, plain = normalise_anchor(text), _plain(text)
        for span in self._spans:
            if anchor and span.anchor == anchor:
                return Mention(self._parsed.doc[span.start : span.end].text, span.type)
        if not plain.strip() or not any(plain in line for line in self._lines):
            return None
        around = (s.type for s in self._spans if plain in _plain(self._parsed.doc[s.start : s.end].text))
        return Mention(text, next(around, "CONCEPT"))

    def _sentence(self, head: Mention, tail: Mention) -> int:
        """The first sentence that names most of the two ends; one that names only the title comes last."""
        ends = (head, tail)
        named = [(sum(_plain(end.text) in line for end in ends if not end.is_title), line) for line in self._lines]
        worth = [(others, any(_plain(end.text) in line for end in ends if end.is_title)) for others, line in named]
        return worth.index(max(worth))

    def _here(self, end: Mention, place: int) -> Mention:
        """An end as a sentence mentions it: the title is resolved where the sentence does not name it."""
        resolved = end.is_title and _plain(end.text) not in self._lines[place]
        return Mention(end.text, end.type, end.is_title, resolved)


def _plain(text: str) -> str:
    """The words of a text in lower case, each between spaces, so that whole words are found in it."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
