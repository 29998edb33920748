"""Plain retrieval-augmented generation over dense and BM25 rankings, fused by their ranks (Cormack et al. 2009)."""

from __future__ import annotations

from fedrag_flwr.baselines.ranked import Ranked
from fedrag_flwr.baselines.reading import Reading
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.retrieval import ReciprocalRankFusion


def hybrid(substrate: Substrate) -> Reading:
    """The top passages by both rankings together, which weigh alike."""
    return Reading(substrate, Ranked(substrate, ReciprocalRankFusion([substrate.dense, substrate.sparse])))
