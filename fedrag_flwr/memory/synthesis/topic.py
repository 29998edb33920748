"""What a document is about, and what its pronouns and short descriptions refer to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import (
    Classes,
    class_head,
    class_in_name,
    name_span,
    name_text,
    plain,
)
from fedrag_flwr.memory.synthesis.focus import gender_of
from fedrag_flwr.memory.synthesis.lexicon import RELATED_NOUNS
from fedrag_flwr.memory.synthesis.stating import is_said_to_be
from fedrag_flwr.text.segment import document_title

if TYPE_CHECKING:
    from spacy.tokens import Doc


@dataclass(frozen=True, slots=True)
class Topic:
    """The thing that a document is about.

    Parameters
    ----------
    name
        As it reads inside a sentence ("the Hubble Space Telescope").
    aliases
        Normalised names that mean it.
    nouns
        Class nouns that "the ..." may point back with.
    person, plural
        Whether "he" or "she", or "they", may mean it.
    gender
        Which of "he" and "she" the text says more often, "" when neither.
    """

    name: str
    aliases: frozenset[str]
    nouns: frozenset[str]
    person: bool
    plural: bool
    gender: str = ""


def find_topic(title: str, docs: Sequence[Doc], classes: Classes) -> Topic | None:
    """Find what a document is about from its title, or None when the text never names the title.

    Parameters
    ----------
    title
        The document's title; a part in brackets and section headings behind it do not count.
    docs
        The parsed paragraphs, in reading order.
    classes
        What the document's names are called.
    """
    name = re.sub(r"\s*\([^)]*\)", "", document_title(title)).strip()
    key = plain(name)
    if not key:
        return None
    text = " ".join(doc.text for doc in docs).replace("’", "'")
    lowered = text.lower()
    words = key.split()
    chunks = {plain(chunk.text) for doc in docs for chunk in doc.noun_chunks}
    names = {plain(name_text(name_span(token))) for doc in docs for token in doc if token.pos_ == "PROPN"}
    names |= {alias for alias in (key.split("/")[0],) if alias in lowered}
    bracket = re.search(r"\(([a-z][a-z -]*)\)\s*$", document_title(title))
    if bracket:
        classes.vote(name, bracket[1].split()[-1], 6)
    _learn_topic({key}, name, docs, classes)
    person = _is_person(name, words, lowered, classes)
    if person:
        classes.settle(name, "PERSON")
    short = {
        alias
        for alias in _short_names(words, person) & (chunks | names)
        if not re.search(rf"\b{re.escape(alias)}\b", text)
    }
    if key not in lowered and not short:
        return None
    others = {other for other in names if other not in short and other != key and not other.startswith(f"{words[0]} ")}
    clear = {alias for alias in short if not any(f" {alias}" in f" {other}" and other not in key for other in others)}
    clear |= _expansions(key, text, docs)
    for joined in re.findall(r"[^–]+", key):
        if len(joined) > 3 and joined in chunks | names and joined != key and not person:
            clear.add(joined.strip())
    nouns = _topic_nouns(name, clear, words, docs, classes)
    definite = re.search(r"\bthe " + re.escape(key) + r"\b", lowered) is not None
    display = name if not definite or name.lower().startswith("the ") else f"the {name}"
    display = "the " + display[4:] if display.startswith("The ") else display
    if display == name and text.count(name.lower()) > text.count(name):
        display = display[0].lower() + display[1:]
    return Topic(display, frozenset(clear | {key}), nouns, person, _is_plural(key, docs), _gender(lowered))


def _gender(text: str) -> str:
    words = [gender_of(word) for word in re.findall(r"\b(?:he|him|his|himself|she|her|hers|herself)\b", text)]
    difference = words.count("he") - words.count("she")
    return "" if difference == 0 else "he" if difference > 0 else "she"


def _is_person(name: str, words: list[str], text: str, classes: Classes) -> bool:
    """Whether a title is a person's name: by class, or two to four capitalised words that "he" and "she" go back to."""
    if classes.type_of(name) == "PERSON":
        return True
    if (
        classes.of(name)
        or any(char.isdigit() for char in name)
        or not 2 <= len(words) <= 4
        or class_in_name(plain(name))
    ):
        return False
    personal = len(re.findall(r"\b(?:he|she|his|her)\b", text))
    return name[:1].isupper() and personal >= 2 and personal > len(re.findall(r"\b(?:it|its)\b", text))


