"""What the nouns and pronouns of a parse mention: a fact's text, a noun phrase, or the document's title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.text.facts import TypedSpan
from fedrag_flwr.text.words import normalise_anchor

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

PRONOUNS = frozenset({"he", "she", "it", "they", "him", "her", "them", "his", "hers", "its", "their"})
_DENYING = frozenset({"no", "neither", "hardly", "barely"})
_DEFINITE = frozenset({"the", "this"})


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing that a noun or pronoun mentions."""

    text: str  # as the passage writes it, or the document's title
    type: str  # the fact's type; CONCEPT for another noun phrase
    is_title: bool = False  # whether it is what the document is about
    resolved: bool = False  # whether a pronoun or a class noun stands for it here


class Mentions:
    """Looks up what tokens of one parsed passage mention.

    Parameters
    ----------
    doc
        The passage's parse.
    spans
        Its typed facts.
    title
        The document's title; empty: pronouns mention nothing.
    classes
        Class nouns that earlier passages gave the title ("film").
    """

    def __init__(self, doc: Doc, spans: Sequence[TypedSpan], title: str, classes: frozenset[str]) -> None:
        self._spans = {index: span for span in spans for index in range(span.start, span.end)}
        self._doc = doc
        self._title = title
        self._anchor = normalise_anchor(title)
        self.classes = classes | self._defining(doc)

    def conjuncts(self, token: Token) -> list[Mention]:
        """What a token and the tokens that it is joined to by "and" mention."""
        found = [self.of(one) for one in (token, *(other for other in token.conjuncts if other.i > token.i))]
        return list(dict.fromkeys(mention for mention in found if mention is not None))

    def of(self, token: Token) -> Mention | None:
        """What a token mentions, None if it is no noun and no third-person pronoun, or is said not to be there."""
        if any(child.lower_ in _DENYING for child in token.lefts):
            return None
        if token.pos_ == "PRON" or token.lower_ in PRONOUNS:
            known = self._title and token.lower_ in PRONOUNS
            return Mention(self._title, "NAME", is_title=True, resolved=True) if known else None
        span = self._spans.get(token.i)
        if span is not None and span.anchor == self._anchor:
            return Mention(self._title, span.type, is_title=True)
        if self._is_class(token):
            return Mention(self._title, "NAME", is_title=True, resolved=True)
        if span is not None:
            return Mention(self._doc[span.start : span.end].text, span.type)
        if token.pos_ not in {"NOUN", "PROPN", "NUM"} or not any(char.isalnum() for char in token.text):
            return None
        words = [one for one in token.lefts if one.dep_ in {"compound", "amod", "nummod", "nmod"}]
        return Mention(" ".join(one.text for one in (*words, token)), "CONCEPT")

    def _is_class(self, token: Token) -> bool:
        determined = any(child.dep_ == "det" and child.lower_ in _DEFINITE for child in token.children)
        bare = not any(child.dep_ in {"prep", "relcl", "acl", "compound", "amod"} for child in token.children)
        return determined and bare and token.lemma_.casefold() in self.classes

    def _defining(self, doc: Doc) -> frozenset[str]:
        """The nouns that the passage says its title to be: "Vertigo is a film" gives "film"."""
        return frozenset(
            attribute.lemma_.casefold()
            for token in doc
            if token.dep_ == "nsubj" and token.head.lemma_ == "be" and self._names_title(token)
            for attribute in token.head.children
            if attribute.dep_ == "attr" and attribute.pos_ == "NOUN"
        )

    def _names_title(self, token: Token) -> bool:
        span = self._spans.get(token.i)
        return bool(self._anchor) and span is not None and span.anchor == self._anchor
