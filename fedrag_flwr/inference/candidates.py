"""The answers that evidence offers: its typed spans of the kind that the question asks for (FD-RAG eq. 9 and 15)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from fedrag_flwr.inference.prompts import UNKNOWN
from fedrag_flwr.inference.support import bare, is_choice
from fedrag_flwr.models.base import Grammar
from fedrag_flwr.records import Fact
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.lexicon import GENERIC

MOST = 64
_OPTIONS = re.compile(r"\bOptions: (?P<listed>[^\n]+?)\.?\s*\Z")  # as `with_options` writes them
NAMES = frozenset(
    {"PERSON", "ORG", "GPE", "LOC", "FAC", "NAME", "PRODUCT", "EVENT", "WORK_OF_ART", "NORP", "LAW", "LANGUAGE"}
)
_TIMES = frozenset({"DATE", "YEAR", "TIME", "QUANTITY"})
_AMOUNTS = frozenset({"CARDINAL", "QUANTITY", "PERCENT", "ORDINAL", "TIME"})
_OFFERED = {
    **dict.fromkeys(("PERSON", "ORG", "GPE", "LOC", "FAC", "NAME"), NAMES),
    **dict.fromkeys(("DATE", "YEAR", "TIME"), _TIMES),
    **dict.fromkeys(("CARDINAL", "QUANTITY", "PERCENT"), _AMOUNTS),
    "MONEY": frozenset({"MONEY"}),
}


IsCalled = Callable[[str, str], bool | None]


def unknown(name: str, noun: str) -> bool | None:
    """Says of no name what it is."""
    return None


def candidates(
    question: str, analysis: QuestionAnalysis, facts: Iterable[Fact], is_called: IsCalled = unknown
) -> list[str]:
    """The spans that may answer a question, in order of appearance, at most 64.

    A question between two names is answered by one of them, a yes-or-no question by yes or no; otherwise by a span of
    the evidence of a fitting type that the question does not hold itself. Where the question asks for a kind of thing
    ("which rocket"), names that are known as another kind fall away.

    Parameters
    ----------
    question
        Its text.
    analysis
        Its typed spans and the type of answer that it asks for.
    facts
        The typed spans of the evidence.
    is_called
        Whether a name is known as a kind of thing; None where that is not known.
    """
    if analysis.answer_type == "YESNO":
        return ["yes", "no"]
    names = [fact.text for fact in analysis.facts if fact.type in NAMES]
    if is_choice(question) and len(names) > 1:
        return _distinct(names)
    held = {fact.anchor for fact in analysis.facts}
    wanted = _OFFERED.get(analysis.answer_type)
    spans = [f.text for f in facts if f.anchor not in held and (wanted is None or f.type in wanted)]
    fitting = _distinct(spans)
    if (
        analysis.asks
        and analysis.asks not in GENERIC
        and (analysis.answer_type in ("", "NAME") or analysis.answer_type in NAMES)
    ):
        fitting = [text for text in fitting if is_called(text, analysis.asks) is not False] or fitting
    return fitting[:MOST]


def with_options(question: str, options: Sequence[str]) -> str:
    """A question that lists the answers among which it lets choose; the same question where there are none."""
    return f"{question} Options: {'; '.join(options)}." if options else question


def without_options(question: str) -> tuple[str, tuple[str, ...]]:
    """A question without the answers that it lists ("Options: salt; copper; tin."), and these, if there are two."""
    found = _OPTIONS.search(question)
    options = _distinct(found["listed"].split(";")) if found else []
    if found is None or len(options) < 2:
        return question, ()
    return question[: found.start()].rstrip(), tuple(options[:MOST])


def choice_grammar(choices: Sequence[str]) -> Grammar:
    """A grammar whose only words are the choices, and the word for not knowing."""
    return Grammar("root ::= " + " | ".join(_literal(choice) for choice in (*choices, UNKNOWN)))


def chosen(said: str, choices: Sequence[str]) -> str:
    """The choice that a model said, or the only one that it began with where its last words were cut; else ""."""
    plain = [bare(_plain(choice)) for choice in choices]
    if said in plain:
        return said
    begun = {choice for choice in plain if said and choice.startswith(said)}
    return begun.pop() if len(begun) == 1 else ""


def _distinct(texts: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for text in map(str.strip, texts):
        if text:
            found.setdefault(text.casefold(), text)
    return list(found.values())


def _literal(text: str) -> str:
    return json.dumps(_plain(text), ensure_ascii=False)


def _plain(text: str) -> str:
    return "".join(char for char in " ".join(text.split()) if char.isprintable())
