"""Candidates from the parse of a document by templates, without a language model (FD-RAG 4.1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.reference import Kinds, Reference, read_spans, topic_of
from fedrag_flwr.memory.generate.templates import Asked, Templates
from fedrag_flwr.memory.generate.verify import STOP, normalise
from fedrag_flwr.records import Sentence
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.language import is_english
from fedrag_flwr.text.segment import under_title

TEMPLATES = "templates-3"  # version of what they make
MOST = 2  # memories of a sentence
_FEWEST_WORDS, _MOST_WORDS = 4, 24  # of a question
_LONGEST = 60  # tokens of a sentence that is asked about; a longer one is a table, or hides what goes with what
_MARKS = re.compile(r"[|<>{}\[\]_=*#\\]|https?:|\(|\)|\.\.")
_BROKEN = re.compile(
    r"^Which (\w+) \w+ (?:the|a|an) \1\b|\s['’]s\b|\b(?:an?|the) (?:in|on|at|of|by|with|from|to|and)\b|\b(\w+) \2\b"
)
_DATED = re.compile(
    r"\b(?:in|on|from|since|until|to|by|during|between|and) (?:[A-Z]\w+ )?(?:\d{1,2},? )?(?:[A-Z]\w+,? )?"
    r"(?:1\d{3}|20\d{2})\b"
)


def candidates_of(passages: Sequence[ParsedPassage]) -> list[Candidate]:
    """Make the candidates of one document from its parsed passages, in reading order, at most two of each sentence.

    No other document has a say in them.
    """
    if not passages:
        return []
    spans = [read_spans(parsed) for parsed in passages]
    docs = [(parsed.doc, own) for parsed, own in zip(passages, spans, strict=True)]
    kinds = Kinds.of(docs)
    topic = topic_of(passages, docs, kinds)
    made: list[Candidate] = []
    asked_before: dict[str, list[frozenset[str]]] = {}
    for parsed, own in zip(passages, spans, strict=True):
        templates = Templates(Reference(parsed, own, topic), kinds)
        for sentence, (start, end) in zip(parsed.passage.sentences, parsed.spans, strict=True):
            if end - start > _LONGEST or not is_english(sentence.text):
                continue
            asked = templates.ask(parsed.doc[start:end])
            for item in best(asked, parsed.passage.title, asked_before):
                support = _support(item.answer, sentence, parsed)
                made.append(Candidate(item.question, item.answer, item.kind, item.type, support))
    return made


def best(asked: Iterable[Asked], title: str, before: dict[str, list[frozenset[str]]]) -> list[Asked]:
    """The best questions of one sentence, each with another answer.

    `before` holds the words of the document's questions by their answer, and is added to.

    A question to which the sentence gives two answers goes, as do those that only repeat the title. Of two clauses each
    has its best question before one has a second.
    """
    heading = _content(title)
    sound = [one for one in asked if _is_whole(one) and not _content(f"{one.question} {one.answer}") <= heading]
    answers: dict[str, set[str]] = {}
    for one in sound:
        answers.setdefault(one.question, set()).add(one.answer)
    chosen: list[Asked] = []
    ranked = sorted(sound, key=lambda one: (-one.score, -len(one.question.split()), one.question))
    turns: list[tuple[int, Asked]] = []
    met: Counter[int] = Counter()
    for one in ranked:
        turns.append((met[one.verb], one))
        met[one.verb] += 1
    for _, one in sorted(turns, key=lambda turn: turn[0]):
        words, answer = _content(one.question), normalise(one.answer)
        same = before.setdefault(answer, [])
        taken = any(normalise(other.answer) == answer for other in chosen)
        if len(answers[one.question]) > 1 or taken or any(words <= other or words >= other for other in same):
            continue
        same.append(words)
        chosen.append(one)
        if len(chosen) == MOST:
            break
    return chosen


def _content(text: str) -> frozenset[str]:
    return frozenset(normalise(text).split()) - STOP


def _is_whole(one: Asked) -> bool:
    """Whether a question reads as one: neither cut nor broken, and with one date at most."""
    text = one.question
    if not _FEWEST_WORDS <= len(text.split()) <= _MOST_WORDS or _MARKS.search(text) or _MARKS.search(one.answer):
        return False
    quotes = all((text + one.answer).count(mark) % 2 == 0 for mark in '"*')
    dated = one.type in ("DATE", "YEAR") and _DATED.search(text) is not None
    return quotes and not dated and _BROKEN.search(text) is None and bool(one.answer)


def _support(answer: str, sentence: Sentence, parsed: ParsedPassage) -> tuple[str, ...]:
    """Give the sentence, and where its pronoun stands for the answer, the sentence before that names it."""
    if answer.lower() in under_title(parsed.passage.title, sentence.text).lower():
        return (sentence.id,)
    earlier = parsed.passage.sentences[: parsed.passage.sentences.index(sentence)]
    named = next((other.id for other in reversed(earlier) if answer.lower() in other.text.lower()), None)
    return (sentence.id, named) if named is not None else (sentence.id,)
