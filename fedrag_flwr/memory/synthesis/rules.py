"""Fact-level question-answer drafts from the parse of a document, without a language model (FD-RAG 4.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fedrag_flwr.memory.synthesis.classes import Classes
from fedrag_flwr.memory.synthesis.clauses import clauses_of
from fedrag_flwr.memory.synthesis.linear import linear_questions
from fedrag_flwr.memory.synthesis.mentions import Mentions
from fedrag_flwr.memory.synthesis.nominal import nominal_questions
from fedrag_flwr.memory.synthesis.questions import Asker
from fedrag_flwr.memory.synthesis.stating import asks
from fedrag_flwr.memory.synthesis.topic import find_topic
from fedrag_flwr.memory.synthesis.wording import Asked
from fedrag_flwr.records import Fact, Sentence
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.segment import under_title

_LONGEST = (
    150  # tokens of a sentence that is asked about; a longer one is a table or a scan, and takes time by its cube
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A question-answer pair that is not verified yet.

    Parameters
    ----------
    question, answer
        The pair; the answer is a span of the support unless its kind derives it.
    kind
        "single", "set", "comparison", "aggregation", "multi-hop", "post-processing" or "false-premise".
    answer_type
        As in :class:`fedrag_flwr.text.base.QuestionAnalysis`, NAME for other names, "" when open.
    support
        Ids of the units that the answer rests on.
    """

    question: str
    answer: str
    kind: str
    answer_type: str
    support: tuple[str, ...]


class RuleSynthesizer:
    """Makes question-answer drafts from sentences by rules over their parse.

    Parameters
    ----------
    per_sentence
        Most drafts that one sentence yields.
    """

    def __init__(self, per_sentence: int = 12) -> None:
        self.per_sentence = per_sentence

    @property
    def id(self) -> str:
        """Name and version of the rules and of what is derived and rejected by rules, stored with what they made."""
        return f"rules-7/{self.per_sentence}"

    def drafts(self, passages: Sequence[ParsedPassage]) -> list[Draft]:
        """Make the drafts of one document, sentence by sentence, the best first within a sentence.

        No other document has a say in them, so that a change of others changes none.

        Parameters
        ----------
        passages
            The document's parsed passages in reading order.
        """
        if not passages:
            return []
        docs = [parsed.doc for parsed in passages]
        classes = Classes()
        classes.learn(docs)
        topic = find_topic(passages[0].passage.title, docs, classes)
        drafts: list[Draft] = []
        for parsed in passages:
            carried = topic.name if topic is not None and not topic.person else ""
            asker = Asker(Mentions(parsed, topic, classes, carried, opening=parsed is passages[0]), classes)
            for sentence, (start, end) in zip(parsed.passage.sentences, parsed.spans, strict=True):
                if end - start > _LONGEST:
                    continue
                asked = list(_ask_sentence(asker, parsed, start, end))
                asked.extend(_missing(asker, parsed, sentence.facts, asked, start, end))
                drafts.extend(
                    Draft(item.question, item.answer, item.kind, item.type, _support(item.answer, sentence, parsed))
                    for item in rank(asked, self.per_sentence)
                )
        return drafts


def _support(answer: str, sentence: Sentence, parsed: ParsedPassage) -> tuple[str, ...]:
    """Give the sentence, and where its pronoun stands for the answer, the sentence before that names it."""
    if answer.lower() in under_title(parsed.passage.title, sentence.text).lower():
        return (sentence.id,)
    earlier = parsed.passage.sentences[: parsed.passage.sentences.index(sentence)]
    named = next((other.id for other in reversed(earlier) if answer.lower() in other.text.lower()), None)
    return (sentence.id, named) if named is not None else (sentence.id,)


def _ask_sentence(asker: Asker, parsed: ParsedPassage, start: int, end: int) -> Iterator[Asked]:
    sentence = parsed.doc[start:end]
    if asks(sentence):
        return
    for clause in clauses_of(sentence):
        yield from asker.ask(clause)
    yield from nominal_questions(sentence, asker)


def _missing(
    asker: Asker, parsed: ParsedPassage, facts: Sequence[Fact], asked: Sequence[Asked], start: int, end: int
) -> Iterator[Asked]:
    answers = " | ".join(item.answer.lower() for item in asked if item.score > 0)
    missing = [fact for fact in facts if fact.type != "CONCEPT" and fact.text.lower() not in answers]
    if missing and not asks(parsed.doc[start:end]):
        yield from linear_questions(parsed.doc[start:end], missing, asker)


_WORD = re.compile(r"[\w$€£%°'./-]+")
_NUMBERS = frozenset(("DATE", "TIME", "CARDINAL", "QUANTITY", "MONEY", "PERCENT"))
_OPEN_WEIGHT = 0.7  # answers without a type are asked for less often than names, dates and amounts


def _one_answer_each(asked: Iterable[Asked]) -> list[Asked]:
    """Where one sentence gives a question several answers, keep the name rather than the description.

    Where two of them are of one kind and neither is a longer form of the other, nothing tells which one is meant:
    the question goes.
    """
    by_question: dict[str, list[Asked]] = {}
    for item in asked:
        by_question.setdefault(item.question.lower(), []).append(item)
    return [best for items in by_question.values() if (best := _best(items)) is not None]


def _best(items: Sequence[Asked]) -> Asked | None:
    """Give the best answer to one question, None where another contradicts it."""
    best = max(items, key=lambda item: (bool(item.type) and item.answer[:1].isupper(), item.score, item.answer))
    told = f" {' '.join(_WORD.findall(best.answer.lower()))} "
    for item in items:
        other = f" {' '.join(_WORD.findall(item.answer.lower()))} "
        if item.score > 0 and _of_one_kind(item.type, best.type) and other not in told and told not in other:
            return None
    return best


def _of_one_kind(first: str, second: str) -> bool:
    """Whether two types are the same as far as is known: a year is a date, and a name may be anyone's."""
    if not first or not second:
        return False
    kinds = {"DATE" if kind == "YEAR" else kind for kind in (first, second)}
    return len(kinds) == 1 or ("NAME" in kinds and not kinds & _NUMBERS)


def rank(asked: Iterable[Asked], limit: int) -> list[Asked]:
    """Keep the best questions, every answer's best wording first, near-duplicates dropped.

    The second wording of an answer is its longest, because people's questions carry the details of the sentence.
    """
    by_answer: dict[str, list[Asked]] = {}
    asked = _one_answer_each(asked)
    for item in sorted(asked, key=lambda item: (-item.score, item.question)):
        if item.score > 0 and item.answer:
            by_answer.setdefault(item.answer, []).append(item)
    entries: list[tuple[float, Asked]] = []
    for items in by_answer.values():
        richest = max(items, key=lambda item: (item.score >= 0.6, len(item.question)))
        bags: list[frozenset[str]] = []
        for item in [items[0], richest, *items[1:]]:
            words = frozenset(_WORD.findall(item.question.lower()))
            if any(len(words ^ bag) <= 1 for bag in bags):
                continue
            bags.append(words)
            weight = item.score if item.type else item.score * _OPEN_WEIGHT
            entries.append((weight * 0.8 ** (len(bags) - 1), item))
    entries.sort(key=lambda entry: (-entry[0], entry[1].question))
    return [item for _, item in entries[:limit]]
