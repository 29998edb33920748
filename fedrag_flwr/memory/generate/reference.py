"""What a document is about, and what its pronouns and short descriptions stand for.

A pronoun stands for what the document is about, or for nothing that can be asked: a question with the wrong name is
worse than no question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.memory.generate.clauses import SUBJECTS
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.facts import TypedSpan, typed_spans
from fedrag_flwr.text.lexicon import HEAD_TYPE, is_person, words
from fedrag_flwr.text.names import NUMERIC_TYPES, plain_title
from fedrag_flwr.text.segment import document_title
from fedrag_flwr.text.words import normalise_anchor

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

PRONOUNS = words("he she it they him her them his hers its their theirs himself herself itself themselves")
_POSSESSIVE = words("his her its their")
_MALE, _FEMALE, _NEUTER = words("he him his himself"), words("she her hers herself"), words("it its itself")
_VAGUE = words("one part member type kind name thing place way example result person people case way title time")
_NO_NAMES = NUMERIC_TYPES | {"CONCEPT", "NORP", "TIME"}
_BESIDE = frozenset(("compound", "nmod", "appos", "pobj", "nsubj", "dobj"))
_IN_COMPANY_NAMES = words("hall industries ltd inc fc airlines records times club islands mountains laboratories party")
_DETERMINERS = words("the this that these those such another other both either each every any some")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a document is about."""

    name: str  # as it reads inside a sentence ("the Hubble Space Telescope")
    anchor: str  # the anchor of the facts that mean it
    nouns: frozenset[str]  # class nouns that the text gives it ("spacecraft"), by which "the spacecraft" means it
    pronouns: frozenset[str]  # those that may mean it


@dataclass(frozen=True, slots=True)
class Kinds:
    """The class noun of each name that a document tells, all of them, by the name's anchor; and persons' surnames."""

    noun: Mapping[str, str]
    all_nouns: Mapping[str, frozenset[str]]
    surnames: frozenset[str]

    @classmethod
    def of(cls, docs: Sequence[tuple[Doc, Sequence[TypedSpan]]]) -> Kinds:
        """Learn them from copulas ("X is a telescope"), nouns before names ("the rover X") and words in names."""
        votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        surnames: set[str] = set()
        for doc, spans in docs:
            for span in spans:
                if span.type == "CONCEPT":
                    continue
                if span.type == "PERSON" and span.end - span.start > 1:
                    surnames.add(doc[span.end - 1].text)
                if noun := _told_noun(doc, span):
                    votes[span.anchor][noun] += 1
        most = {name: max(sorted(counts), key=counts.__getitem__) for name, counts in votes.items()}
        return cls(most, {name: frozenset(counts) for name, counts in votes.items()}, frozenset(surnames))


def _told_noun(doc: Doc, span: TypedSpan) -> str:
    head = doc[span.start : span.end].root
    if head.dep_ == "nsubj" and head.head.lemma_ == "be":
        for attribute in head.head.children:
            single = attribute.dep_ == "attr" and attribute.tag_ == "NN" and attribute.i > span.end
            denied = any(one.dep_ == "neg" for one in head.head.children)
            if single and not denied and attribute.lemma_ not in _VAGUE:
                return str(attribute.lemma_.lower())
    before = doc[span.start - 1] if span.start > head.sent.start else None
    beside = before is not None and before.tag_ == "NN" and before.dep_ in _BESIDE
    if before is not None and beside and (before.head == head or head.head == before) and before.lemma_ not in _VAGUE:
        return str(before.lemma_.lower())
    last = doc[span.end - 1].text
    telling = span.end - span.start > 1 and last[:1].isupper() and last.lower() in HEAD_TYPE
    return last.lower() if telling and last.lower() not in _IN_COMPANY_NAMES else ""


def topic_of(
    passages: Sequence[ParsedPassage], docs: Sequence[tuple[Doc, Sequence[TypedSpan]]], kinds: Kinds
) -> Topic | None:
    """Find what a document is about by its title; None where the text never names that."""
    title = plain_title(document_title(passages[0].passage.title))
    anchor = normalise_anchor(title)
    types = Counter(span.type for _, spans in docs for span in spans if span.anchor == anchor)
    if not types or types.most_common(1)[0][0] in ("CONCEPT", "DATE", "YEAR", "CARDINAL", "QUANTITY"):
        return None
    text = " ".join(doc.text for doc, _ in docs)
    named = len(re.findall(rf"\b{re.escape(title)}\b", text))
    definite = len(re.findall(rf"\b[Tt]he {re.escape(title)}\b", text))
    bare = title[4:] if title.startswith("The ") else title
    if not title[1:2].isupper() and text.count(title[0].lower() + title[1:]) > named:
        bare = title = title[0].lower() + title[1:]
    name = f"the {bare}" if bare != title or (named and definite * 2 > named) else title
    said = Counter(token.lower_ for doc, _ in docs for token in doc if token.lower_ in PRONOUNS)
    he, she = (sum(said[one] for one in forms) for forms in (_MALE, _FEMALE))
    nouns = kinds.all_nouns.get(anchor, frozenset())
    # many places look like persons to the recogniser: what is called a thing, and never he or she, is none
    person = types["PERSON"] * 2 >= sum(types.values()) and bool(he or she or not nouns or any(map(is_person, nouns)))
    pronouns = (_MALE if he > she else _FEMALE if she > he else frozenset[str]()) if person else _NEUTER
    return Topic(name, anchor, nouns, pronouns)


