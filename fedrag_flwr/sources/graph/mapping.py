"""What in a property graph makes a record: a subject, and the relation paths that lead to it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedrag_flwr.sources.mapping import MappingPart


class LabelMapping(MappingPart):
    """How vertices of a label are told apart (`key`), what they are called, and what else is said of a subject."""

    key: str = Field(min_length=1, max_length=128)
    name: tuple[str, ...] = Field(min_length=1)
    show: tuple[str, ...] = ()


class GraphMapping(MappingPart):
    """A property graph as a source."""

    kind: Literal["graph"] = "graph"
    # Short name of the source; its documents' ids begin with it.
    name: str = Field("graph", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    # ``ladybug:///FILE``, or Neo4j's (``neo4j://USER:${PASSWORD}@HOST:7687``); ``${NAME}`` is filled from the
    # environment.
    url: str = Field(min_length=1)
    database: str = ""  # Neo4j's database; "" for the usual one
    subject: str = Field(min_length=1)  # the label of what records are about, such as ``Patient``
    # The labels that take part; paths lead through no others (the paper's exclusion set is all the rest).
    label: dict[str, LabelMapping] = Field(min_length=1)
    # How a relation type reads: words between two names, or with braces a whole sentence over ``{source}``,
    # ``{target}`` and the relation's properties. Else its own name in small letters, with the properties behind.
    phrase: dict[str, str] = Field(default_factory=dict)
    longest_path: int = Field(2, ge=1, le=3)  # relations from an entity to the subject at most
    # Rows and seconds of a statement that searches; seconds of one that reads all; how long a server's names are
    # taken for current in searching.
    most_rows: int = Field(100_000, ge=1)
    seconds: float = Field(5.0, gt=0, le=3_600)
    read_seconds: float = Field(60.0, gt=0, le=86_400)
    refresh_seconds: float = Field(60.0, ge=0)
