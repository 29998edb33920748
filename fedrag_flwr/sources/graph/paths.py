"""Relation paths from entities to the subject, as Cypher patterns and as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.graph.mapping import GraphMapping
from fedrag_flwr.sources.graph.store import GraphSchema, RelationKind, quoted
from fedrag_flwr.sources.mapping import fields_of, filled

End = Literal["entity", "subject"]


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex by its label and key."""

    label: str
    key: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation path as text: "Entity --Rel--> Subject" (HyFedRAG 3.3), with the vertices on it, the subject last."""

    subject: Vertex
    title: str
    text: str
    vertices: tuple[Vertex, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a path, walked along its direction or against it."""

    kind: RelationKind
    forward: bool

    @property
    def start(self) -> str:
        """The label that the step leaves."""
        return self.kind.source if self.forward else self.kind.target

    @property
    def end(self) -> str:
        """The label that it comes to."""
        return self.kind.target if self.forward else self.kind.source


Path = tuple[Step, ...]


def check_mapping(mapping: GraphMapping, schema: GraphSchema) -> None:
    """See that the graph has all that a mapping names; raises SourceError where it lacks a label or a property."""
    if mapping.subject not in mapping.label:
        raise SourceError("the subject's label is not mapped", where=mapping.subject, fix="add it under label")
    for label, one in mapping.label.items():
        if label not in schema.properties:
            raise SourceError("the graph has no such label", where=label, fix="mind the case")
        missing = {one.key, *one.name, *one.show} - set(schema.properties[label])
        if missing:
            raise SourceError("the label has no such property", where=f"{label}: {min(missing)}", fix="mind the case")


def paths_to_subject(mapping: GraphMapping, schema: GraphSchema) -> tuple[Path, ...]:
    """Give the paths of at most `longest_path` relations through mapped labels that end at the subject's."""
    steps = [Step(kind, forward) for kind in schema.relations for forward in (True, False)]
    steps = [step for step in steps if step.start in mapping.label and step.end in mapping.label]
    found: list[Path] = [(step,) for step in steps if step.end == mapping.subject]
    grown = found
    for _ in range(mapping.longest_path - 1):
        longer = [(step, *path) for path in grown for step in steps if step.end == path[0].start]
        grown = [path for path in longer if path[0].start != mapping.subject and mapping.subject not in _inner(path)]
        found = found + grown
    return tuple(found)


def path_query(path: Path, mapping: GraphMapping, end: End | None, limit: int) -> str:
    """Write the query for a path's instances; `$keys` are those of one end, unless all are asked for."""
    pattern = f"(v0:{quoted(path[0].start)})"
    for number, step in enumerate(path, 1):
        relation = f"-[r{number}:{quoted(step.kind.type)}]-"
        arrow = f"{relation}>" if step.forward else f"<{relation}"
        pattern += f"{arrow}(v{number}:{quoted(step.end)})"
    columns: list[str] = []
    for number, label in enumerate(_labels(path)):
        one = mapping.label[label]
        columns += [f"v{number}.{quoted(name)}" for name in (one.key, *one.name)]
    told = ", ".join((named_columns(columns), *(f"r{number}" for number in range(1, len(path) + 1))))
    where, order = "", " ORDER BY c0"
    if end is not None:
        place = 0 if end == "entity" else len(path)
        where, order = f" WHERE v{place}.{quoted(mapping.label[_labels(path)[place]].key)} IN $keys", ""
    return f"MATCH {pattern}{where} RETURN {told}{order} LIMIT {limit}"


def named_columns(columns: Iterable[str]) -> str:
    """Columns to return under names of their own, c0 and so on: a database may refuse two of one name."""
    return ", ".join(f"{column} AS c{number}" for number, column in enumerate(columns))


def statements_of(path: Path, rows: Iterable[Sequence[object]], mapping: GraphMapping) -> list[Statement]:
    """Make statements of rows of `path_query`, but for those through a vertex without a key."""
    places = [0]
    for label in _labels(path)[:-1]:
        places.append(places[-1] + 1 + len(mapping.label[label].name))
    return [_statement(path, row, mapping) for row in rows if all(row[place] is not None for place in places)]


def _statement(path: Path, row: Sequence[object], mapping: GraphMapping) -> Statement:
    """Make a statement of a row of `path_query`: a sentence for each relation, the subject's first."""
    vertices, names, place = [], [], 0
    for label in _labels(path):
        width = 1 + len(mapping.label[label].name)
        vertices.append(Vertex(label, str(row[place])))
        names.append(name_of(row[place + 1 : place + width]) or str(row[place]))
        place += width
    sentences = []
    for number, (step, properties) in enumerate(zip(path, row[place:], strict=True)):
        here, there = names[number], names[number + 1]
        head, tail = (here, there) if step.forward else (there, here)
        phrase = mapping.phrase.get(step.kind.type, step.kind.type.replace("_", " ").lower())
        shown = dict(_shown(properties)) if isinstance(properties, Mapping) else {}
        sentences.append(_sentence(phrase, head, tail, shown))
    text = " ".join(sentence for sentence in reversed(sentences) if sentence)
    return Statement(vertices[-1], names[-1], text, tuple(vertices))


def name_of(parts: Sequence[object]) -> str:
    """Join the parts of a vertex's name."""
    return " ".join(str(part).strip() for part in parts if part is not None and str(part).strip())


def _sentence(phrase: str, head: str, tail: str, properties: Mapping[str, str]) -> str:
    if fields_of(phrase):
        values = {**properties, "source": head, "target": tail}  # a property called so is not the vertex
        return filled(phrase, lambda name: values.get(name, ""))
    told = ", ".join(f"{name.replace('_', ' ').lower()} {value}" for name, value in properties.items())
    return f"{head} {phrase} {tail}{f' ({told})' if told else ''}."


def _shown(properties: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in properties.items():
        if value is not None and str(value).strip():
            yield name, str(value).strip()


def _labels(path: Path) -> list[str]:
    return [path[0].start, *(step.end for step in path)]


def _inner(path: Path) -> list[str]:
    return _labels(path)[1:-1]