class Reference:
    """Names for the words of one passage."""

    def __init__(self, parsed: ParsedPassage, spans: Sequence[TypedSpan], topic: Topic | None) -> None:
        self.topic = topic
        self.spans = {index: span for span in spans for index in range(span.start, span.end)}
        self._means: dict[int, tuple[int, int]] = {}  # by first token: the tokens that the topic's name replaces
        if topic is not None:
            leads = True
            for start, end in parsed.spans:
                leads = self._read(parsed.doc, start, end, topic, leads)

    def means_topic(self, token: Token) -> bool:
        """Whether a token stands for, or names, what the document is about."""
        span = self.spans.get(token.i)
        named = self.topic is not None and span is not None and span.anchor == self.topic.anchor
        return named or any(start <= token.i < end for start, end in self._means.values())

    def write(self, tokens: Sequence[Token], *, keep: bool = False) -> str | None:
        """Write tokens out with names for what stands for one; None where a pronoun stays unclear.

        `keep` leaves the topic's own possessives as they are, since the sentence names it already.
        """
        pieces: list[str] = []
        inside = {token.i for token in tokens}
        skip = -1
        for place, token in enumerate(tokens):
            if token.i < skip:
                continue
            found = self._means.get(token.i)
            if found is not None and all(index in inside for index in range(*found)) and self.topic is not None:
                if not (keep and token.lower_ in _POSSESSIVE):
                    possessive = token.lower_ in _POSSESSIVE and token.tag_ == "PRP$"
                    after = token.doc[found[1]] if found[1] < len(token.doc) else None
                    glued = after is not None and after.tag_ == "POS" and after.i in inside
                    ending = ("'" if self.topic.name.endswith("s") else "'s") if possessive else ""
                    pieces.append(self.topic.name + ending + ("" if glued else " "))
                    skip = found[1]
                    continue
            elif token.lower_ in PRONOUNS or token.tag_ in ("WDT", "WP", "WP$"):
                return None
            text = token.text
            span = self.spans.get(token.i)
            common = span is None or span.type == "CONCEPT" or text in ("A", "The", "An")
            if (
                token.is_sent_start
                and common
                and token.pos_ != "PROPN"
                and not any(char.isupper() for char in text[1:])
            ):
                text = text.lower()
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            near = following is not None and following.i == token.i + 1
            pieces.append(text + (token.whitespace_ if near else " "))
        return tidy("".join(pieces))

    def is_clear(self, head: Token, tokens: Sequence[Token]) -> bool:
        """Whether a phrase says by itself what it means: a name, or a noun that needs no sentence before it."""
        if any(token.i in self._means for token in tokens) or self.spans_names(tokens):
            return True
        if head.pos_ == "PRON" or head.lemma_.lower() in _VAGUE:
            return False
        first = next((token for token in tokens if token.pos_ != "ADP"), head)
        told = [token for token in tokens if token.pos_ in ("NOUN", "ADJ", "NUM") and token.lower_ not in _DETERMINERS]
        if any(token.lower_ in _DETERMINERS and token.dep_ in ("det", "amod") for token in tokens[:2]):
            return len(told) > 2 and first.lower_ == "the"
        return True

    def is_named(self, tokens: Sequence[Token]) -> bool:
        """Whether a phrase holds a name, or a word that stands for the topic."""
        return self.spans_names(tokens) or any(map(self.means_topic, tokens))

    def spans_names(self, tokens: Sequence[Token]) -> bool:
        """Whether a phrase holds a name."""
        found = (self.spans.get(token.i) for token in tokens)
        return any(span is not None and span.type not in _NO_NAMES for span in found)

    def _read(self, doc: Doc, start: int, end: int, topic: Topic, leads: bool) -> bool:
        """Note what one sentence's words stand for; give whether the topic is its subject.

        A pronoun goes back to the subject of its own sentence, and opens it where the last one had the topic's subject.
        """
        subject = next((t for t in doc[start:end] if t.dep_ in SUBJECTS and t.head.dep_ == "ROOT"), None)
        own = False
        for token in doc[start:end]:
            span = self.spans.get(token.i)
            if span is not None and span.anchor == topic.anchor:
                if token.i == span.start:
                    self._means[self._from(doc, span)] = (self._from(doc, span), span.end)
                own = own or token == subject
            elif token.lower_ in topic.pronouns and token.pos_ in ("PRON", "DET"):
                opens = subject is None or token.i <= subject.i
                followed = own or (leads and opens)
                if followed and not (token.lower_ == "it" and token.dep_ not in ("nsubj", "nsubjpass")):
                    self._means[token.i] = (token.i, token.i + 1)
                    own = own or token == subject
            elif self._is_class(token, topic):
                self._means[token.i - 1] = (token.i - 1, token.i + 1)
                own = own or token == subject
        return own or (subject is None and leads)

    def _from(self, doc: Doc, span: TypedSpan) -> int:
        """The first token that a name's writing replaces: an article belongs to it."""
        before = span.start - 1
        return before if before >= 0 and doc[before].lower_ == "the" else span.start

    def _is_class(self, token: Token, topic: Topic) -> bool:
        """Whether "the spacecraft" means the topic."""
        if (
            token.lemma_.lower() not in topic.nouns
            or token.tag_ != "NN"
            or not token.i
            or token.nbor(-1).lower_ not in ("the", "this")
        ):
            return False
        return not any(child.dep_ in ("prep", "relcl", "acl", "appos", "compound", "amod") for child in token.children)


def read_spans(parsed: ParsedPassage) -> tuple[TypedSpan, ...]:
    """The typed facts of a passage as spans of its parse."""
    return typed_spans(parsed.doc, document_title(parsed.passage.title))


def tidy(text: str) -> str:
    """Close the gaps that left-out words leave: double spaces, spaces before commas, loose punctuation."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s+([,.;:!?’)])", r"\1", text)
    text = re.sub(r"\(\s*\)|,\s*,", "", text)
    return text.strip(" ,;:–—-")
