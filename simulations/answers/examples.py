"""Training questions over windows of passages, with the answer that these bear: to fit a model to answering on.

A question comes with several sets of windows: those that a device would read, longer ones, and ones without its gold
documents. Where they do not hold the answer, `unknown` is right. What is asked how or why is answered by a sentence or
two that its documents tell. A short answer stands in a sentence of the model's own, as it would say it unasked: a small
model that says a name at once is right less often than one that first says again what is asked.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedrag_flwr.answering.prompts import UNKNOWN
from fedrag_flwr.answering.quote import is_open
from fedrag_flwr.answering.windows import RankedText, choose, content_words
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.models.base import Generator, Prompt
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.options import without_options
from fedrag_flwr.text.words import told_words
from simulations.answers.made_up import FITTED, MARK, made_up
from simulations.answers.scoring import is_right
from simulations.answers.sets import EVERYTHING, SETS, read_set
from simulations.answers.world import open_world

USUAL, MORE = 220, 400  # words of windows
SHARE = 0.6  # of the training questions; confidence is fitted on the others
MADE_UP = {"demo": 30, "guides": 20}  # questions that nothing answers
_MOST_WORDS = 60  # of an answer to how or why
SEED = 7
_OFTEN = {"demo": 3, "guides": 4}  # sets of windows for each question of small sets
_TELLS = 4  # content words of a long gold that an answer to how or why tells
_SHORT = 12  # most words of an answer that is put into a sentence
_NEW_WORDS = 2  # that such a sentence may have of its own
_IN_SENTENCE = "Write the answer to the question as one short sentence that repeats the words of the question."
_SENTENCES = (
    (
        "Question: In which town was the engineer of the canal born?\nAnswer: Dunmore",
        "The engineer of the canal was born in Dunmore.",
    ),
    ("Question: How many beds does the clinic have?\nAnswer: 64", "The clinic has 64 beds."),
    ("Question: Who signed the lease?\nAnswer: the treasurer", "The lease was signed by the treasurer."),
)
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
    choice: bool = False


def is_fitted(question_id: str) -> bool:
    """Whether a model may be fitted on this training question; by its id alone, so that everybody agrees."""
    drawn = hashlib.sha256(question_id.partition(MARK)[0].encode()).digest()
    return int.from_bytes(drawn[:4], "big") < SHARE * 2**32


def asked_of(name: str, data: Path, settings: Settings) -> Iterator[Asked]:
    """The training questions of a set with the passages that a device with all its documents ranks first."""
    found = read_set(name, data, "train")
    with open_world(found, settings, memories=False) as device:
        questions = list(found.together().questions)
        if name in MADE_UP:
            questions += made_up(questions, device.models.pipeline, MADE_UP[name], SEED, FITTED)
        for gold in questions:
            ranked = device.engine.ranked(gold.text)
            yield Asked(name, gold, tuple(ranked), tuple(one.id.rpartition("#")[0] in gold.documents for one in ranked))


def examples(asked: Asked, draw: random.Random) -> Iterator[Example]:
    """A question over several sets of windows."""
    found = [_example(asked, USUAL)]
    if found[0].answer == UNKNOWN and any(asked.right):
        found = [_example(asked.near_gold(draw), USUAL)]
    for _ in range(_OFTEN.get(asked.source, 1)):
        if asked.gold.answer and draw.random() < 0.4:
            found.append(_example(asked.near_gold(draw), draw.choice((USUAL // 2, USUAL, MORE))))
    # what the gold passages tell in other words may be an answer all the same: nothing is learnt from it
    yield from (one for one in found if one.answer != UNKNOWN or not asked.gold.answer)
    if any(asked.right) and draw.random() < 0.2:
        yield replace(_example(asked.without_gold(), USUAL), answer=UNKNOWN)


def _example(asked: Asked, words: int) -> Example:
    windows = choose(without_options(asked.gold.text)[0], asked.passages, words)
    units = []
    for one in windows:
        passage = asked.passages[one.passage]
        text = " ".join(passage.sentences[place] for place in one.sentences)
        units.append(EvidenceUnit(passage.id, text, EVERYTHING, 0.0, passage.title))
    shown = [asked.right[one.passage] for one in windows]
    stem, options = without_options(asked.gold.text)
    return Example(asked.source, stem, tuple(units), _answer(asked, units, shown), bool(options))


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
    ranked = sorted(sentences, key=lambda one: -len(content_words(one) & wanted) / (3 + len(content_words(one))))
    chosen: list[str] = []
    for one in ranked[:2]:
        if len(" ".join([*chosen, one]).split()) <= _MOST_WORDS:
            chosen.append(one)
    told = " ".join(one for one in sentences if one in chosen)
    return told if len(content_words(told) & wanted) >= _TELLS else UNKNOWN


def in_sentences(made: Sequence[Example], generator: Generator) -> list[Example]:
    """Examples with short answers in a sentence of the model's own, where it makes one that holds the answer."""
    return [replace(one, answer=_in_sentence(one, generator)) for one in made]


def _in_sentence(example: Example, generator: Generator) -> str:
    answer = example.answer
    if answer == UNKNOWN or answer.casefold() in {"yes", "no"} or len(answer.split()) > _SHORT or example.choice:
        return answer
    [said] = generator.complete(Prompt(_IN_SENTENCE, f"Question: {example.question}\nAnswer: {answer}", _SENTENCES))
    words = " ".join(said.text.split())
    right = is_right(GoldQuestion("", example.question, answer), words) and words.endswith(".")
    new = content_words(words) - content_words(f"{example.question} {answer}")
    return words if right and len(new) <= _NEW_WORDS else answer


def all_examples(data: Path, settings: Settings) -> tuple[list[Example], list[Example]]:
    """Examples of all sets in random order: those to fit on, and those of the questions that are held back."""
    draw = random.Random(SEED)
    made: list[Example] = []
    left: list[Example] = []
    for name in SETS:
        for asked in asked_of(name, data, settings):
            if is_open(asked.gold.text):
                continue  # answered by a quote
            (made if is_fitted(asked.gold.question_id) else left).extend(examples(asked, draw))
    draw.shuffle(made)
    return made, left
