"""Proposing a mapping from what a graph says of its labels; no vertex is read."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.graph.mapping import GraphMapping, LabelMapping
from fedrag_flwr.sources.graph.store import GraphSchema, GraphStore


def open_graph(url: str, database: str = "") -> GraphStore:
    """Open the graph of a URL; raises SourceError where the URL is of another kind, the driver is not installed, or
    there is no graph.
    """
    scheme = url.partition("://")[0]
    if scheme == "ladybug":
        from fedrag_flwr.sources.graph.ladybug_store import LadybugStore

        return LadybugStore(url.partition(":///")[2])
    if scheme.split("+")[0] in ("neo4j", "bolt"):
        from fedrag_flwr.sources.graph.neo4j_store import Neo4jStore

        return Neo4jStore(url, database)
    raise SourceError("this is no URL of a graph", fix="write ladybug:///FILE or neo4j://USER:PASSWORD@HOST:7687")


_NAMES = ("name", "title", "label", "description", "display")
_PARTS = (("first", "last"), ("first_name", "last_name"), ("given", "family"))
_KEYS = ("id", "key", "uuid", "uid")


def propose_mapping(url: str, name: str = "graph", database: str = "") -> GraphMapping:
    """Propose a mapping: the label that most kinds of relations touch is the subject; raises SourceError where the
    graph cannot be reached, or no label has a key and relations.
    """
    with closing(open_graph(url, database)) as store:
        schema = store.schema()
    labels = {label: mapped for label in schema.properties if (mapped := _label(schema, label))}
    touched = Counter(end for kind in schema.relations for end in (kind.source, kind.target) if end in labels)
    if not touched:
        raise SourceError("no label has a key and relations", where=store.place, fix="write a mapping by hand")
    [(subject, _)] = touched.most_common(1)
    return GraphMapping(name=name, url=url, database=database, subject=subject, label=labels)


def _label(schema: GraphSchema, label: str) -> LabelMapping | None:
    by_name = {prop.lower(): prop for prop in schema.properties[label]}
    key = schema.keys.get(label) or next((by_name[one] for one in _KEYS if one in by_name), "")
    if not key or "`" in label:
        return None
    parts = next((parts for parts in _PARTS if all(part in by_name for part in parts)), ())
    single = tuple(by_name[one] for one in _NAMES if one in by_name)[:1]
    name = tuple(by_name[part] for part in parts) or single or (key,)
    show = tuple(prop for prop in schema.properties[label] if prop != key and prop not in name and "`" not in prop)
    return LabelMapping(key=key, name=name, show=show)