def _expansions(key: str, text: str, docs: Sequence[Doc]) -> set[str]:
    """Find the other form of a name: "TITLE (ABBR)", "ABBR, the Long Form,"."""
    found = {
        m[1].lower() for m in re.finditer(re.escape(key) + r"\s*\(([A-Z][A-Za-z0-9-]{1,11})\)", text, re.IGNORECASE)
    }
    for doc in docs[:1]:
        for token in doc:
            if token.dep_ == "appos" and plain(name_text(name_span(token.head))) == key and token.pos_ == "PROPN":
                form = plain(name_text(name_span(token)))
                if len(form.split()) > 2 and " and " not in form:
                    found.add(form)
    return found


def _learn_topic(aliases: set[str], name: str, docs: Sequence[Doc], classes: Classes) -> None:
    """Read the topic's class off its copulas, also where the tagger did not see that its name is a name."""
    for doc in docs:
        for chunk in doc.noun_chunks:
            root = chunk.root
            if root.dep_ != "nsubj" or root.head.lemma_ != "be" or plain(chunk.text) not in aliases:
                continue
            for attribute in root.head.children:
                head = class_head(attribute) if attribute.dep_ in ("attr", "acomp") else None
                if head is not None and is_said_to_be(attribute):
                    classes.vote(name, head.lemma_, 3)


def _topic_nouns(
    name: str, aliases: set[str], words: list[str], docs: Sequence[Doc], classes: Classes
) -> frozenset[str]:
    nouns = set(classes.all_of(name))
    for alias in aliases:
        nouns |= classes.all_of(alias) | {class_in_name(alias)} - {""}
    if words[-1].isalpha():
        nouns.add(words[-1])
    groups = [group for group in RELATED_NOUNS if group & nouns]
    if not groups and classes.type_of(name) != "PERSON":
        # nothing says what it is, but "the spacecraft" as a bare subject goes back to it
        counts = _bare_subjects(docs)
        if counts:
            noun = max(sorted(counts), key=lambda word: counts[word])
            groups = [group for group in RELATED_NOUNS if noun in group][:1]
            classes.vote(name, noun, 2)
    for group in groups:
        nouns |= group
    return frozenset(nouns)


def _bare_subjects(docs: Sequence[Doc]) -> Counter[str]:
    """Count subjects like "the spacecraft" whose noun the text never introduces with "a"."""
    known = frozenset().union(*RELATED_NOUNS)
    counts: Counter[str] = Counter()
    introduced: set[str] = set()
    for doc in docs:
        for chunk in doc.noun_chunks:
            root = chunk.root
            if chunk[0].lower_ in ("a", "an", "another", "one", "each", "every"):
                introduced.add(root.lower_)
            restricted = any(child.dep_ in ("prep", "relcl", "acl", "appos") for child in root.rights)
            if len(chunk) == 2 and chunk[0].lower_ == "the" and root.dep_ in ("nsubj", "nsubjpass") and not restricted:
                counts[root.lower_] += root.lower_ in known
    return Counter({noun: count for noun, count in counts.items() if count and noun not in introduced})


def _short_names(words: list[str], person: bool) -> set[str]:
    short = {" ".join(words)}
    if person and len(words) > 1:
        short.add(words[-1])
        if words[-1] in ("jr.", "jr", "sr.", "ii", "iii") and len(words) > 2:
            short.add(words[-2].rstrip(","))
        return short
    if "/" in words[-1]:
        short.add(" ".join(words).split("/")[0])
    for cut in range(1, len(words)):
        # "Saturn" is not short for "Saturn V", nor "Apollo" for "Apollo 11"
        numbered = any(re.fullmatch(r"[ivx]+[a-z]?|.*\d.*|[a-z]", word) for word in words[cut:])
        if not numbered:
            short.add(" ".join(words[:cut]))
    return short


def _is_plural(key: str, docs: Sequence[Doc]) -> bool:
    for doc in docs:
        for chunk in doc.noun_chunks:
            if plain(chunk.text) == key:
                return chunk.root.tag_ in ("NNS", "NNPS")
    return False
