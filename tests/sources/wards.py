"""The same little ward in every kind of database, with cells that try to be more than text."""

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedrag_flwr.sources.base import SearchableSource
from fedrag_flwr.sources.graph.mapping import GraphMapping, LabelMapping
from fedrag_flwr.sources.graph.source import GraphSource
from fedrag_flwr.sources.source_search import SearchTools
from fedrag_flwr.sources.sql.mapping import JoinMapping, RecordMapping, SqlMapping
from fedrag_flwr.sources.sql.source import SqlSource

BELL = "Bobby'); DROP TABLE patients; --"
PATIENTS = (
    (1, "Odile Varro", "1960-04-02"),
    (2, "Marta Quist", "1971-11-30"),
    (3, BELL, "1980-01-01"),
    (4, "Jon Amsel", "1955-07-19"),
)
CONDITIONS = (
    (10, 1, "Asthma (disorder)", "2001-03-04", "uses an inhaler"),
    (11, 1, "Fracture of wrist (disorder)", "2016-08-09", "fell on ice"),
    (12, 2, "Asthma (disorder)", "2012-05-06", 'NEAR("a" b) OR title:x* ^ -y'),
    (13, 2, "Gout (disorder)", "2018-02-03", "` }) DETACH DELETE n //"),
    (14, 3, "Migraine (disorder)", "2019-09-10", "' OR 1=1 --"),
    (15, 4, "Gout (disorder)", "2020-10-11", "+*<>~()@ {0.__class__}"),
)
HOSTILE = [
    "",
    " ",
    "\x00\x00",
    "'",
    "' OR '1'='1",
    "'; DROP TABLE patients; --",
    '"; DELETE FROM conditions; --',
    'gout" OR "1"="1',
    'NEAR("gout" asthma, 2) AND title:gout* NOT -x ^y',
    'gout* +asthma -wrist >x <y ~z (a b) @3 "phrase',
    "gout & asthma | !wrist <-> x:*",
    "` }) MATCH (n) DETACH DELETE n //",
    "$keys IN [1] RETURN n; CREATE (:Patient {id: 5})",
    "{0.__class__} {patient.name} %s %(x)s :name ?",
    "\\'; SELECT pg_sleep(10); -- \\",
    "gout \ud800 \u202e \u200b asthma",
    "x" * 1_000_000,
    "gout ' \" ` ) " * 70_000,
    "(" * 500_000 + "gout" + ")" * 500_000,
]
MAKE = (
    "CREATE TABLE patients (id INTEGER PRIMARY KEY, name VARCHAR(80), born VARCHAR(10))",
    "CREATE TABLE conditions (id INTEGER PRIMARY KEY, patient_id INTEGER REFERENCES patients (id),"
    " description VARCHAR(80), started VARCHAR(10), remark VARCHAR(200))",
)
_SLOW_MARIADB = f"SELECT COUNT(*) FROM {', '.join(f'information_schema.columns c{i}' for i in range(4))}"
TEXTS = ("{patient.name} was diagnosed with {description} on {started}.", "Remark: {remark}.")


@dataclass(frozen=True, slots=True)
class Ward:
    """A source over a ward, a way to change it behind the source's back, and all that its database holds."""

    source: SearchableSource
    execute: Callable[[str, tuple[object, ...]], None]
    dump: Callable[[], Sequence[object]]
    add: tuple[str, tuple[object, ...]]
    remove: tuple[str, tuple[object, ...]]
    write: tuple[str, ...]
    slow: str


def run_sql(path: Path, *statements: str) -> Path:
    """Run statements on a file of SQLite, which is made where it is not there."""
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    return path


def sql_mapping(url: str, **changes: object) -> SqlMapping:
    """The mapping of the ward's tables."""
    join = {"patient": JoinMapping(table="patients", on={"patient_id": "id"})}
    record = RecordMapping(table="conditions", key=("id",), title="{patient.name}", text=TEXTS, join=join)
    return SqlMapping.model_validate({"name": "ward", "url": url, "record": (record,), **changes})


def graph_mapping(url: str, **changes: object) -> GraphMapping:
    """The mapping of the ward's graph."""
    labels = {
        "Patient": LabelMapping(key="id", name=("name",), show=("born",)),
        "Condition": LabelMapping(key="id", name=("name",)),
    }
    given = {"name": "ward", "url": url, "subject": "Patient", "label": labels}
    return GraphMapping.model_validate({**given, "phrase": {"HAS": "was diagnosed with"}, **changes})


def sqlite_ward(folder: Path, tools: SearchTools) -> Ward:
    """In SQLite."""
    path = folder / "ward.db"
    writer = sqlite3.connect(path)
    for statement in MAKE:
        writer.execute(statement)
    writer.executemany("INSERT INTO patients VALUES (?, ?, ?)", PATIENTS)
    writer.executemany("INSERT INTO conditions VALUES (?, ?, ?, ?, ?)", CONDITIONS)
    writer.commit()

    def execute(statement: str, values: tuple[object, ...]) -> None:
        with writer:
            writer.execute(statement, values)

    return Ward(
        SqlSource(sql_mapping(f"sqlite:///{path}"), tools),
        execute,
        lambda: list(writer.iterdump()),
        ("INSERT INTO conditions VALUES (?, ?, ?, ?, ?)", (16, 4, "Scarlet fever (disorder)", "2021-01-02", "")),
        ("DELETE FROM conditions WHERE id = ?", (10,)),
        ("DELETE FROM conditions", "CREATE TABLE other (id INTEGER)", "UPDATE patients SET name = 'x'"),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    )


