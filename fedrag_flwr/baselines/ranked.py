"""Evidence as the first passages of a ranking."""

from __future__ import annotations

from fedrag_flwr.baselines.reading import Construction, Meter
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval import Retriever


class Ranked:
    """Gives the passages that a retriever ranks first, as many as single-stage retrieval takes.

    Parameters
    ----------
    substrate
        The device's documents.
    retriever
        Ranks its passages.
    construction
        What the retriever was made with.
    """

    def __init__(self, substrate: Substrate, retriever: Retriever, construction: Construction | None = None) -> None:
        self._substrate = substrate
        self._retriever = retriever
        self.construction = construction or Construction()

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the first passages."""
        found = self._retriever.rank(question, self._substrate.limits.passages)
        return self._substrate.passage_units(question, [one.passage_id for one in found])
