"""Synthea's tables as text, database and graph: the same records, and questions from the tables' own facts."""

import csv
import io
import random
import re
import sqlite3
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path

from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.sources.graph.mapping import GraphMapping, LabelMapping
from fedrag_flwr.sources.sql.mapping import JoinMapping, RecordMapping, SqlMapping
from simulations.fixtures.demo_databases import Statement, write_ladybug

Row = Mapping[str, str]
WORDINGS = ("plain", "loose")

_COLUMNS = {
    "patients": ("Id", "NAME", "BIRTHDATE", "BIRTHPLACE", "CITY"),
    "conditions": ("Id", "PATIENT", "CODE", "DESCRIPTION", "START", "STOP"),
    "medications": ("Id", "PATIENT", "CODE", "DESCRIPTION", "START", "STOP", "REASONDESCRIPTION"),
    "careplans": ("Id", "PATIENT", "CODE", "DESCRIPTION", "START", "STOP", "REASONDESCRIPTION"),
    "allergies": ("Id", "PATIENT", "CODE", "DESCRIPTION", "START", "STOP"),
}
_RELATIONS = {  # table -> label, relation type, how it reads
    "conditions": ("Condition", "HAS_CONDITION", "was diagnosed with"),
    "medications": ("Medication", "TAKES", "was prescribed"),
    "careplans": ("Careplan", "FOLLOWS", "began"),
    "allergies": ("Allergen", "ALLERGIC_TO", "is allergic to"),
}
_ASKED = (  # kind, table, question, the columns that tell the answer
    ("condition-when", "conditions", "When was {name} diagnosed with {thing}?", ("START",)),
    ("condition-who", "conditions", "Who was diagnosed with {thing} {day}?", ("START",)),
    ("medication-why", "medications", "Why was {name} prescribed {thing}?", ("REASONDESCRIPTION",)),
    ("medication-when", "medications", "Since when does {name} take {thing}?", ("START",)),
    ("careplan-when", "careplans", "On which day did {thing} start for {name}?", ("START",)),
    ("allergy-what", "allergies", "Which substance is {name} allergic to?", ("DESCRIPTION",)),
)
_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
_FROM_NUMBER = re.compile(r"\s*\d.*$")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class RecordQuestion:
    """A question that one record answers; a hit is relevant if its text holds all of `told`."""

    id: str
    wording: str
    split: str
    text: str
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """Documents as a source."""

    documents: tuple[Document, ...]
    id: str = "listed"

    def stamp(self) -> str:
        """They never change."""
        return self.id

    def read(self) -> Reading:
        """Give them."""
        return Reading(self.documents, ())


def read_synthea(archive: Path) -> dict[str, list[dict[str, str]]]:
    """Read the tables that are used; Synthea's digits behind names go, for they would make every name one of a kind."""
    tables: dict[str, list[dict[str, str]]] = {name: [] for name in _COLUMNS}  # an archive may lack some
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            name = Path(member.name).stem
            body = files.extractfile(member) if name in _COLUMNS else None
            if body is not None:
                rows = csv.DictReader(io.TextIOWrapper(body, encoding="utf-8"))
                tables[name] = [_row(name, number, row) for number, row in enumerate(rows)]
    return tables


def questions_of(tables: Mapping[str, Sequence[Row]], each: int, seed: int) -> list[RecordQuestion]:
    """Make up to `each` questions of each kind, wording and split, of facts that one record tells; split by patient.

    ``plain`` questions name person and thing as the tables do, but for case and qualifiers. ``loose`` ones give the
    last name, the thing without what follows its first number, and month and year of a date.
    """
    names = {row["Id"]: row["NAME"] for row in tables["patients"]}
    made: list[RecordQuestion] = []
    for (kind, table, template, telling), wording in product(_ASKED, WORDINGS):
        groups: defaultdict[str, list[Row]] = defaultdict(list)
        for row in tables[table]:
            groups[_question(template, row, names[row["PATIENT"]], wording)].append(row)
        facts = [(asked, rows[0]) for asked, rows in groups.items() if len(rows) == 1]
        facts = [(asked, row) for asked, row in facts if all(row[one] for one in telling)]
        random.Random(seed).shuffle(facts)
        left = Counter({"train": each, "dev": each})
        for asked, row in facts:
            split = "train" if int(row["PATIENT"][:8], 16) % 2 else "dev"
            if left[split] > 0:
                left[split] -= 1
                fact = f"{names[row['PATIENT']]} {_RELATIONS[table][2]} {row['DESCRIPTION']} (started {row['START']}"
                told = (fact, *(row[one] for one in telling))
                made.append(RecordQuestion(f"{wording}-{kind}:{row['Id']}", wording, split, asked, told))
    return made