def server_ward(url: str, tools: SearchTools) -> Ward:
    """On a server."""
    from sqlalchemy import create_engine, text

    engine = create_engine(url)
    mariadb = url.startswith("mariadb")
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS conditions"))
        connection.execute(text("DROP TABLE IF EXISTS patients"))
        for statement in MAKE:
            connection.execute(text(statement))
        raw = connection.connection.cursor()
        raw.executemany("INSERT INTO patients VALUES (%s, %s, %s)", list(PATIENTS))
        raw.executemany("INSERT INTO conditions VALUES (%s, %s, %s, %s, %s)", list(CONDITIONS))

    def execute(statement: str, values: tuple[object, ...]) -> None:
        with engine.begin() as connection:
            connection.connection.cursor().execute(statement, values)

    def dump() -> list[object]:
        with engine.connect() as connection:
            tables = ("patients", "conditions")
            return [tuple(r) for t in tables for r in connection.execute(text(f"SELECT * FROM {t} ORDER BY id"))]

    return Ward(
        SqlSource(sql_mapping(url, **{"refresh-seconds": 0}), tools),
        execute,
        dump,
        ("INSERT INTO conditions VALUES (%s, %s, %s, %s, %s)", (16, 4, "Scarlet fever (disorder)", "2021-01-02", "")),
        ("DELETE FROM conditions WHERE id = %s", (10,)),
        ("DELETE FROM conditions", "UPDATE patients SET name = 'x'"),
        _SLOW_MARIADB if mariadb else "SELECT pg_sleep(5)",
    )


def ladybug_ward(folder: Path, tools: SearchTools) -> Ward:
    """In Ladybug."""
    ladybug = pytest.importorskip("ladybug")
    path = folder / "ward.lbug"

    def run(statement: str, values: dict[str, object]) -> list[object]:
        opened = ladybug.Database(path, buffer_pool_size=2**26, max_db_size=2**30)
        try:
            return list(ladybug.Connection(opened, num_threads=1).execute(statement, values).get_all())
        finally:
            opened.close()

    run("CREATE NODE TABLE Patient(id INT64 PRIMARY KEY, name STRING, born STRING)", {})
    run("CREATE NODE TABLE Condition(id STRING PRIMARY KEY, name STRING)", {})
    run("CREATE REL TABLE HAS(FROM Patient TO Condition, started STRING, remark STRING)", {})
    return _graph_ward(GraphSource, f"ladybug:///{path}", run, tools)


def neo4j_ward(tools: SearchTools) -> Ward:
    """On the Neo4j server of ``$NEO4J_URI``, in labels of its own."""
    if not (url := os.environ.get("NEO4J_URI")):
        pytest.skip("NEO4J_URI is not set (neo4j://USER:PASSWORD@HOST:7687 of a server to test with)")
    from urllib.parse import urlsplit

    from neo4j import GraphDatabase

    parts = urlsplit(url)
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    driver = GraphDatabase.driver(address, auth=(parts.username or "neo4j", parts.password or ""))

    def run(statement: str, values: dict[str, object]) -> list[object]:
        with driver.session() as session:
            return [list(record.values()) for record in session.run(statement, values)]

    run("MATCH (n) WHERE n:Patient OR n:Condition DETACH DELETE n", {})
    return _graph_ward(GraphSource, url, run, tools)


def _graph_ward(
    kind: type[GraphSource], url: str, run: Callable[[str, dict[str, object]], list[object]], tools: SearchTools
) -> Ward:
    for key, name, born in PATIENTS:
        run("CREATE (:Patient {id: $id, name: $name, born: $born})", {"id": key, "name": name, "born": born})
    for name in sorted({row[2] for row in CONDITIONS}):
        run("CREATE (:Condition {id: $id, name: $name})", {"id": name[:4], "name": name})
    pair = "MATCH (p:Patient), (c:Condition) WHERE p.id = $p AND c.id = $c"
    relate = f"{pair} CREATE (p)-[:HAS {{started: $s, remark: $r}}]->(c)"
    for _, patient, name, started, remark in CONDITIONS:
        run(relate, {"p": patient, "c": name[:4], "s": started, "r": remark})

    def execute(statement: str, values: tuple[object, ...]) -> None:
        run(statement, {f"v{place}": value for place, value in enumerate(values)})

    fever = "CREATE (p)-[:HAS {started: $v0, remark: ''}]->(:Condition {id: $v1, name: $v2})"
    add = f"MATCH (p:Patient) WHERE p.id = 4 {fever}"
    remove = "MATCH (p:Patient)-[r:HAS]->(c:Condition) WHERE p.id = $v0 AND c.id = $v1 DELETE r"
    everything = "MATCH (p:Patient)-[r:HAS]->(c:Condition) RETURN p.id, p.name, r.started, r.remark, c.name"
    return Ward(
        kind(graph_mapping(url, **{"refresh-seconds": 0}), tools),
        execute,
        lambda: sorted(map(str, run(everything, {}))),
        (add, ("2021-01-02", "Scar", "Scarlet fever (disorder)")),
        (remove, (1, "Asth")),
        ("MATCH (n) DETACH DELETE n", "CREATE (:Patient {id: 99, name: 'x'})"),
        "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b)",
    )
