"""The order in which a device's passages become evidence, where they are not simply the nearest ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.hypergraph import PathExplainer
from fedrag_flwr.records import ChosenPath
from fedrag_flwr.retrieval import Ranking, Retriever


@dataclass(frozen=True, slots=True)
class RetrieverOrder:
    """Passages in a retriever's order, each with the answer path that speaks most for it.

    Parameters
    ----------
    retriever
        Ranks the device's passages.
    explainer
        Over the same passages.
    """

    retriever: Retriever
    explainer: PathExplainer

    def rank(self, question: str, most: int) -> Ranking:
        """At most so many passages, best first."""
        return self.retriever.rank(question, most)

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """The answer paths to those of the passages that the question reaches by one."""
        return tuple(path for path in self.explainer.explain(question, passages) if path is not None)
