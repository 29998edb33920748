"""Semantic hypergraph learning by projected gradient on the simplex, and key spaces over evidence tuples."""

from fedrag_flwr.hypergraph.answer_paths import (
    PAPER,
    PRESETS,
    REPOSITORY_PAIRS,
    REPOSITORY_PATHS,
    ConfidenceWeighting,
    KeyEdges,
    PathSettings,
    answer_paths,
    co_occurrences,
)
from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units
from fedrag_flwr.hypergraph.diffusion import DiffusionSettings, HyperedgeKeys, content_id
from fedrag_flwr.hypergraph.explaining import PathExplainer
from fedrag_flwr.hypergraph.growth import GrowingPaths, GrowingSeeds
from fedrag_flwr.hypergraph.key_space import KeySpace, PairwiseKeys
from fedrag_flwr.hypergraph.learn import VertexSeeds, learn
from fedrag_flwr.hypergraph.pagerank import PageRank, PageRankSettings, PassageGraph, PassageGraphSettings
from fedrag_flwr.hypergraph.rows import project_rows
from fedrag_flwr.hypergraph.tuples import TupleTable
from fedrag_flwr.hypergraph.update import update

__all__ = [
    "PAPER",
    "PRESETS",
    "REPOSITORY_PAIRS",
    "REPOSITORY_PATHS",
    "ConfidenceWeighting",
    "DiffusionSettings",
    "GrowingPaths",
    "GrowingSeeds",
    "HyperedgeKeys",
    "KeyEdges",
    "KeySpace",
    "Learning",
    "LearningSettings",
    "PageRank",
    "PageRankSettings",
    "PairwiseKeys",
    "PassageGraph",
    "PassageGraphSettings",
    "PathExplainer",
    "PathSettings",
    "TupleTable",
    "Units",
    "VertexSeeds",
    "answer_paths",
    "co_occurrences",
    "content_id",
    "learn",
    "project_rows",
    "update",
]
