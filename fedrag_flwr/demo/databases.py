"""The demo's texts, or any folder of texts, as a database and as a graph, each with its mapping file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from fedrag_flwr.records import Document, Fact, Sentence
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.sources.graph.mapping import GraphMapping, LabelMapping, graph_toml
from fedrag_flwr.sources.sql.mapping import JoinMapping, RecordMapping, SqlMapping, sql_toml
from fedrag_flwr.text.base import Pipeline

_TABLES = """
CREATE TABLE articles (id TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE paragraphs (article_id TEXT REFERENCES articles (id), number INTEGER, text TEXT NOT NULL,
    PRIMARY KEY (article_id, number));
"""
_NODES = (
    "CREATE NODE TABLE Article(id STRING PRIMARY KEY, title STRING)",
    "CREATE NODE TABLE Thing(id STRING PRIMARY KEY, name STRING, type STRING)",
    "CREATE REL TABLE TELLS(FROM Article TO Thing, sentence STRING)",
)
_TELLS = """UNWIND $rows AS r MATCH (a:Article), (t:Thing) WHERE a.id = r.article AND t.id = r.thing
    CREATE (a)-[:TELLS {sentence: r.sentence}]->(t)"""
_PAGES, _SIZE = 2**28, 2**32  # bytes of memory for pages, and of address space for the file


def demo_database(folder: Path, path: Path) -> Path:
    """Write a folder's documents into SQLite: articles, and their paragraphs as records.

    Parameters
    ----------
    folder
        Of text files.
    path
        The database's file, which is replaced.

    Returns
    -------
    Path
        The mapping file beside it, ``<name>.source.toml``.

    Raises
    ------
    SourceError
        The folder cannot be read or is empty.
    """
    documents = FolderSource(folder).read().documents
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    with database:
        database.executescript(_TABLES)
        database.executemany("INSERT INTO articles VALUES (?, ?)", [(one.id, one.title) for one in documents])
        paragraphs = [
            (document.id, number, text) for document in documents for number, text in enumerate(_paragraphs(document))
        ]
        database.executemany("INSERT INTO paragraphs VALUES (?, ?, ?)", paragraphs)
    database.close()
    record = RecordMapping(
        table="paragraphs",
        key=("article_id", "number"),
        title="{article.title}",
        text=("{text}",),
        join={"article": JoinMapping(table="articles", on={"article_id": "id"})},
    )
    return _write(path, sql_toml(SqlMapping(name=path.stem, url=f"sqlite:///{path.name}", record=(record,))))


def demo_graph(folder: Path, path: Path, pipeline: Pipeline) -> Path:
    """Write a folder's documents into Ladybug: articles, the things that they name, and the sentences between them.

    Parameters
    ----------
    folder
        Of text files.
    path
        The graph's file, which is replaced.
    pipeline
        Finds the things that sentences name.

    Returns
    -------
    Path
        The mapping file beside it, ``<name>.source.toml``.

    Raises
    ------
    SourceError
        The folder cannot be read or is empty.
    """
    import ladybug

    documents = FolderSource(folder).read().documents
    things: dict[str, dict[str, str]] = {}
    told: list[dict[str, str]] = []
    for document, parsed in zip(documents, pipeline.parse(documents), strict=True):
        for sentence in (sentence for one in parsed for sentence in one.passage.sentences):
            for fact in _named(document, sentence):
                things.setdefault(fact.anchor, {"id": fact.anchor, "name": fact.text, "type": fact.type})
                told.append({"article": document.id, "thing": fact.anchor, "sentence": sentence.text})
    path.unlink(missing_ok=True)
    opened = ladybug.Database(path, buffer_pool_size=_PAGES, max_db_size=_SIZE)
    connection = ladybug.Connection(opened, num_threads=1)
    for statement in _NODES:
        connection.execute(statement)
    articles = [{"id": one.id, "title": one.title} for one in documents]
    connection.execute("UNWIND $rows AS r CREATE (:Article {id: r.id, title: r.title})", {"rows": articles})
    make = "UNWIND $rows AS r CREATE (:Thing {id: r.id, name: r.name, type: r.type})"
    connection.execute(make, {"rows": list(things.values())})
    connection.execute(_TELLS, {"rows": told})
    opened.close()
    labels = {
        "Article": LabelMapping(key="id", name=("title",)),
        "Thing": LabelMapping(key="id", name=("name",)),
    }
    mapping = GraphMapping(
        name=path.stem,
        url=f"ladybug:///{path.name}",
        subject="Article",
        label=labels,
        phrase={"TELLS": "{sentence}"},
    )
    return _write(path, graph_toml(mapping))


def _named(document: Document, sentence: Sentence) -> Sequence[Fact]:
    """What a sentence names: what has a name or a number, and always the document's own subject."""
    own = Fact(document.title or document.id, "NAME", (document.title or document.id).casefold())
    return _once([own, *(fact for fact in sentence.facts if fact.type not in ("CONCEPT", "ORDINAL"))])


def _once(facts: Iterable[Fact]) -> list[Fact]:
    return list({fact.anchor: fact for fact in facts}.values())


def _paragraphs(document: Document) -> list[str]:
    """Give a document's paragraphs without its heading, which is its title."""
    parts = (part.strip() for part in document.text.split("\n\n"))
    return [part for part in parts if part and not part.startswith("#")]


def _write(path: Path, text: str) -> Path:
    file = path.with_name(f"{path.stem}.source.toml")
    file.write_text(text, encoding="utf-8")
    return file
