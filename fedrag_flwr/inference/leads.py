"""What memory says to a question: as it came, or with the first hop of two taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedrag_flwr.inference.hops import Hops
from fedrag_flwr.inference.memorizer import Memorizer
from fedrag_flwr.inference.rewriting import Rewrite, Rewriter, is_said, tells
from fedrag_flwr.inference.support import tokens
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.stop_words import STOP_WORDS
from fedrag_flwr.records import EvidenceUnit, Match, MemoryItem, Vector
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis

LEAST_REACH = 0.5  # nearness at which a name is taken for what a description stands for
SURE_REACH = 0.7  # nearness at which the model is asked about the name instead
LEAST_SECOND = 0.75  # score at which a memory answers a question with the first hop taken
_REPEATS = 0.8  # of a memory's content words in a unit: the unit tells it
FROM_EACH = 2  # of the memories that localise evidence first, those of the first and of the second hop
RECALLED = 3  # times top-k memories are looked through for one that fits


@dataclass(frozen=True, slots=True)
class EvidenceLimits:
    """How many passages, words and memories the model may read, and how many memories localise evidence (K).

    Memories that a second hop reaches come on top of K.
    """

    passages: int
    words: int
    top_k: int
    notes: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's text with what was computed from it once; the vector has shape (dimension,)."""

    text: str
    vector: Vector
    analysis: QuestionAnalysis


@dataclass(frozen=True, slots=True)
class Lead:
    """What memory says to a question.

    Parameters
    ----------
    asked
        The question as it came or, where the first hop was taken, with a name in a description's place.
    matches
        The memories that localise evidence, those that the model may read first.
    known
        The memory that answers; None where none is near enough.
    via
        The first hop.
    came
        The vector of the question as it came, shape (dimension,), where that was another.
    """

    asked: Asked
    matches: Sequence[Match]
    known: Match | None = None
    via: Rewrite | None = None
    came: Vector | None = None

    def abroad(self, *, named: bool) -> Vector:
        """The vector by which others are asked: a name that home put in may stand behind it only where `named`."""
        return self.asked.vector if named or self.came is None else self.came

    def notes(self, units: Sequence[EvidenceUnit], most: int) -> list[MemoryItem]:
        """The memories that the model reads beside evidence units: those that tell something of their own.

        Of memories with the same words for an answer the first, and none that a unit tells.
        """
        told = [frozenset(tokens(f"{unit.title} {unit.text}")) for unit in units]
        kept: dict[frozenset[str], MemoryItem] = {}
        for match in self.matches:
            words = frozenset(tokens(match.item.answer))
            asked = frozenset(tokens(match.item.question)) - STOP_WORDS
            repeats = any(words <= unit and len(asked & unit) >= _REPEATS * len(asked) for unit in told)
            if not repeats and not any(words <= other for other in kept):
                kept[words] = match.item
        return list(kept.values())[:most]


@dataclass(frozen=True, slots=True)
class Leads:
    """Finds what memory says.

    Parameters
    ----------
    memorizer
        Recalls memories and tells whether one answers.
    rewriter, hops
        The first hop of two, and memories about the name that it leads to.
    encoder, pipeline
        Read questions.
    limits
        How many memories to give.
    """

    memorizer: Memorizer
    rewriter: Rewriter
    hops: Hops
    encoder: Encoder
    pipeline: Pipeline
    limits: EvidenceLimits

    def read(self, texts: Sequence[str]) -> list[Asked]:
        """Analyse and encode questions."""
        parts = zip(texts, self.encoder.encode(texts), self.pipeline.questions(texts), strict=True)
        return [Asked(*part) for part in parts]

    def lead(self, text: str) -> Lead:
        """What memory says to a question as it came; where it does not answer that, to one with the first hop taken."""
        [asked] = self.read([text])
        matches = self.recall(asked)
        heard = self.memorizer.heard(text, asked.analysis, asked.vector, matches)
        known = self.memorizer.answer(text, asked.analysis, heard)
        if known is not None:
            return Lead(asked, matches, known)
        return self.second_hop(asked, matches) or Lead(asked, self._localised(asked, matches))

    def second_hop(self, asked: Asked, first: Sequence[Match]) -> Lead | None:
        """The likeliest reading with a name for a description that memory answers; else the likeliest sure one."""
        rewrites = [r for r in self.rewriter.rewrites(asked.text, asked.analysis) if r.reach >= LEAST_REACH]
        best, best_score = None, 0.0
        for rewrite, second in zip(rewrites, self.read([r.question for r in rewrites]), strict=True):
            near = self.recall(second)
            heard = self.memorizer.heard(second.text, second.analysis, second.vector, near)
            said, telling = ([m for m in ms if is_said(rewrite.name, m.item.question)] for ms in (near, heard))
            telling = [m for m in telling if m.score >= LEAST_SECOND and tells(second.text, rewrite.name, m.item)]
            known = self.memorizer.answer(second.text, second.analysis, telling)
            if known is None and rewrite.reach < SURE_REACH:
                continue
            about = _distinct(said, self.hops.about(rewrite.name, second.vector, self.limits.top_k))
            nearest = (known or about[0]).score if about else 0.0
            score = 2.0 * rewrite.reach + nearest + (1.0 if known else 0.0)
            if score > best_score:
                best_score = score
                matches = _distinct(about[:FROM_EACH], first[:FROM_EACH], about[FROM_EACH:])
                best = Lead(second, matches, known, rewrite, asked.vector)
        return best

    def recall(self, asked: Asked) -> list[Match]:
        """The memories among which one may answer: more than the K best, as not all of them fit."""
        return self.memorizer.recall(asked.vector, asked.analysis, RECALLED * self.limits.top_k)

    def _localised(self, asked: Asked, matches: Sequence[Match]) -> list[Match]:
        """The best matches (eq. 14), and among the first of them those that a second hop over names reaches."""
        second = self.hops.follow(asked.text, asked.analysis, asked.vector, matches, FROM_EACH)
        first = min(2 * FROM_EACH - len(second), self.limits.top_k)
        return [*matches[:first], *second, *matches[first : self.limits.top_k]]


def _distinct(*groups: Iterable[Match]) -> list[Match]:
    found: dict[str, Match] = {}
    for group in groups:
        for match in group:
            found.setdefault(match.item.id, match)
    return list(found.values())
