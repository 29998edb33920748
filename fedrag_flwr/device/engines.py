"""A device's inference engines: one for each choice of the memories that it answers from."""

from __future__ import annotations

import threading
from typing import Literal

from fedrag_flwr.answering.engine import Engine, Limits
from fedrag_flwr.answering.passages import EvidenceStore
from fedrag_flwr.answering.read import Reader
from fedrag_flwr.answering.recall import Recall
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.memory.matching.quorum import Quorum
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.ordering.order import EvidenceOrders
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.segment import under_title

Memories = Literal["all", "own", "none"]
State = tuple[int, str]


class Engines:
    """Makes engines over the store's present version and weights, and keeps them while these stay as they are.

    Parameters
    ----------
    device
        The device's name.
    store
        Its memory.
    settings
        Of the run.
    models
        The models.
    orders
        Whose sentences the slow path reads.
    """

    def __init__(
        self,
        device: str,
        store: MemoryStore,
        settings: Settings,
        models: Models,
        orders: EvidenceOrders,
    ) -> None:
        self._device = device
        self._store = store
        self._settings = settings
        self._models = models
        self._orders = orders
        self._kept: dict[Memories, tuple[State, Engine]] = {}
        self._making = threading.Lock()

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
                state = self._state()  # first: a change in the meantime must not go unnoticed
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
        return engine if state == self._state() else None

    def _state(self) -> State:
        return self._store.version, self._orders.id  # another process may have built, or taken in weights

    def _made(self, memories: Memories) -> Engine:
        memory, inference, tools = self._settings.memory, self._settings.inference, self._models
        known = [] if memories == "none" else self._store.items(origin=self._device if memories == "own" else None)
        recall = Recall(
            Matcher(known, memory.alpha),
            tools.encoder,
            memory.delta,
            memory.told,
            Quorum(self._device, inference.quorum),
            self._support,
        )
        limits = Limits(
            inference.passages,
            inference.words,
            inference.quotes,
            memory.top_k,
            inference.abstain_below,
            inference.ask_below,
        )
        return Engine(
            recall,
            EvidenceStore(self._device, self._store, self._settings.retrieval.passages),
            Reader(tools.generator, inference.max_answer_tokens, self._settings.seed),
            tools.encoder,
            tools.pipeline,
            limits,
            self._orders.chosen(),
        )

    def _support(self, item: MemoryItem) -> list[str]:
        """The sentences from which one of this device's memories was made, each with its document's title."""
        if item.origin != self._device:
            return []
        try:
            sentences = self._store.sentences(item.support)
            titles = {one.id: one.title for one in self._store.passages([one.passage_id for one in sentences])}
        except NotFoundError:  # whole passages, or what a change took away while this engine answers
            return []
        return [under_title(titles[one.passage_id], one.text) for one in sentences]
