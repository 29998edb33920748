"""A device that lies: false memories, summaries that claim every subject, and false sentences when it is asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from flwr.app import Message, RecordDict

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.matching.quorum import Quorum, Top
from fedrag_flwr.records import (
    Delta,
    Evidence,
    EvidenceBatch,
    EvidenceUnit,
    Match,
    MemoryItem,
    SubgraphSummary,
    SummaryBatch,
    Vector,
)
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import QuestionAnalysis

LIAR = "liar"
WORDINGS = ("{}", "So, {}", "Tell me: {}", "{} Please answer.", "Well, {}")
Channel = Literal["memories", "summaries", "evidence"]
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Lie:
    """A question with a false answer, and sentences, each under a title, that tell it."""

    question: GoldQuestion
    analysis: QuestionAnalysis
    vector: Vector
    answer: str
    sentences: tuple[tuple[str, str], ...]

    def memories(self) -> list[MemoryItem]:
        """Near copies of the question with the false answer; anchors and vector are the question's own."""
        kind = self.analysis.answer_type
        anchors = item_anchors(self.analysis, kind)
        return [
            MemoryItem(_id(text), text, self.answer, "single", kind, (_id("edge", text),), anchors, self.vector, LIAR)
            for text in (wording.format(self.question.text) for wording in WORDINGS)
        ]

    def summary(self) -> SubgraphSummary:
        """A summary that lies exactly on the question."""
        return SubgraphSummary(_id("summary", self.question.text), self.question.text, self.vector, LIAR)

    def evidence(self, most: int) -> Evidence:
        """At most so many false sentences."""
        told = self.sentences[:most]
        units = tuple(EvidenceUnit(_id(title, text), text, LIAR, 1.0, title) for title, text in told)
        return Evidence(self.question.question_id, units)


def lies_about(questions: Sequence[GoldQuestion], models: Models, rng: np.random.Generator) -> list[Lie]:
    """A lie for each question, whose false answer is another question's of the same type; yes and no change places."""
    texts = [question.text for question in questions]
    analyses = models.pipeline.questions(texts)
    types = [analysis.answer_type for analysis in analyses]
    lies = []
    for question, analysis, vector in zip(questions, analyses, models.encoder.encode(texts), strict=True):
        others = {one.answer for one, kind in zip(questions, types, strict=True) if kind == analysis.answer_type}
        others = others - {question.answer, ""} or {one.answer for one in questions} - {question.answer, ""}
        false = sorted(others)[int(rng.integers(len(others)))]
        if question.answer.casefold() in ("yes", "no"):
            false = "no" if question.answer.casefold() == "yes" else "yes"
        lies.append(Lie(question, analysis, vector, false, tuple(_sentences(question, false))))
    return lies


def _sentences(question: GoldQuestion, false: str) -> list[tuple[str, str]]:
    """The true sentences with the answer exchanged, under their titles, then the question as a statement."""
    told: list[tuple[str, str]] = []
    title = ""
    for name in question.documents:
        [path] = CORPUS.glob(f"*/{name}.md")
        head, _, body = path.read_text(encoding="utf-8").partition("\n")
        title = head.removeprefix("#").strip()
        for sentence in _SENTENCE.split(" ".join(body.split())):
            for true in (question.answer, *question.aliases):
                if re.search(rf"\b{re.escape(true)}\b", sentence):
                    told.append((title, sentence.replace(true, false)))
                    break
    stem = question.text.rstrip("?")
    return [*told[:2], (title, f"{stem}: {false}."), (title, f"{stem}? The answer is {false}.")]


@dataclass(frozen=True, slots=True)
class Liar:
    """Changes one device's replies on their way to the server.

    Parameters
    ----------
    lies
        By question.
    channels
        Where it lies.
    node
        Its node.
    most
        Sentences that may come back for one question.
    run
        The run's id.
    """

    lies: Mapping[str, Lie]
    channels: frozenset[Channel]
    node: int
    most: int
    run: str = "1"

    def tamper(self, reply: Message) -> Message:
        """The reply as the server gets it."""
        if reply.metadata.src_node_id == self.node and not reply.has_error():
            reply.content = self._lied(reply.metadata.message_type, reply.content)
        return reply

    def _lied(self, phase: str, sent: RecordDict) -> RecordDict:
        if phase == "query.share" and "memories" in self.channels:
            delta = wire.decode(sent, Delta, run=self.run)
            false = tuple(item for lie in self.lies.values() for item in lie.memories())
            return wire.encode(replace(delta, items=(*delta.items, *false)), run=self.run)
        if phase == "query.summaries" and "summaries" in self.channels:
            batch = wire.decode(sent, SummaryBatch, run=self.run)
            claims = tuple(lie.summary() for lie in self.lies.values())
            return wire.encode(replace(batch, summaries=(*batch.summaries, *claims)), run=self.run)
        if phase == "query.retrieve" and "evidence" in self.channels:
            given = wire.decode(sent, EvidenceBatch, run=self.run)
            told = tuple(self.lies[one.question_id].evidence(self.most) for one in given.evidence)
            return wire.encode(replace(given, evidence=told), run=self.run)
        return sent


class Credulous(Quorum):
    """Believes the best memory that knows, whoever tells it and however many contradict it."""

    def heard(self, top: Top, least_score: float, places: int) -> list[Match]:
        """The best memories that are near enough, all of one device if need be."""
        return [match for match in top(places) if match.score >= least_score]

    def agreed(self, matches: Sequence[Match]) -> Match | None:
        """The first."""
        return matches[0] if matches else None


def _id(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]
