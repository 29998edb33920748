"""Whom "he" and "she" may mean in a paragraph about a person: the topic, as long as no other person came between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.lexicon import PERSON_NOUNS, words_of

if TYPE_CHECKING:
    from spacy.tokens import Token

SUBJECTS = ("nsubj", "nsubjpass")
_MALE = words_of("he him his himself")
_FEMALE = words_of("she her hers herself")
_MEN = words_of(
    "man boy king prince emperor duke businessman nobleman lord baron count earl son father brother husband grandson "
    "nephew pope monk priest actor"
)
_WOMEN = words_of(
    "woman girl actress queen princess empress duchess businesswoman schoolgirl daughter mother sister wife "
    "granddaughter niece"
)
_KIN = words_of("parent grandfather grandmother uncle aunt stepfather stepmother widow widower fiancé fiancée partner")
_PEOPLE = PERSON_NOUNS | _MEN | _WOMEN | _KIN


def gender_of(word: str) -> str:
    """Give the pronoun that a word agrees with, "he" or "she", "" when it tells none."""
    if word in _MALE or word in _MEN:
        return "he"
    return "she" if word in _FEMALE or word in _WOMEN else ""


class Focus:
    """Keeps who a paragraph is speaking of, clause by clause, and says whether a pronoun may mean the topic.

    Parameters
    ----------
    gender
        The pronoun that the document mostly says, "he" or "she"; "" when it says both as often.
    """

    def __init__(self, gender: str) -> None:
        self._gender = gender
        self._main = True  # whether the topic is the subject of the last main clause
        self._last = True  # and of the last clause of any kind
        self._near: set[str] = set()  # persons named since the topic was the subject
        self._others: set[str] = set()  # of these, those that what is said of the topic does not name
        self._before: dict[int, bool] = {}  # by subject: whether an object of its verb may be the topic

    def names(self, head: Token, name: str, *, topic: bool, person: bool, unknown: bool, owned: bool) -> None:
        """Take note of a noun phrase: what it names, and whether that is the topic or another person.

        Parameters
        ----------
        head
            Its head.
        name
            What it names, "" when it only describes.
        topic, person, unknown
            Whether it means the topic, names a person, or has a name that may be anyone's.
        owned
            Whether it is the topic's ("his music"), by which a text goes on speaking of the topic.
        """
        subject = head.dep_ in SUBJECTS and head.tag_[:1] != "W"
        if subject and self._gender and gender_of(head.lemma_.lower()) not in ("", self._gender):
            return  # "his wife" is nobody whom "he" may mean
        other = not topic and (person or self._is_described(head))
        leads = topic or (owned and not other)
        if subject:
            self._before[head.i] = not topic and self._leads() and not self._near
            self._last = leads
            if head.head.dep_ in ("ROOT", "conj"):
                self._main = leads
        if topic and subject:
            self._near.clear()
            self._others.clear()
        elif other or (unknown and not topic):
            self._near.add(name or head.lower_)
            if other and (subject or not self._main):
                self._others.add(name or head.lower_)

    def _is_described(self, head: Token) -> bool:
        """Whether a noun tells of another person that the topic's pronoun fits ("her husband")."""
        lemma = head.lemma_.lower()
        fitting = not self._gender or gender_of(lemma) in ("", self._gender)
        return head.tag_ == "NN" and lemma in _PEOPLE and fitting and head.dep_ in SUBJECTS

    def _leads(self) -> bool:
        return self._main or self._last or not self._others

    def may_be_topic(self, pronoun: Token) -> bool:
        """Whether a personal pronoun may mean the topic."""
        if self._gender and gender_of(pronoun.lower_) != self._gender:
            return False
        if pronoun.dep_ in ("dobj", "dative", "pobj") and not pronoun.lower_.endswith("self"):
            subject = _subject_over(pronoun)
            if subject is not None and subject.i in self._before and pronoun.i > subject.i:
                return self._before[subject.i] or (pronoun.dep_ == "pobj" and self._leads())
        return self._leads()


def _subject_over(token: Token) -> Token | None:
    """Give the subject of the clause that a word stands in."""
    for above in token.ancestors:
        for child in above.children:
            if child.dep_ in SUBJECTS:
                return child
        if above.dep_ in ("relcl", "acl"):
            return None
    return None
