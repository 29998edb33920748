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
    """A property graph as a source.

    Parameters
    ----------
    name
        Short name of the source; its documents' ids begin with it.
    url
        ``ladybug:///FILE``, or Neo4j's (``neo4j://USER:${PASSWORD}@HOST:7687``); ``${NAME}`` is filled from the
        environment.
    database
        Neo4j's database; "" for the usual one.
    subject
        The label of what records are about, such as ``Patient``.
    label
        The labels that take part; paths lead through no others (the paper's exclusion set is all the rest).
    phrase
        How a relation type reads: words between two names, or with braces a whole sentence over ``{source}``,
        ``{target}`` and the relation's properties. Else its own name in small letters, with the properties behind.
    longest_path
        Relations from an entity to the subject at most.
    most_rows, seconds, read_seconds, refresh_seconds
        Rows and seconds of a statement that searches; seconds of one that reads all; how long a server's names are
        taken for current in searching.
    """

    kind: Literal["graph"] = "graph"
    name: str = Field("graph", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    url: str = Field(min_length=1)
    database: str = ""
    subject: str = Field(min_length=1)
    label: dict[str, LabelMapping] = Field(min_length=1)
    phrase: dict[str, str] = Field(default_factory=dict)
    longest_path: int = Field(2, ge=1, le=3)
    most_rows: int = Field(100_000, ge=1)
    seconds: float = Field(5.0, gt=0, le=3_600)
    read_seconds: float = Field(60.0, gt=0, le=86_400)
    refresh_seconds: float = Field(60.0, ge=0)
