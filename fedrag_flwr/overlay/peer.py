"""A device's part in walks: what it answers by itself, what it gives to others, and whom it would ask."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np

from fedrag_flwr.answering.passages import EvidenceStore
from fedrag_flwr.answering.server import answer_over
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.exchange.sums import GroupSums
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.overlay.answer_cache import AnswerCache, made_with, nearest_first
from fedrag_flwr.overlay.device_sketches import DeviceSketches
from fedrag_flwr.overlay.expertise import Expertise, ExpertiseState, LearningRules
from fedrag_flwr.overlay.topic_sums import TopicLearner
from fedrag_flwr.overlay.topics import HEADINGS, LEARNT, SHIPPED, ModelTopics, Topics, topics_of
from fedrag_flwr.overlay.walk_records import Json, Judgements, WalkNotes
from fedrag_flwr.overlay.walks import WalkRules
from fedrag_flwr.privacy.bundles import MASKED_FOR_ONE
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.vectors import rescored
from fedrag_flwr.records import (
    Answer,
    Clock,
    EvidenceUnit,
    Hop,
    HopReply,
    Lesson,
    OpenQuestion,
    Question,
    RankedPeer,
    TopicRequest,
    TopicUpdate,
    TopicWeight,
    Vector,
    WalkKind,
    WalkReply,
    WalkRequest,
)
from fedrag_flwr.retrieval.order import DeviceOrder
from fedrag_flwr.settings import Settings, fedrag_home

_LOG = logging.getLogger(__name__)
NOTES = "walks.sqlite"
_ROUNDING = 0.001  # of a cosine that another side computes
_MOST_RANKED = 1_000
CACHE_HOURS = 24.0  # longest life of an answer that rests on others' evidence
_READ = 8  # sentences of home that are read


@dataclass(eq=False)
class DeviceWalks:
    """What a device does for questions that walk."""

    device: str  # the device's name
    # store, export: its memory, and what lets evidence leave.
    store: MemoryStore
    export: ExportFilter
    models: Models
    settings: Settings  # of the run
    root: Path  # where notes are kept; they go with the store
    kept: Path  # where sketches and their budget are kept; they outlive the store, or the budget would start anew
    sums: GroupSums  # of this device's groups, for topics that are learnt
    order: DeviceOrder  # in which it reads evidence: answers that are kept hang on it, too
    clock: Clock = time.time  # seconds since the epoch

    # --- questions of this device -----------------------------------------------------------------

    def ask(self, question: Question, *, own: bool = False) -> Answer | OpenQuestion:
        """Answer from the cache, or over home's evidence if it is near enough; else the question is open.

        `own` says that people here ask it.
        """
        start = time.perf_counter()
        vector = self._vector(question)
        cache = self.cache.of(own)
        if (known := cache.find(question, vector)) is not None:
            return replace(known, cost=replace(known.cost, seconds=time.perf_counter() - start))
        units = self._near(vector, _READ)
        if self._relevance(units) >= self.settings.overlay.threshold and not (own and self._doubted(vector)):
            return self._answered(question, vector, units, start, cache)
        topics = self._topic_weights(question, vector)
        return OpenQuestion(question.id, vector, (), time.perf_counter() - start, topics=topics)

    def finish(
        self, question: Question, foreign: Sequence[EvidenceUnit], *, own: bool = False
    ) -> Answer | OpenQuestion:
        """Answer with what another peer gave; what is not about the question at all is refused, and it stays open."""
        start = time.perf_counter()
        vector = self._vector(question)
        given = rescored(foreign, vector, self.models.encoder)
        if given and self._relevance(given) < self.settings.overlay.threshold - _ROUNDING:
            return OpenQuestion(question.id, vector, (), time.perf_counter() - start)
        units = [*self._near(vector, _READ), *given]
        # what is made because nobody could help is not kept: those who know may be back
        return self._answered(question, vector, units, start, self.cache.of(own) if given else None)

    def feedback(self, question_id: str, *, good: bool) -> str:
        """Take in what somebody thinks of an answer, and say what follows from it; raises NotFoundError where this
        device keeps no answer to such a question.

        A bad one is never given again, questions like it go to other peers first, and the neighbour through which
        it came loses reputation: once, however often that is said.
        """
        judged = Judgements(self.notes).take(question_id, good=good)
        known = self.cache.condemn(question_id) if not good else self.cache.knows(question_id)
        if not known and judged is None:
            raise NotFoundError(
                "no answer to it is kept",
                where=question_id,
                fix="give the id of one that other devices helped with",
            )
        if judged is None:
            return "noted"
        told, is_news = judged
        self._learn([told] if is_news else [])
        return f"noted for {told.neighbour}, whose reputation is {self.expertise.reputation(told.neighbour):.2f}"

    # --- questions of others ----------------------------------------------------------------------

    def walk(self, request: WalkRequest) -> WalkReply:
        """Learn what became of rounds before, and reply to each hop with evidence or with whom to ask next.

        A question with a vector of another length than this device's encoder gives, or with a topic that is none, gets
        neither, and lessons of such topics are not learnt: they cost those that came along nothing.
        """
        start = time.perf_counter()
        self._recollect()
        lessons = [one for one in request.lessons if self._knows(one.topics)]
        if lessons:
            self._learn(lessons)
        Judgements(self.notes).note(lessons)
        before = self.expertise.now
        replies = tuple(self._hop(request.kind, hop) for hop in request.hops)
        if seen := self.expertise.now - before:
            self._change(lambda expertise: expertise.tick(seen))
        return WalkReply(self.device, replies, time.perf_counter() - start)

    def learn(self, request: TopicRequest, run: str) -> TopicUpdate:
        """Take one step of learning topics; what was learnt and told by topics before is void when there are others."""
        notes, learner = self.notes, self.learner
        before = learner.step(TopicRequest("known"), run).topics
        update = learner.step(request, run)
        if request.stage == "keep" and update.topics != before:
            notes.clear("expertise", "told", "lesson")
            for made in ("topics", "sketches", "expertise"):
                self.__dict__.pop(made, None)
        return update

    # --- parts ------------------------------------------------------------------------------------

    @cached_property
    def notes(self) -> WalkNotes:
        """What is kept between messages."""
        return WalkNotes(self.root / NOTES)

    @property
    def cache(self) -> AnswerCache:
        """Answers that may be given again: those that were made as they would be now."""
        limits = (self.settings.overlay.cache_similarity, CACHE_HOURS)
        by = f"{self._made_with} {self.order.id}".strip()  # what orders evidence may be replaced meanwhile
        return AnswerCache(self.device, self.store, self.notes, *limits, by, self.clock)

    @cached_property
    def _made_with(self) -> str:
        return made_with(self.settings, self.models.generator_id)

    @cached_property
    def sketches(self) -> DeviceSketches:
        """What this device tells its neighbours, and they it."""
        return self._sketches_by(self.topics)

    @cached_property
    def topics(self) -> Topics:
        """By which the federation files."""
        name = self.settings.overlay.topics
        return self.learner.topics() if name == LEARNT else self._headings(name)

    @cached_property
    def learner(self) -> TopicLearner:
        """This device's part in learning topics."""
        return TopicLearner(self._sketches_by(self._headings(SHIPPED)), self.sums)

    def _headings(self, name: str) -> Topics:
        kept = fedrag_home(self.settings.home) / "topics"
        return topics_of(self.models.encoder, HEADINGS if name == SHIPPED else Path(name).expanduser(), kept)

    def _sketches_by(self, topics: Topics) -> DeviceSketches:
        return DeviceSketches(self.device, self.store, self.export, self.notes, topics, self.settings, self.kept)

    @cached_property
    def expertise(self) -> Expertise[str]:
        """What this device has learnt of its neighbours."""
        return self._restored(self.notes.get("expertise"))

    def _restored(self, kept: Json | None) -> Expertise[str]:
        rules = LearningRules()
        return Expertise[str].restored(rules, cast(ExpertiseState, kept)) if kept else Expertise[str](rules)

    def sweep(self) -> None:
        """Drop kept answers whose evidence is gone, if any were ever kept."""
        if (self.root / NOTES).exists():
            self.cache.sweep()

    def close(self) -> None:
        """Close the notes, if they were opened."""
        if "notes" in self.__dict__:
            self.notes.close()

    def _hop(self, kind: WalkKind, hop: Hop) -> HopReply:
        if hop.vector.shape != (self.models.encoder.dimension,) or not self._knows(hop.topics):
            _LOG.warning("a question with a vector or a topic that this device does not know is passed over")
            return HopReply(hop.question_id, 0.0, (), ())
        most, least = self.settings.inference.remote_units, self.settings.overlay.threshold
        units = self._near(hop.vector, MASKED_FOR_ONE * most if self.export.rewrites else most)
        released = self.export.release_evidence(units, vector=hop.vector, most=most, least=least).items
        if released:
            return HopReply(hop.question_id, self._relevance(released), released, ())
        return HopReply(hop.question_id, 0.0, (), self._ranked(kind, hop))

    def _ranked(self, kind: WalkKind, hop: Hop) -> tuple[RankedPeer, ...]:
        names = list(hop.candidates)
        self.expertise.tick()
        seed = f"{self.settings.seed}|{self.device}|{hop.question_id}|{self.expertise.now}"
        rng = np.random.default_rng(list(hashlib.sha256(seed.encode()).digest()))
        if kind == "flooding":
            return tuple(RankedPeer(name, 0.0) for name in names[:_MOST_RANKED])
        if kind == "random":
            return tuple(RankedPeer(names[int(row)], 0.0) for row in rng.permutation(len(names))[:1])
        topics = {one.topic: one.weight for one in hop.topics}
        claims = [self.sketches.claim(name, topics) if kind == "sketch" else 0.0 for name in names]
        ranked = self.expertise.ranked(names, topics, claims, rng)
        return tuple(RankedPeer(name, min(score, 1e6)) for name, score in ranked[: WalkRules.of(kind).fanout])

    def _learn(self, lessons: Sequence[Lesson]) -> None:
        def learn(expertise: Expertise[str]) -> None:
            for one in lessons:
                topics = {topic.topic: topic.weight for topic in one.topics}
                expertise.learn(one.neighbour, topics, one.distance, one.outcome)

        self._change(learn)

    def _knows(self, topics: Sequence[TopicWeight]) -> bool:
        return all(one.topic < len(self.topics) for one in topics)

    def _change(self, change: Callable[[Expertise[str]], object]) -> None:
        """Change what is kept now, in one step: this device may be open a second time, and learn there meanwhile."""

        def made(kept: Json | None) -> Json:
            self.expertise = self._restored(kept)
            change(self.expertise)
            return self.expertise.state()

        self.notes.change("expertise", made)

    def _recollect(self) -> None:
        """Read anew what was learnt: this device may be open a second time, and have learnt there."""
        self.__dict__.pop("expertise", None)

    def _answered(
        self,
        question: Question,
        vector: Vector,
        units: Sequence[EvidenceUnit],
        start: float,
        cache: AnswerCache | None,
    ) -> Answer:
        """Answer over units, and keep the answer."""
        found = time.perf_counter() - start
        answer = answer_over(question, units, self.settings, self.models, home=self.device)
        answer = replace(answer, cost=replace(answer.cost, seconds=answer.cost.seconds + found))
        if cache is not None:
            cache.keep(question, answer, vector, units)
        return answer

    def _near(self, vector: Vector, most: int) -> list[EvidenceUnit]:
        return EvidenceStore(self.device, self.store).nearest_sentences(vector, most)

    @staticmethod
    def _relevance(units: Sequence[EvidenceUnit]) -> float:
        return max((unit.score for unit in units), default=-math.inf)

    def _doubted(self, vector: Vector) -> bool:
        """Whether somebody here called the answer to such a question bad: others must not find out which."""
        return bool(nearest_first(self.notes.all("doubt"), vector, self.settings.overlay.cache_similarity))

    def _vector(self, question: Question) -> Vector:
        [vector] = self.models.encoder.encode([question.text])
        return np.asarray(vector, dtype=np.float32)

    def _topic_weights(self, question: Question, vector: Vector) -> tuple[TopicWeight, ...]:
        weights = self.topics.weights(vector)
        if self.settings.overlay.topics_by == "model":
            weights = ModelTopics(self.topics, self.models.generator()).weights(question.text, weights)
        return tuple(TopicWeight(topic, weight) for topic, weight in weights.items())
