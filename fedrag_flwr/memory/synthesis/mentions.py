"""What a paragraph's pronouns, short names and definite descriptions stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import Classes, is_name_token, name_span, name_text, plain, type_of_noun
from fedrag_flwr.memory.synthesis.focus import SUBJECTS, Focus
from fedrag_flwr.memory.synthesis.topic import Topic
from fedrag_flwr.text.base import ParsedPassage

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_PERSONAL = frozenset(("he", "she", "him", "himself", "herself"))
_PERSONAL_POSSESSIVE = frozenset(("his", "her", "hers"))
_THING = frozenset(("it", "itself"))
_PLACES = frozenset(("GPE", "LOC", "FAC"))
_ACTING = (*SUBJECTS, "dobj", "dative", "conj", "appos")
_TITLES = frozenset(("dr.", "mr.", "mrs.", "ms.", "sir", "lady", "lord", "saint", "st.", "prof.", "professor"))
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

    def __init__(
        self,
        parsed: ParsedPassage,
        topic: Topic | None,
        classes: Classes,
        carried: str = "",
        *,
        opening: bool = False,
    ) -> None:
        self.topic = topic
        self._classes = classes
        self._by_token: dict[int, Referent] = {}
        self._unresolved: set[int] = set()
        self.last_subject = carried
        self._people: list[str] = []  # the names so far that may be a person's, each once
        self._first = parsed.spans[0] if opening and parsed.spans else None
        self._acting: Token | None = None  # the head of the sentence's subject
        self._focus = Focus(topic.gender if topic is not None else "")
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
        subject, self._acting = "", None
        self._aliases(doc, start, end)
        for chunk in chunks:
            head = chunk.root
            self._possessives(doc, chunk.start, chunk.end, subject)
            if head.i in self._by_token:
                named = self.entity(head)
                self._note(head, named)
                if head.dep_ in ("nsubj", "nsubjpass") and not subject:
                    subject, self._acting = named, head
                continue
            referent = self._resolve(chunk[0], chunk[-1], head, subject)
            if referent:
                self._put(chunk.start, chunk.end, referent, chunk[-1].tag_ == "POS")
            named = self.entity(head)
            self._note(head, named)
            self._meets(head, named)
            if head.dep_ in ("nsubj", "nsubjpass") and head.lower_ not in ("that", "which", "who") and not subject:
                subject = named or ("" if head.pos_ == "PRON" else self._described(chunk))
                others = [token.text for token in head.conjuncts if token.i > head.i]
                subject = " and ".join([subject, *others]) if subject else ""
                self._acting = head
        for token in doc[start:end]:
            if self.topic is None or token.tag_ != "POS" or token.i == start or token.i - 1 in self._by_token:
                continue
            if topic_noun(token.nbor(-1), self.topic, start):
                if self._is_rivalled(token.nbor(-1), self.topic, ""):
                    self._unresolved.add(token.i - 1)
                else:
                    self._put(token.i - 2, token.i + 1, self.topic.name, True)
        for token in doc[start:end]:
            self._pronoun(token, subject)
        if self._acting is not None and not self.entity(self._acting) and self._names_topic(start, end):
            subject = self.topic.name if self.topic is not None else ""
        self.last_subject = subject or self.last_subject

    def _names_topic(self, start: int, end: int) -> bool:
        referents = filter(None, map(self._by_token.get, range(start, end)))
        return self.topic is not None and any(referent.text == self.topic.name for referent in referents)

    def _meets(self, head: Token, named: str) -> None:
        """Take note of a name that "he" or "she" may mean; the parse takes some for places ("Leo Park")."""
        if not named or self._is_topic(named):  # a topic that is a person is kept elsewhere
            return
        type_ = self._classes.type_of(named)
        may_act = head.dep_ in _ACTING and (type_ == "NAME" or (type_ in _PLACES and len(named.split()) == 2))
        if type_ != "PERSON" and not may_act:
            return
        words = set(plain(named).split())
        for place, known in enumerate(self._people):
            whole = set(plain(known).split())
            if words <= whole or whole <= words:
                self._people[place] = max(known, named, key=len)
                return
        self._people.append(named)

    def _note(self, head: Token, named: str) -> None:
        """Tell the paragraph's focus whom a noun phrase names."""
        topic = self.topic
        if topic is None or not topic.person or (head.lower_ in _PERSONAL and not named):
            return
        type_ = self._classes.type_of(named) if named else ""
        is_topic = bool(named) and (self._is_topic(named) or self._defines(head))
        person = type_ == "PERSON" or (type_ == "NAME" and head.ent_type_ == "PERSON")
        unknown = type_ == "NAME"
        owners = [
            self._by_token[child.i] for child in head.children if child.dep_ == "poss" and child.i in self._by_token
        ]
        owned = any(self._is_topic(owner.text) for owner in owners)
        self._focus.names(head, named, topic=is_topic, person=person, unknown=unknown, owned=owned)

    def _is_topic(self, named: str) -> bool:
        """Whether a name is one of the topic's, one word of it, or holds all of it ("Sir Ian Holm CBE")."""
        topic = self.topic
        if topic is None or named == topic.name or plain(named) in topic.aliases:
            return topic is not None
        whole, words = set(plain(topic.name).split()), set(plain(named).split()) - _TITLES
        return whole <= words or (len(words) == 1 and words <= whole)

    def _defines(self, head: Token) -> bool:
        """Whether a document's first words say who the topic is by a fuller name ("Erika Mitchell, known as ...")."""
        if self._first is None or not self._first[0] <= head.i < self._first[1] or head.dep_ not in SUBJECTS:
            return False
        behind = [token for token in head.doc[head.head.i : self._first[1]] if token.i in self._by_token]
        named = any(self._is_topic(self._by_token[token.i].text) for token in behind if token.pos_ == "PROPN")
        return head.head.lemma_ == "be" and not named

    def _possessives(self, doc: Doc, start: int, end: int, subject: str) -> None:
        """Replace "his" within a noun phrase before the phrase itself is taken note of."""
        for token in doc[start:end]:
            if token.tag_ == "PRP$":
                self._pronoun(token, subject)

    def _pronoun(self, token: Token, subject: str) -> None:
        lowered = token.lower_
        if token.i in self._by_token or token.i in self._unresolved or lowered not in _PRONOUN_LEMMAS:
            return
        possessive = token.tag_ == "PRP$" or lowered in ("its", "their", "his")
        text = self._antecedent(token, subject if token.dep_ not in ("nsubj", "nsubjpass") else "")
        if text:
            self._put(token.i, token.i + 1, text, possessive)
        else:
            self._unresolved.add(token.i)

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

    def _described(self, chunk: Span) -> str:
        """Give what "it" means behind a subject without a name: the topic, where "the" or an owner ties it to that.

        Any other single thing ("a fire") it may mean as well; people, and several things, it never means.
        """
        topic, head = self.topic, chunk.root
        if topic is None or topic.person:
            return ""
        owner = next((token for token in chunk if token.dep_ == "poss"), None)
        owned = owner is not None and self._is_topic(self.entity(owner))
        if owned or chunk[0].lower_ in ("the", "this") or not self._is_another_thing(chunk.text, topic):
            return topic.name
        several = head.tag_ in ("NNS", "NNPS") or any(child.dep_ == "conj" for child in head.children)
        if several or type_of_noun(head.lemma_) == "PERSON":
            return ""
        return chunk.text if chunk[0] == head else plain(chunk.text)

    def _put(self, start: int, end: int, text: str, possessive: bool) -> None:
        referent = Referent(text, possessive, start, end)
        for index in range(start, end):
            self._by_token[index] = referent

    def _resolve(self, first: Token, last: Token, head: Token, subject: str) -> str:
        topic = self.topic
        if head.pos_ == "PRON":
            if head.dep_ == "expl" or head.lower_ not in _PRONOUN_LEMMAS:
                return ""
            text = self._antecedent(head, subject)
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
                    if not self._is_rivalled(head, topic, subject):
                        return topic.name
                    self._unresolved.add(head.i)
        return ""

    def _is_rivalled(self, noun: Token, topic: Topic, subject: str) -> bool:
        """Whether "the film" may mean the last subject as well: another film, or a name that nothing tells of."""
        text = self.last_subject if self._is_acted_on(noun) else subject or self.last_subject
        if " and " in text or not text or not self._is_another_thing(text, topic):
            return False
        if text.islower():
            return text.split()[-1] == noun.lower_
        kind, own, called = self._classes.type_of(text), self._classes.type_of(topic.name), self._classes.of(text)
        return called in topic.nouns if called else kind in ("NAME", own) or {kind, own} <= _PLACES

    def _antecedent(self, token: Token, subject: str) -> str:
        topic, pronoun = self.topic, token.lower_
        if pronoun in _PERSONAL or pronoun in _PERSONAL_POSSESSIVE:
            if topic is not None and topic.person:
                return topic.name if self._focus.may_be_topic(token) else ""
            return self._people[0] if len(self._people) == 1 and self._is_person(self._people[0]) else ""
        if pronoun in _THING or pronoun == "its":
            for text in ("" if self._is_acted_on(token) else subject, self.last_subject):
                if text and self._may_be_it(text):
                    return text
                if text and topic is not None and self._is_another_thing(text, topic):
                    return ""
            return topic.name if topic is not None and not topic.person and not topic.plural else ""
        return topic.name if topic is not None and topic.plural else ""

    def _is_acted_on(self, mention: Token) -> bool:
        """Whether "it" or "the film" is an object of the sentence's subject, or within it, and so does not mean it."""
        subject = self._acting
        if subject is None or mention.dep_ not in ("dobj", "dative", "pobj") or mention.lower_ == "itself":
            return False
        over = mention.head.head if mention.dep_ == "pobj" else mention.head
        return over == subject.head or subject in mention.ancestors

    def _is_person(self, name: str) -> bool:
        return self._classes.type_of(name) == "PERSON"

    def _is_another_thing(self, text: str, topic: Topic) -> bool:
        """Whether a subject is a thing of another name than the topic's, which "it" may mean as well."""
        words, whole = set(plain(text).split()), set(plain(topic.name).split())
        return self._classes.type_of(text) != "PERSON" and not (words <= whole or whole <= words)

    def _may_be_it(self, text: str) -> bool:
        """Whether "it" may mean a subject: the topic, or a name that is known to be a thing."""
        if " and " in text or self._classes.type_of(text) == "PERSON":
            return False
        topic = self.topic
        if topic is None or text == topic.name or plain(text) in topic.aliases:
            return True
        return topic.person or (not text.islower() and bool(self._classes.of(text)))
