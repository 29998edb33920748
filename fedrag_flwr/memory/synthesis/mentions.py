"""What a paragraph's pronouns, short names and definite descriptions stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import Classes, is_name_token, name_span, name_text, plain
from fedrag_flwr.memory.synthesis.topic import Topic
from fedrag_flwr.text.base import ParsedPassage

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_PERSONAL = frozenset(("he", "she", "him", "himself", "herself"))
_PERSONAL_POSSESSIVE = frozenset(("his", "her", "hers"))
_THING = frozenset(("it", "itself"))
_PRONOUN_LEMMAS = _PERSONAL | _PERSONAL_POSSESSIVE | _THING | {"its", "they", "them", "their", "theirs", "themselves"}


@dataclass(frozen=True, slots=True)
class Referent:
    """What one mention stands for: a surface text to put in its place, and whether it is possessive."""

    text: str
    possessive: bool
    start: int
    end: int


def _continues(span: Span) -> bool:
    """Whether a name goes on beyond a span ("Hubble Space Telescope" in "Hubble Space Telescope Institute")."""
    doc = span.doc
    after = doc[span.end] if span.end < len(doc) else None
    before = doc[span.start - 1] if span.start > 0 else None
    return (after is not None and is_name_token(after)) or (
        before is not None and is_name_token(before) and before.dep_ == "compound"
    )


def topic_noun(token: Token, topic: Topic | None, start: int) -> bool:
    """Whether a token is the noun of "the spacecraft" that means the topic."""
    return topic is not None and token.lower_ in topic.nouns and token.i > start and token.nbor(-1).lower_ == "the"


class Mentions:
    """Replaces pronouns, short names and definite descriptions of one paragraph by what they stand for."""

    def __init__(self, parsed: ParsedPassage, topic: Topic | None, classes: Classes, carried: str = "") -> None:
        self.topic = topic
        self._classes = classes
        self._by_token: dict[int, Referent] = {}
        self._unresolved: set[int] = set()
        self.last_subject = carried
        self._last_person = ""
        for start, end in parsed.spans:
            self._sentence(parsed.doc, start, end)

    def referent(self, token: Token) -> Referent | None:
        """Give what stands in a token's place, if anything."""
        return self._by_token.get(token.i)

    def unresolved(self, token: Token) -> bool:
        """Whether a token is a pronoun whose meaning is unknown."""
        return token.i in self._unresolved

    def entity(self, head: Token) -> str:
        """Give the name that a noun phrase's head stands for, "" when it is no name."""
        referent = self._by_token.get(head.i)
        if referent is not None:
            return referent.text
        return name_text(name_span(head))

    def _sentence(self, doc: Doc, start: int, end: int) -> None:
        chunks = list(doc[start:end].noun_chunks)
        subject = ""
        self._aliases(doc, start, end)
        for chunk in chunks:
            head = chunk.root
            if head.i in self._by_token:
                named = self.entity(head)
                if head.dep_ in ("nsubj", "nsubjpass") and not subject:
                    subject = named
                continue
            referent = self._resolve(chunk[0], chunk[-1], head, subject)
            if referent:
                self._put(chunk.start, chunk.end, referent, chunk[-1].tag_ == "POS")
            named = self.entity(head)
            if named and self._classes.type_of(named) == "PERSON":
                self._last_person = named
            if head.dep_ in ("nsubj", "nsubjpass") and head.lower_ not in ("that", "which", "who") and not subject:
                subject = named or ("" if head.pos_ == "PRON" else self._described(chunk.text))
        for token in doc[start:end]:
            if (
                token.tag_ == "POS"
                and token.i > start
                and topic_noun(token.nbor(-1), self.topic, start)
                and token.i - 1 not in self._by_token
            ):
                self._put(token.i - 2, token.i + 1, self.topic.name if self.topic is not None else "", True)
        for token in doc[start:end]:
            lowered = token.lower_
            if token.i in self._by_token or lowered not in _PRONOUN_LEMMAS:
                continue
            possessive = token.tag_ == "PRP$" or lowered in ("its", "their", "his")
            text = self._antecedent(lowered, subject if token.dep_ not in ("nsubj", "nsubjpass") else "")
            if text:
                self._put(token.i, token.i + 1, text, possessive)
            else:
                self._unresolved.add(token.i)
        self.last_subject = subject or self.last_subject

    def _aliases(self, doc: Doc, start: int, end: int) -> None:
        """Replace the topic's longer names wherever they stand whole, also where the parse cuts them apart."""
        topic = self.topic
        if topic is None:
            return
        text, offset = doc[start:end].text.lower(), doc[start].idx
        for alias in sorted(topic.aliases, key=len, reverse=True):
            if " " not in alias and not any(char.isdigit() for char in alias):
                continue
            for match in re.finditer(re.escape(alias), text):
                span = doc.char_span(offset + match.start(), offset + match.end())
                if span is None or any(token.i in self._by_token for token in span) or _continues(span):
                    continue
                first = span.start - 1 if span.start > start and doc[span.start - 1].lower_ == "the" else span.start
                possessive = span.end < end and doc[span.end].tag_ == "POS"
                self._put(first, span.end + possessive, topic.name, possessive)

    def _described(self, text: str) -> str:
        """A subject without a name ("the primary mirror") blocks "it" only when nothing ties it to the topic."""
        del text
        return self.topic.name if self.topic and not self.topic.person else ""

    def _put(self, start: int, end: int, text: str, possessive: bool) -> None:
        referent = Referent(text, possessive, start, end)
        for index in range(start, end):
            self._by_token[index] = referent

    def _resolve(self, first: Token, last: Token, head: Token, subject: str) -> str:
        topic = self.topic
        if head.pos_ == "PRON":
            if head.dep_ == "expl" or head.lower_ not in _PRONOUN_LEMMAS:
                return ""
            text = self._antecedent(head.lower_, subject)
            if not text:
                self._unresolved.add(head.i)
            return text
        if topic is None:
            return ""
        end = last.i if last.tag_ == "POS" else last.i + 1
        phrase = plain(head.doc[first.i : end].text)
        if phrase in topic.aliases:
            return topic.name
        if first.lower_ in ("the", "this") and head.lemma_.lower() in topic.nouns and head.i - first.i <= 4:
            middle = list(head.doc[first.i + 1 : head.i])
            if all(
                token.lemma_.lower() in topic.nouns or token.lower_ == "same" or "-" in head.doc[first.i : head.i].text
                for token in middle
            ):
                restricted = any(
                    child.dep_ in ("relcl", "acl", "prep", "appos", "nummod")
                    and child.i > head.i
                    and child.i - head.i <= 2
                    and (child.dep_ != "prep" or child.lower_ == "of")
                    for child in head.children
                )
                if not restricted and (head.tag_ in ("NN", "NNP") or head.lower_.endswith("craft")):
                    return topic.name
        return ""

    def _antecedent(self, pronoun: str, subject: str) -> str:
        topic = self.topic
        if pronoun in _PERSONAL or pronoun in _PERSONAL_POSSESSIVE:
            if topic is not None and topic.person:
                return topic.name
            return self._last_person
        if pronoun in _THING or pronoun == "its":
            for text in (subject, self.last_subject):
                if text and self._may_be_it(text):
                    return text
            return topic.name if topic is not None and not topic.person and not topic.plural else ""
        return topic.name if topic is not None and topic.plural else ""

    def _may_be_it(self, text: str) -> bool:
        """Whether "it" may mean a subject: the topic, or a name that is known to be a thing."""
        if " and " in text or self._classes.type_of(text) == "PERSON":
            return False
        topic = self.topic
        if topic is None or text == topic.name or plain(text) in topic.aliases:
            return True
        return topic.person or bool(self._classes.of(text))
