"""Caches of what questions cost: three tiers, and what to fetch before it is asked for (HyFedRAG 3.1)."""

from fedrag_flwr.caching.association import AssociationGraph
from fedrag_flwr.caching.keys import CacheKeys
from fedrag_flwr.caching.tier import Tier, TierStats, Versions, find_tiers

__all__ = ["AssociationGraph", "CacheKeys", "Tier", "TierStats", "Versions", "find_tiers"]
