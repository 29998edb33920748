"""Noun phrases out of questions: "Who discovered Pluto?" becomes "the person who discovered Pluto"."""

from __future__ import annotations

import re

from fedrag_flwr.text.inflection import is_participle, is_past, past, third_person
from fedrag_flwr.text.lexicon import HEAD_TYPE, is_person

_BE = frozenset(("is", "was", "are", "were"))
_HAVE = frozenset(("has", "had", "have"))
_DO = frozenset(("did", "does", "do"))
_AUXILIARIES = _BE | _HAVE | _DO | {"will", "can"}
_TYPE_NOUNS = {"PERSON": "person", "ORG": "organisation", "GPE": "place", "LOC": "place"}
_NAME = r"(?:the )?(?:[A-Z][^\s]*|[0-9][^\s]*)(?: (?:[A-Z0-9][^\s]*|of|and|the|de|der|von|van)(?= [A-Za-z0-9]))*"
_DETERMINED = re.compile(r"^(?:the [a-z]|[A-Z][\w'’ -]*['’]s? [a-z])")


def describe(question: str, answer_type: str) -> str:
    """Turn a question into a noun phrase for its answer, "" where no good one can be made.

    Parameters
    ----------
    question
        A wh-question; questions for dates, amounts and counts describe nothing that can be a bridge.
    answer_type
        The answer's type, which chooses "person", "organisation" or "place" for "Who" and "Where".
    """
    text = question.strip().rstrip("?").strip()
    word, _, rest = text.partition(" ")
    if not rest:
        return ""
    if word in ("Which", "What") and (found := _which(rest)):
        return found
    if word == "Who":
        return _who(rest, "person" if answer_type in ("PERSON", "", "NAME") else _TYPE_NOUNS.get(answer_type, "one"))
    if word == "What":
        return _identified(rest)
    if word == "Where":
        return _inverted(rest, "the place where")
    return ""


def _which(rest: str) -> str:
    """Describe what "Which spacecraft ..." asks for."""
    words = rest.split()
    for size in (1, 2, 3):
        noun, predicate = words[:size], words[size:]
        if not predicate or any(not part.islower() or part in _AUXILIARIES or part == "the" for part in noun):
            return ""
        if (
            predicate[0] not in _AUXILIARIES
            and not is_past(predicate[0])
            and not (predicate[0].endswith("s") and size == 1 and predicate[0].islower())
        ):
            continue
        return _relative(" ".join(noun), " ".join(predicate))
    return ""


def _relative(noun: str, predicate: str) -> str:
    pronoun = "who" if is_person(noun) else "that"
    if _asks_back(predicate):
        return _inverted(predicate, f"the {noun} {pronoun if pronoun == 'that' else 'whom'}")
    return f"the {noun} {pronoun} {predicate}"


def _who(rest: str, noun: str) -> str:
    found = _identified(rest)
    if found:
        return found
    first = rest.split()[0]
    if first in _AUXILIARIES and _asks_back(rest):
        return _inverted(rest, f"the {noun} {'whom' if noun == 'person' else 'that'}")
    if is_past(first) or (first in _AUXILIARIES and not _asks_back(rest)):
        return f"the {noun} {'who' if noun == 'person' else 'that'} {rest}"
    return ""


def _identified(rest: str) -> str:
    """Give the noun phrase of "is the ..." or "was Saturn's ...", where it is the whole rest."""
    verb, _, phrase = rest.partition(" ")
    if verb not in _BE or not _DETERMINED.match(phrase):
        return ""
    last = phrase.split()[-1]
    if is_participle(last) or last in (
        "by",
        "after",
        "in",
        "on",
        "at",
        "from",
        "to",
        "for",
        "with",
        "called",
        "as",
        "of",
    ):
        return ""
    return phrase


def _asks_back(predicate: str) -> bool:
    """Whether subject and verb are inverted ("did NASA launch", "was Voyager 1 launched by")."""
    first, _, rest = predicate.partition(" ")
    if first in _DO:
        return True
    if first not in _AUXILIARIES:
        return False
    if re.match(r"(?:the )?[A-Z0-9]", rest):
        return True
    return predicate.split()[-1] in ("by", "after", "in", "on", "at", "from", "to", "for", "with", "as", "of")


def _inverted(predicate: str, head: str) -> str:
    """Undo inversion behind a relative pronoun, where the subject is a plain name."""
    match = re.match(rf"^(\w+) ({_NAME}) (.+)$", predicate)
    if match is None:
        return ""
    helper, subject, rest = match.groups()
    verb, _, others = rest.partition(" ")
    while verb in ("first", "originally", "last", "officially") and others:
        adverb, (verb, _, others) = verb, others.partition(" ")
        rest = f"{adverb} {verb} {others}".strip()
    if not verb.islower() or verb in HEAD_TYPE:
        return ""
    if helper in _DO:
        inflected = past(verb) if helper == "did" else (third_person(verb) if helper == "does" else verb)
        return f"{head} {subject} {rest.replace(verb, inflected, 1)}".strip()
    if helper in _BE | _HAVE and (is_participle(verb) or verb.endswith("ing") or verb == "been"):
        return f"{head} {subject} {helper} {rest}".strip()
    return ""
