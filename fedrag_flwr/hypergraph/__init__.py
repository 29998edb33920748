"""Semantic hypergraph learning by projected gradient on the simplex, and key spaces over evidence tuples."""

from fedrag_flwr.hypergraph.answer_paths import (
    PAPER,
    PRESETS,
    REPOSITORY_PATHS,
    ConfidenceWeighting,
    DiffusionSettings,
    HyperedgeKeys,
    KeyEdges,
    PathExplainer,
    PathSettings,
    answer_paths,
)
from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units, content_id
from fedrag_flwr.hypergraph.learn import learn
from fedrag_flwr.hypergraph.tuples import KeySpace, TupleTable, VertexSeeds
from fedrag_flwr.hypergraph.update import update

__all__ = [
    "PAPER",
    "PRESETS",
    "REPOSITORY_PATHS",
    "ConfidenceWeighting",
    "DiffusionSettings",
    "HyperedgeKeys",
    "KeyEdges",
    "KeySpace",
    "Learning",
    "LearningSettings",
    "PathExplainer",
    "PathSettings",
    "TupleTable",
    "Units",
    "VertexSeeds",
    "answer_paths",
    "content_id",
    "learn",
    "update",
]
