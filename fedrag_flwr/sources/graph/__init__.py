"""Property graphs as sources: Ladybug files and Neo4j, read through a mapping and never written."""

from fedrag_flwr.sources.graph.mapping import GraphMapping, LabelMapping, graph_toml
from fedrag_flwr.sources.graph.proposal import propose_mapping
from fedrag_flwr.sources.graph.source import GraphSource

__all__ = ["GraphMapping", "GraphSource", "LabelMapping", "graph_toml", "propose_mapping"]
