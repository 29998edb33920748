"""All that a graph says of its subjects at one time: the vertices' names, and the documents that subjects become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import Failure, Reading, make_document
from fedrag_flwr.sources.graph.mapping import GraphMapping
from fedrag_flwr.sources.graph.paths import (
    Path,
    Statement,
    Vertex,
    name_of,
    named_columns,
    path_query,
    statements_of,
)
from fedrag_flwr.sources.graph.store import GraphSession, quoted
from fedrag_flwr.sources.source_search import Contents, content_version


@dataclass(frozen=True, slots=True)
class Named:
    """A vertex with its name, its key as the graph has it, and what its properties tell of it."""

    vertex: Vertex
    key: object
    name: str
    told: tuple[str, ...]


def read_graph(session: GraphSession, mapping: GraphMapping, paths: Sequence[Path]) -> Contents[Named]:
    """Read vertices and paths: each subject becomes a document of what its properties and its paths tell; raises
    SourceError where the graph fails or takes longer than its limit.
    """
    failures: list[Failure] = []
    vertices = _vertices(session, mapping, failures)
    told: dict[Vertex, dict[str, None]] = {
        one.vertex: dict.fromkeys(one.told) for one in vertices if one.vertex.label == mapping.subject
    }
    for path in paths:
        rows = session.rows(path_query(path, mapping, None, mapping.most_rows + 1), {})
        if len(rows) > mapping.most_rows:
            kinds = ", ".join(step.kind.type for step in path)
            reason = f"only {mapping.most_rows} paths were read (raise most-rows)"
            failures.append(Failure(kinds, reason, guessed=True))  # whatever is not there may be beyond
        for statement in statements_of(path, rows[: mapping.most_rows], mapping):
            if statement.subject in told:
                told[statement.subject][statement.text] = None
    documents: list[Document] = []
    names = {one.vertex: one.name for one in vertices}
    for subject, sentences in told.items():
        try:
            text = "\n".join(sorted(sentences))
            documents.append(make_document(document_id(mapping, subject), names.get(subject, ""), text))
        except DocumentError:
            failures.append(Failure(f"{subject.label} {subject.key}", "nothing is said of it"))
    reading = Reading(tuple(documents), tuple(failures))
    return Contents(tuple(vertices), reading, content_version(documents))


def document_id(mapping: GraphMapping, subject: Vertex) -> str:
    """Give the id of the document that a subject becomes."""
    return f"{mapping.name}/{subject.label}/{quote(subject.key, safe='')}"


def own_statements(subject: Named) -> list[Statement]:
    """Give what a subject's properties tell, as statements."""
    vertex = subject.vertex
    return [Statement(vertex, subject.name, text, (vertex,)) for text in subject.told]


def _vertices(session: GraphSession, mapping: GraphMapping, failures: list[Failure]) -> list[Named]:
    """All vertices that a key of their own tells from all others of their label; the others are failures."""
    found: list[Named] = []
    for label, one in mapping.label.items():
        columns = named_columns(f"v.{quoted(name)}" for name in (one.key, *one.name, *one.show))
        query = f"MATCH (v:{quoted(label)}) RETURN {columns} ORDER BY c0 LIMIT {mapping.most_rows + 1}"
        rows = session.rows(query, {})
        if len(rows) > mapping.most_rows:
            reason = f"only {mapping.most_rows} vertices were read (raise most-rows)"
            failures.append(Failure(label, reason, guessed=True))
        keys = Counter(str(row[0]) for row in rows[: mapping.most_rows] if row[0] is not None)
        if without := min(len(rows), mapping.most_rows) - keys.total():
            failures.append(Failure(label, f"{without} without {one.key}, by which they would be known"))
        failures += [
            Failure(f"{label} {key}", f"{count} have this {one.key}", document_id(mapping, Vertex(label, key)))
            for key, count in keys.items()
            if count > 1
        ]
        for row in rows[: mapping.most_rows]:
            if keys[str(row[0])] != 1 or row[0] is None:
                continue
            name = name_of(row[1 : 1 + len(one.name)]) or str(row[0])
            shown = zip(one.show, row[1 + len(one.name) :], strict=True)
            told = (
                f"The {prop.replace('_', ' ').lower()} of {name} is {value}."
                for prop, value in shown
                if value is not None and str(value).strip()
            )
            found.append(Named(Vertex(label, str(row[0])), row[0], name, tuple(told)))
    return found