def asked_rows(
    tables: Mapping[str, list[dict[str, str]]], questions: Iterable[RecordQuestion], most: int
) -> dict[str, list[dict[str, str]]]:
    """All patients, and at most so many rows of each other table, those that are asked for first."""
    asked = {question.id.partition(":")[2] for question in questions}
    return {
        name: sorted(rows, key=lambda row: row["Id"] not in asked)[:most] if name != "patients" else rows
        for name, rows in tables.items()
    }


def write_database(tables: Mapping[str, Sequence[Row]], path: Path) -> SqlMapping:
    """Write the tables into SQLite, and give the mapping."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        for name, columns in _COLUMNS.items():
            typed = ", ".join(f'"{column}" TEXT{" PRIMARY KEY" if column == "Id" else ""}' for column in columns)
            database.execute(f"CREATE TABLE {name} ({typed})")
            rows = ([row[column] for column in columns] for row in tables[name])
            database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
    join = {"patient": JoinMapping(table="patients", on={"PATIENT": "Id"})}
    records = [
        RecordMapping(
            table=name,
            key=("Id",),
            title="{patient.NAME}",
            text=(
                f"{{patient.NAME}} {phrase} {{DESCRIPTION}} (started {{START}}).",
                "It ended on {STOP}.",
                *(("The reason was {REASONDESCRIPTION}.",) if "REASONDESCRIPTION" in _COLUMNS[name] else ()),
            ),
            join=join,
        )
        for name, (_, _, phrase) in _RELATIONS.items()
    ]
    born = "The birthdate of {NAME} is {BIRTHDATE}."
    records.append(RecordMapping(table="patients", key=("Id",), title="{NAME}", text=(born, "The city is {CITY}.")))
    return SqlMapping(name="ward", url=f"sqlite:///{path}", record=tuple(records))


def write_graph(tables: Mapping[str, Sequence[Row]], path: Path) -> GraphMapping:
    """Write patients, what they have, and the relations between them into Ladybug, and give the mapping."""
    people = [{"i": r["Id"], "n": r["NAME"], "b": r["BIRTHDATE"], "c": r["CITY"]} for r in tables["patients"]]
    statements: list[Statement] = [
        ("CREATE NODE TABLE Patient(id STRING PRIMARY KEY, name STRING, birthdate STRING, city STRING)", None),
        ("UNWIND $rows AS r CREATE (:Patient {id: r.i, name: r.n, birthdate: r.b, city: r.c})", people),
    ]
    for table, (label, relation, _) in _RELATIONS.items():
        properties = "started STRING, ended STRING, reason STRING"
        things = [{"i": i, "n": n} for i, n in {row["CODE"]: row["DESCRIPTION"] for row in tables[table]}.items()]
        pair = f"UNWIND $rows AS r MATCH (p:Patient), (c:{label}) WHERE p.id = r.p AND c.id = r.c"
        short = {"p": "PATIENT", "c": "CODE", "s": "START", "e": "STOP", "w": "REASONDESCRIPTION"}
        told = [{key: row.get(column, "") for key, column in short.items()} for row in tables[table]]
        statements += [
            (f"CREATE NODE TABLE {label}(id STRING PRIMARY KEY, name STRING)", None),
            (f"CREATE REL TABLE {relation}(FROM Patient TO {label}, {properties})", None),
            (f"UNWIND $rows AS r CREATE (:{label} {{id: r.i, name: r.n}})", things),
            (f"{pair} CREATE (p)-[:{relation} {{started: r.s, ended: r.e, reason: r.w}}]->(c)", told),
        ]
    write_ladybug(path, statements)
    labels = {label: LabelMapping(key="id", name=("name",)) for label, _, _ in _RELATIONS.values()}
    labels["Patient"] = LabelMapping(key="id", name=("name",), show=("birthdate", "city"))
    phrases = {relation: phrase for _, relation, phrase in _RELATIONS.values()}
    url = f"ladybug:///{path}"
    return GraphMapping(name="ward-graph", url=url, subject="Patient", label=labels, phrase=phrases)


def _row(table: str, number: int, row: Row) -> dict[str, str]:
    kept = {column: " ".join(row.get(column, "").split()) for column in _COLUMNS[table] if column not in ("Id", "NAME")}
    kept |= {column: kept[column][:10] for column in ("START", "STOP") if column in kept}
    if table == "patients":
        return kept | {"Id": row["Id"], "NAME": _DIGITS.sub("", f"{row['FIRST']} {row['LAST']}")}
    return kept | {"Id": f"{table}-{number}"}


def _question(template: str, row: Row, name: str, wording: str) -> str:
    """Word a question; rows that give the same one are not asked for."""
    thing, day = _QUALIFIER.sub("", row["DESCRIPTION"]).lower(), f"on {row['START']}"
    if wording == "loose":
        name, thing = name.split()[-1], _FROM_NUMBER.sub("", thing)
        day = date.fromisoformat(row["START"]).strftime("in %B %Y")
    return template.format(name=name, thing=thing, day=day)


def relevant(told: Iterable[str], text: str) -> bool:
    """Whether a hit's text states a fact."""
    return all(part in text for part in told)
