"""Which graph database a URL names; a driver is loaded when its URL is first opened."""

from __future__ import annotations

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.graph.store import GraphStore


def open_graph(url: str, database: str = "") -> GraphStore:
    """Open the graph of a URL.

    Raises
    ------
    SourceError
        The URL is of another kind, the driver is not installed, or there is no graph.
    """
    scheme = url.partition("://")[0]
    if scheme == "ladybug":
        from fedrag_flwr.sources.graph.ladybug_store import LadybugStore

        return LadybugStore(url.partition(":///")[2])
    if scheme.split("+")[0] in ("neo4j", "bolt"):
        from fedrag_flwr.sources.graph.neo4j_store import Neo4jStore

        return Neo4jStore(url, database)
    raise SourceError("this is no URL of a graph", fix="write ladybug:///FILE or neo4j://USER:PASSWORD@HOST:7687")
