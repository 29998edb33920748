"""Plain retrieval-augmented generation over the passages that BM25 ranks first (Robertson and Zaragoza 2009)."""

from __future__ import annotations

from fedrag_flwr.baselines.ranked import Ranked
from fedrag_flwr.baselines.reading import Reading
from fedrag_flwr.baselines.substrate import Substrate


def bm25(substrate: Substrate) -> Reading:
    """The top passages by the words that they share with the question."""
    return Reading(substrate, Ranked(substrate, substrate.sparse))
