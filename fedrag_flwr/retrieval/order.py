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

Kind = Literal["controller", "late-interaction"]


@dataclass(slots=True, eq=False)
class DeviceOrder:
    """The order that a device's settings name.

    An engine over one version of the store has one of its own (`chosen`), made when it is first asked for and anew when
    the weights change: while a build goes on, questions are answered by what was made before.
    """

    device: EdgeDevice  # the device, of which it uses store, rankings and learned reranker
    _made: tuple[str, Retriever, PathExplainer] | None = None

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
        """An order for one engine; None where the settings name none: by similarity."""
        return None if self.settings.order == "similarity" else DeviceOrder(self.device)

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
        _, retriever, _ = self._present()
        return retriever.rank(question, most)

    def beside(self, question: str, own: Sequence[str], given: Sequence[ParsedPassage]) -> Ranking:
        """Some own passages and those that others gave, ranked together by the learned reranker."""
        weights = self.settings.weights if self.settings.order == "controller" else SHIPPED
        sources = self.device.rankings.beside(own, given)
        return self.device.controller.retriever(weights, sources).rank(question, len(own) + len(given))

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """The answer paths to those of the passages that the question reaches by one."""
        _, _, explainer = self._present()
        return _explained(explainer, question, passages)

    def choose(self, question: str, most: int) -> list[ChosenPassage]:
        """The passages that the controller puts first, each with the answer path to it; raises as `by`."""
        found = self.by("controller").rank(question, most)
        titles = {one.id: one.title for one in self.device.store.passages([one.passage_id for one in found])}
        explained = _explained(self.device.rankings.present().explainer, question, list(titles))
        paths = {path.passage_id: path for path in explained}
        return [
            ChosenPassage(one.passage_id, titles[one.passage_id], one.score, paths.get(one.passage_id)) for one in found
        ]

    def _present(self) -> tuple[str, Retriever, PathExplainer]:
        now, made = self.id, self._made
        if made is None or made[0] != now:
            retriever = self.by("late-interaction" if self.settings.order == "late-interaction" else "controller")
            made = self._made = now, retriever, self.device.rankings.present().explainer
        return made


def _explained(explainer: PathExplainer, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
    return tuple(path for path in explainer.explain(question, passages) if path is not None)
