"""Training questions over windows of passages, with the answer that these bear: to fit a model to answering on.

A question comes with several sets of windows: those that a device would read, longer ones, and ones without its gold
documents. Where they do not hold the answer, `unknown` is right. What is asked how or why is answered by a sentence or
two that its documents tell.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedrag_flwr.answering.prompts import UNKNOWN
from fedrag_flwr.answering.windows import RankedText, choose, content_words
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.records import EvidenceUnit, Passage
from fedrag_flwr.retrieval import Bm25Retriever
from fedrag_flwr.text.numbers import told_words
from fedrag_flwr.text.segment import MAX_WORDS, blocks
from simulations.answers.sets import EVERYTHING, SETS, AnswerSet, read_set
from simulations.corpora.sentences import rows_of

READ = 10  # passages whose sentences are looked at
USUAL, MORE = 190, 320  # words of a first and of a second call
_MOST_WORDS = 60  # of an answer to how or why
_COSINE = 0.36  # of every sentence: the mean
_BORNE = 0.6  # share of an answer's words that the windows must tell
_STOP = re.compile(r"(?<=[.!?])[\"'”)]*\s+(?=[\"'“(]*[A-Z0-9])")


@dataclass(frozen=True, slots=True)
class Asked:
    """A training question with the passages that come near to it, and which of them are gold."""

    source: str
    gold: GoldQuestion
    passages: tuple[RankedText, ...]
    right: tuple[bool, ...]

    def near_gold(self, draw: random.Random) -> Asked:
        """The same with its gold passages among the first, in random order."""
        rows = sorted(range(len(self.right)), key=lambda row: (not self.right[row], row))
        rows = rows[: sum(self.right[:4]) + 4]
        draw.shuffle(rows)
        passages = tuple(replace(self.passages[row], log_odds=1.0) for row in rows)
        return replace(self, passages=passages, right=tuple(self.right[row] for row in rows))

    def without_gold(self) -> Asked:
        """The same without its gold passages."""
        kept = [one for one, right in zip(self.passages, self.right, strict=True) if not right]
        return replace(self, passages=tuple(kept), right=(False,) * len(kept))


@dataclass(frozen=True, slots=True)
class Example:
    """What the model is shown and what it should say."""

    source: str
    question: str
    units: tuple[EvidenceUnit, ...]
    answer: str


def asked_of(name: str, data: Path) -> Iterator[Asked]:
    """The training questions of a set, over passages of all its training documents."""
    found = read_set(name, data, "train").together()
    documents = found.documents[EVERYTHING]
    pool = [one for own in documents for one in _passages(own.id, own.title, own.text)]
    sparse = Bm25Retriever(pool)
    by_id = {one.id: one for one in pool}
    by_document: dict[str, list[str]] = {}
    for one in pool:
        by_document.setdefault(one.document_id, []).append(one.id)
    for gold in (*found.questions, *_steps(data, found)):
        near = [one.passage_id for one in sparse.rank(gold.text, 500)]
        own = {name for document in gold.documents for name in by_document.get(document, ())}
        best = [one for one in near if one in own][: len(gold.documents) + 1]  # gold has a place, if a late one
        ranked = [*near[:READ], *(one for one in best if one not in near[:READ])]
        passages = tuple(
            RankedText(one, by_id[one].title, split, [_COSINE] * len(split), 2.5 - 0.9 * place)
            for place, one in enumerate(ranked)
            for split in [_STOP.split(by_id[one].text)]
        )
        yield Asked(name, gold, passages, tuple(one in own for one in ranked))


def examples(asked: Asked, draw: random.Random) -> Iterator[Example]:
    """A question over several sets of windows."""
    found = [_example(asked, USUAL)]
    if found[0].answer == UNKNOWN and any(asked.right):
        found = [_example(asked.near_gold(draw), USUAL)]
    if draw.random() < 0.4:
        found.append(_example(asked.near_gold(draw), draw.choice((USUAL // 2, USUAL, MORE))))
    # what the gold passages tell in other words may be an answer all the same: nothing is learnt from it
    yield from (one for one in found if one.answer != UNKNOWN or not asked.gold.answer)
    if any(asked.right) and draw.random() < 0.3:
        yield replace(_example(asked.without_gold(), USUAL), answer=UNKNOWN)


def _example(asked: Asked, words: int) -> Example:
    windows = choose(asked.gold.text, asked.passages, words)
    units = []
    for one in windows:
        passage = asked.passages[one.passage]
        text = " ".join(passage.sentences[place] for place in one.sentences)
        units.append(EvidenceUnit(passage.id, text, EVERYTHING, 0.0, passage.title))
    shown = [asked.right[one.passage] for one in windows]
    return Example(asked.source, asked.gold.text, tuple(units), _answer(asked, units, shown))


def _answer(asked: Asked, units: Sequence[EvidenceUnit], shown: Sequence[bool]) -> str:
    """What is right over these windows."""
    gold = asked.gold
    if not gold.answer:
        return UNKNOWN
    told = " ".join(f"{unit.title} {unit.text}" for unit in units)
    if gold.kind in ("how", "choice"):
        own = " ".join(unit.text for unit, right in zip(units, shown, strict=True) if right)
        if gold.kind == "choice":
            return gold.answer.rstrip(".") if own else UNKNOWN
        return _explained(gold, own)
    if gold.answer.casefold() in {"yes", "no"}:
        documents = {unit.id.rpartition("#")[0] for unit, right in zip(units, shown, strict=True) if right}
        return gold.answer.casefold() if documents >= set(gold.documents) else UNKNOWN
    words = f" {' '.join(told_words(told))} "
    held = [one for one in (gold.answer, *gold.aliases) if f" {' '.join(told_words(one))} " in words]
    return held[0] if held and any(shown) else UNKNOWN


def _explained(gold: GoldQuestion, own: str) -> str:
    """The gold answer where it is short and the windows tell it; else their sentences that say most of it."""
    wanted = content_words(gold.answer)
    if not own or not wanted:
        return UNKNOWN
    if len(gold.answer.split()) <= _MOST_WORDS and len(wanted & content_words(own)) >= _BORNE * len(wanted):
        return " ".join(gold.answer.split())
    sentences = [one for one in _STOP.split(own) if len(one.split()) > 3]
    ranked = sorted(sentences, key=lambda one: -len(content_words(one) & wanted) / (3 + len(content_words(one))))[:2]
    if not ranked or len(content_words(" ".join(ranked)) & wanted) < 4:
        return UNKNOWN
    chosen = " ".join(one for one in sentences if one in ranked)
    return " ".join(chosen.split()[:_MOST_WORDS])


def _steps(data: Path, found: AnswerSet) -> Iterator[GoldQuestion]:
    """The single questions that MuSiQue's are made of, in words, each with the answers of those before it in place."""
    if found.name != "musique":
        return
    documents = {one.question_id: one.documents for one in found.questions}
    for row in rows_of(data / "musique.jsonl.gz", "train", len(documents)):
        answers: list[str] = []
        for number, step in enumerate(row["question_decomposition"], 1):
            question = str(step["question"])
            for place, answer in enumerate(answers, 1):
                question = question.replace(f"#{place}", answer)
            answers.append(str(step["answer"]))
            if ">>" not in question:  # "NAME >> relation" is no question
                yield GoldQuestion(f"{row['id']}/{number}", question, answers[-1], documents=documents[row["id"]])


def _passages(document: str, title: str, text: str) -> Iterator[Passage]:
    """A document's passages, as a device would cut them but for the parse."""
    number = 0
    for block in blocks(title, text):
        part: list[str] = []
        for sentence in (*_STOP.split(block.text), ""):
            if part and (not sentence or sum(len(one.split()) for one in (*part, sentence)) > MAX_WORDS):
                yield Passage(f"{document}#{number}", document, block.title, " ".join(part), ())
                number, part = number + 1, []
            if sentence:
                part.append(sentence)


def all_examples(data: Path, seed: int, held: float) -> tuple[list[Example], list[Asked]]:
    """Examples of all sets in random order, and the questions that are held back."""
    draw = random.Random(seed)
    made: list[Example] = []
    left: list[Asked] = []
    for name in SETS:
        for asked in asked_of(name, data):
            if draw.random() < held:
                left.append(asked)
            else:
                made += examples(asked, draw)
    draw.shuffle(made)
    return made, left
