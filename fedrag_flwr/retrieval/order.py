"""The order in which a device's passages become evidence, where they are not simply the nearest ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fedrag_flwr.records import ChosenPassage, ChosenPath
from fedrag_flwr.retrieval.base import Ranking, Retriever
from fedrag_flwr.retrieval.device_controller import SHIPPED
from fedrag_flwr.settings import RetrievalSettings

if TYPE_CHECKING:
    from fedrag_flwr.device import EdgeDevice
    from fedrag_flwr.hypergraph.answer_paths import PathExplainer
    from fedrag_flwr.text.base import ParsedPassage


@dataclass(frozen=True, slots=True)
class RetrieverOrder:
    """Passages in a retriever's order, each with the answer path that speaks most for it."""

    retriever: Retriever  # ranks the device's passages
    explainer: PathExplainer  # over the same passages

    def rank(self, question: str, most: int) -> Ranking:
        """At most so many passages, best first."""
        return self.retriever.rank(question, most)

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """The answer paths to those of the passages that the question reaches by one."""
        return tuple(path for path in self.explainer.explain(question, passages) if path is not None)


@dataclass(slots=True)
class PresentOrder:
    """The order that a device's settings name, made when it is first asked for and anew when its weights change."""

    orders: EvidenceOrders  # the device's
    _made: tuple[str, RetrieverOrder] | None = None

    def rank(self, question: str, most: int) -> Ranking:
        """At most so many passages, best first; errors as of `EvidenceOrders.by`."""
        return self._present().rank(question, most)

    def beside(self, question: str, own: Sequence[str], given: Sequence[ParsedPassage]) -> Ranking:
        """Some own passages and those that others gave, ranked together by the learned reranker."""
        orders, most = self.orders, len(own) + len(given)
        weights = orders.settings.weights if orders.settings.order == "controller" else SHIPPED
        sources = orders.device.rankings.beside(own, given)
        return orders.device.controller.retriever(weights, sources).rank(question, most)

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """The answer paths to those of the passages that the question reaches by one."""
        return self._present().paths(question, passages)

    def _present(self) -> RetrieverOrder:
        now, made = self.orders.id, self._made
        if made is None or made[0] != now:
            kind = self.orders.settings.order
            made = now, self.orders.by("late-interaction" if kind == "late-interaction" else "controller")
            self._made = made
        return made[1]


@dataclass(frozen=True, slots=True)
class EvidenceOrders:
    """The orders that a device knows, over the present version of its store."""

    device: EdgeDevice  # the device, of which it uses store, rankings and learned reranker

    @property
    def settings(self) -> RetrievalSettings:
        """Which order and which weights."""
        return self.device.settings.retrieval

    @property
    def id(self) -> str:
        """Names the weights or the encoder behind the order as they are now; empty where there are none."""
        if self.settings.order == "controller":
            return self.device.controller.weights_id(self.settings.weights)
        return "late interaction" if self.settings.order == "late-interaction" else ""

    def chosen(self) -> PresentOrder | None:
        """The order that the settings name; None: by similarity."""
        return None if self.settings.order == "similarity" else PresentOrder(self)

    def prepare(self) -> None:
        """Make what the order needs of the documents, so that no question waits for it; weights may come later."""
        if self.settings.order == "controller":
            self.device.rankings.present()
        elif self.settings.order == "late-interaction":
            self.device.rankings.late_interaction()

    def by(self, kind: Literal["controller", "late-interaction"]) -> RetrieverOrder:
        """Passages in the order of the controller or of late interaction; raises StoreError where the controller that
        `retrieval.weights` names is missing, torn, or was fitted for other features.
        """
        retriever: Retriever = (
            self.device.controller.retriever(self.settings.weights)
            if kind == "controller"
            else self.device.rankings.late_interaction()
        )
        return RetrieverOrder(retriever, self.device.rankings.present().explainer)

    def choose(self, question: str, most: int) -> list[ChosenPassage]:
        """The passages that the controller puts first for a question, each with the answer path to it; as `by`."""
        order = self.by("controller")
        found = order.rank(question, most)
        titles = {
            passage.id: passage.title for passage in self.device.store.passages([one.passage_id for one in found])
        }
        paths = {path.passage_id: path for path in order.paths(question, list(titles))}
        return [
            ChosenPassage(one.passage_id, titles[one.passage_id], one.score, paths.get(one.passage_id)) for one in found
        ]
