"""Semantic hypergraph learning: units gathered into hyperedges by projected gradient on the simplex."""

from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units, unit_count
from fedrag_flwr.hypergraph.incidence import content_id
from fedrag_flwr.hypergraph.learning import learn
from fedrag_flwr.hypergraph.simplex import project_rows
from fedrag_flwr.hypergraph.updating import update

__all__ = ["Learning", "LearningSettings", "Units", "content_id", "learn", "project_rows", "unit_count", "update"]
