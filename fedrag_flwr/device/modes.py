"""How a device answers a question in each mode, and the engines that it answers with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from fedrag_flwr.answering.engine import Engine, Limits, Near
from fedrag_flwr.answering.passages import EvidenceStore
from fedrag_flwr.answering.read import Reader
from fedrag_flwr.answering.recall import Recall
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Heard
from fedrag_flwr.records import Answer, AnswerMode, Cost, EvidenceUnit, MemoryItem, OpenQuestion, Question, Vector, Want
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.segment import under_title

if TYPE_CHECKING:
    from fedrag_flwr.device.edge import EdgeDevice
    from fedrag_flwr.overlay.answer_cache import AnswerCache
    from fedrag_flwr.retrieval.order import DeviceOrder

TOP_K = 5  # memories that localise the Cognizer's evidence (FD-RAG: K)
PASSAGES = 10  # of an order's first passages so many give their sentences
Memories = Literal["all", "own", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class Engines:
    """Makes engines over the store's present version, and keeps them while it stays as it is."""

    device: str  # the device's name
    store: MemoryStore  # its memory
    settings: Settings  # of the run
    models: Models
    order: DeviceOrder  # whose sentences the slow path reads
    _kept: dict[Memories, tuple[int, Engine]] = field(init=False, default_factory=dict)
    _making: threading.Lock = field(init=False, default_factory=threading.Lock)

    def over(self, memories: Memories) -> Engine:
        """The engine that knows all memories, this device's own, or none.

        While one thread makes the engine over a new version of the store, others go on with the one before.
        """
        engine = self._present(memories)
        if engine is not None:
            return engine
        _, before = self._kept.get(memories, (None, None))
        if not self._making.acquire(blocking=before is None):
            assert before is not None
            return before
        try:
            engine = self._present(memories)
            if engine is None:
                state = self.store.version  # first: a change in the meantime must not go unnoticed
                engine = self._made(memories)
                self._kept[memories] = (state, engine)
            return engine
        finally:
            self._making.release()

    def forget(self) -> None:
        """Make all engines anew when they are next needed."""
        self._kept.clear()

    def _present(self, memories: Memories) -> Engine | None:
        state, engine = self._kept.get(memories, (None, None))
        return engine if state == self.store.version else None

    def _made(self, memories: Memories) -> Engine:
        memory, inference, tools = self.settings.memory, self.settings.inference, self.models
        known = [] if memories == "none" else self.store.items(origin=self.device if memories == "own" else None)
        recall = Recall(
            Matcher(known, memory.alpha),
            tools.encoder,
            memory.delta,
            memory.told,
            Quorum(self.device, inference.quorum),
            self._support,
        )
        limits = Limits(
            inference.passages,
            inference.quotes,
            TOP_K,
            inference.abstain_below,
            inference.ask_below,
        )
        return Engine(
            recall,
            EvidenceStore(self.device, self.store, PASSAGES),
            Reader(tools.generator, inference.max_answer_tokens, self.settings.seed),
            tools.encoder,
            tools.pipeline,
            limits,
            self.order.chosen(),
        )

    def _support(self, item: MemoryItem) -> list[str]:
        """The sentences from which one of this device's memories was made, each with its document's title."""
        if item.origin != self.device:
            return []
        try:
            sentences = self.store.sentences(item.support)
            titles = {one.id: one.title for one in self.store.passages([one.passage_id for one in sentences])}
        except NotFoundError:  # whole passages, or what a change took away while this engine answers
            return []
        return [under_title(titles[one.passage_id], one.text) for one in sentences]


