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
    from fedrag_flwr.text.base import ParsedPassage

Kind = Literal["controller", "late-interaction"]


@dataclass(slots=True, eq=False)
class DeviceOrder:
    """The order that a device's settings name, over the present version of its store.

    It is made when it is first asked for, and anew when the store or the weights change.
    """

    device: EdgeDevice  # the device, of which it uses store, rankings and learned reranker
    _made: tuple[tuple[str, int], Retriever] | None = None

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

    def chosen(self) -> DeviceOrder | None:
        """This order; None where the settings name none: by similarity."""
        return None if self.settings.order == "similarity" else self

    def prepare(self) -> None:
        """Make what the order needs of the documents, so that no question waits for it; weights may come later."""
        if self.settings.order == "controller":
            self.device.rankings.present()
        elif self.settings.order == "late-interaction":
            self.device.rankings.late_interaction()

    def by(self, kind: Kind) -> Retriever:
        """Ranks passages by the controller or by late interaction; raises StoreError where the controller that
        `retrieval.weights` names is missing, torn, or was fitted for other features.
        """
        if kind == "late-interaction":
            return self.device.rankings.late_interaction()
        return self.device.controller.retriever(self.settings.weights)

    def rank(self, question: str, most: int) -> Ranking:
        """At most so many passages, best first; raises as `by`."""
        now, made = (self.id, self.device.store.version), self._made
        if made is None or made[0] != now:
            kind = self.settings.order
            made = now, self.by("late-interaction" if kind == "late-interaction" else "controller")
            self._made = made
        return made[1].rank(question, most)

    def beside(self, question: str, own: Sequence[str], given: Sequence[ParsedPassage]) -> Ranking:
        """Some own passages and those that others gave, ranked together by the learned reranker."""
        weights = self.settings.weights if self.settings.order == "controller" else SHIPPED
        sources = self.device.rankings.beside(own, given)
        return self.device.controller.retriever(weights, sources).rank(question, len(own) + len(given))

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """The answer paths to those of the passages that the question reaches by one."""
        explained = self.device.rankings.present().explainer.explain(question, passages)
        return tuple(path for path in explained if path is not None)

    def choose(self, question: str, most: int) -> list[ChosenPassage]:
        """The passages that the controller puts first, each with the answer path to it; raises as `by`."""
        found = self.by("controller").rank(question, most)
        titles = {one.id: one.title for one in self.device.store.passages([one.passage_id for one in found])}
        paths = {path.passage_id: path for path in self.paths(question, list(titles))}
        return [
            ChosenPassage(one.passage_id, titles[one.passage_id], one.score, paths.get(one.passage_id)) for one in found
        ]
