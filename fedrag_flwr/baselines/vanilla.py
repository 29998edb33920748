"""Plain retrieval-augmented generation: the passages nearest by their vectors (Lewis et al. 2020)."""

from __future__ import annotations

from fedrag_flwr.baselines.ranked import Ranked
from fedrag_flwr.baselines.reading import Reading
from fedrag_flwr.baselines.substrate import Substrate


def vanilla(substrate: Substrate) -> Reading:
    """The top passages by cosine; retriever and reader are not trained together, as they were in the original."""
    return Reading(substrate, Ranked(substrate, substrate.dense))