@dataclass(frozen=True, slots=True)
class DeviceAnswers:
    """The ways in which a device answers."""

    device: EdgeDevice  # the device, of which it uses the part that a mode needs

    def ask(self, question: Question, mode: AnswerMode, *, own: bool = False) -> Answer | OpenQuestion:
        """Answer one question at home, with its evidence; `own` says that people here ask it."""
        if mode in ("graph", "gated"):
            return self.device.graph.ask(question, gated=mode == "gated")
        if mode == "walk":
            return self.device.walks.ask(question, own=own)
        if mode == "routed":
            start = time.perf_counter()
            [vector] = self.device.models.encoder.encode([question.text])
            return OpenQuestion(question.id, vector, (), time.perf_counter() - start)
        engine = self._engine(mode)
        if mode == "closed-book":
            return engine.closed_book(question)
        if mode == "passages":
            return engine.plain(question)
        if mode == "controlled":
            return engine.plain(question, self.device.controller.retriever())
        if mode == "assisted":
            return self._assisted(engine, question, own)
        return engine.ask(question)

    def ask_at_home(self, question: Question, heard: Heard | None = None) -> tuple[Answer, bool]:
        """Answer from memory, and with home's own evidence where memory is not enough; and whether home is sure.

        `heard` is told what the model writes, as `Engine.at_home` tells it.
        """
        engine = self.device.engines.over("all")
        answer = engine.at_home(question, heard=heard)
        return answer, engine.sure(answer)

    def _assisted(self, engine: Engine, question: Question, own: bool) -> Answer | OpenQuestion:
        """What was answered before, home's memory, home's own evidence; else whom home would ask."""
        parts = self.device.settings.fedrag
        named = self.device.settings.exchange_for("assisted") == "plain"  # else they go into sealed messages
        if parts.has("cache") and (before := self._before(question, own)) is not None:
            return before
        near: Near | None = self.device.graph.near if parts.has("summaries") else None
        if not named:
            near = _hidden
        return engine.ask(question, near, reading=parts.has("reading"), owners=parts.has("owners") and named)

    def seeker(self) -> Callable[[Question], tuple[Vector, Sequence[Want]]]:
        """Makes ready what says by which vector `fedrag` asks others about a question, and whom memory names.

        Both are for sealed messages in which neither shows.
        """
        engine, owners = self._engine("assisted"), self.device.settings.fedrag.has("owners")

        def sought(question: Question) -> tuple[Vector, Sequence[Want]]:
            vector, wants = engine.sought(question)
            return vector, wants if owners else ()

        return sought

    def _before(self, question: Question, own: bool) -> Answer | None:
        start = time.perf_counter()
        [vector] = self.device.models.encoder.encode([question.text])
        known = self.cache.of(own).find(question, vector)
        return None if known is None else replace(known, cost=Cost(time.perf_counter() - start))

    @property
    def cache(self) -> AnswerCache:
        """Answers of `fedrag`, for the same question alone; those of walks are not among them."""
        of_walks = self.device.walks.cache
        return replace(of_walks, similarity=-1.0, verbatim=True, by=f"{of_walks.by} assisted")

    def finish(
        self, question: Question, given: Sequence[EvidenceUnit], mode: AnswerMode, *, own: bool = False
    ) -> Answer | OpenQuestion:
        """Answer an open question with what other devices gave."""
        if mode == "walk":
            return self.device.walks.finish(question, given, own=own)
        # where nobody gave anything, those who know may be back next time
        kept = mode == "assisted" and self.device.settings.fedrag.has("cache") and given
        cache = self.cache.of(own) if kept else None  # first: the weights may be replaced meanwhile
        answer = self._engine(mode).finish(question, given)
        if cache is not None:
            cache.keep(question, answer, self.device.models.encoder.encode([question.text])[0], answer.evidence)
        return answer

    def _engine(self, mode: AnswerMode) -> Engine:
        if mode == "gated":  # it has no memories
            return self.device.engines.over("none")
        alone = mode == "own-memory" or (mode == "assisted" and not self.device.settings.fedrag.has("memories"))
        return self.device.engines.over("own" if alone else "all")


def _hidden(_: Vector) -> Sequence[str]:
    """Nobody is named with a question that travels in sealed messages, though others can be asked."""
    return ()
