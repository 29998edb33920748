"""Mapping files: read strictly, proposed from a schema, filled from the environment, and written back alike."""

import sqlite3
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.graph.contents import read_graph
from fedrag_flwr.sources.graph.mapping import GraphMapping, LabelMapping
from fedrag_flwr.sources.graph.paths import Step, paths_to_subject, statements_of
from fedrag_flwr.sources.graph.store import GraphSchema, RelationKind, quoted
from fedrag_flwr.sources.mapping import expand_url, filled, mapping_toml, parse_mapping, without_password
from fedrag_flwr.sources.open_source import proposed_mapping, read_mapping_file, source_name, url_of
from fedrag_flwr.sources.source_search import SearchTools, word_shares
from fedrag_flwr.sources.sql.mapping import RecordMapping, SqlMapping
from fedrag_flwr.sources.sql.records import SqlRecord
from fedrag_flwr.sources.sql.side_index import words_of
from fedrag_flwr.sources.sql.source import SqlSource, fused, shares
from tests.sources.wards import MAKE, graph_mapping, run_sql, sql_mapping

GOOD = (
    'kind = "sql"\nname = "ward"\nurl = "sqlite:///ward.db"\n[[record]]\ntable = "t"\nkey = ["id"]\ntext = ["{a}."]\n'
)
WRONG = [
    ("kind", "not TOML"),
    (GOOD.replace('"t"', "t"), "line 5"),
    (GOOD.replace('kind = "sql"', ""), "file has no kind"),
    (GOOD.replace("[[record]]", "[[records]]"), "records"),
    (GOOD.replace('key = ["id"]', "key = []"), "key"),
    (GOOD.replace('"ward"', '"../ward"'), "name"),
    (GOOD + "most-rows = 0\n", "most-rows"),
    (GOOD.replace("[[record]]", "read-seconds = -1\n[[record]]"), "read-seconds"),
    ('kind = "graph"\nurl = "x"\nsubject = "S"\nlabel = {}', "label"),
    ('kind = "tree"', "kind"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_wrong_mapping_file_is_refused_by_its_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as raised:
        read_mapping_file(file)
    assert said in str(raised.value)
    assert raised.value.fix


@pytest.mark.parametrize("raw", [GOOD.encode("utf-16"), None])
def test_a_mapping_file_that_cannot_be_read_says_why_and_what_to_do(tmp_path: Path, raw: bytes | None) -> None:
    file = tmp_path / "x.toml"
    if raw:
        file.write_bytes(raw)
    with pytest.raises(SourceError, match="not UTF-8" if raw else "No such file") as raised:
        read_mapping_file(file)
    assert raised.value.fix


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_mapping_file_may_begin_with_a_mark_and_its_database_lies_beside_it(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(GOOD, encoding=encoding)
    mapping = read_mapping_file(file)
    assert (mapping.name, mapping.url) == ("ward", f"sqlite:///{tmp_path}/ward.db")


def test_a_written_mapping_reads_the_same() -> None:
    for sql in (sql_mapping("sqlite:///a.db"), sql_mapping('sqlite:///"\\é\n.db')):
        assert parse_mapping(SqlMapping, mapping_toml(sql), "x") == sql
    graph = graph_mapping("ladybug:///a.lbug")
    assert parse_mapping(GraphMapping, mapping_toml(graph), "x") == graph


URLS = [
    ("sqlite:///a.db", "sqlite:////srv/a.db"),
    ("sqlite:////x/a.db", "sqlite:////x/a.db"),
    ("ladybug:///a/b.lbug", "ladybug:////srv/a/b.lbug"),
    ("postgresql:///ward", "postgresql:///ward"),
    ("mariadb://u:${SECRET}@h/ward", "mariadb://u:p%40%2F%3A@h/ward"),
    ("sqlite:////${SECRET}.db", "sqlite:////p@/:.db"),
]


@pytest.mark.parametrize(("url", "expanded"), URLS)
def test_urls_are_filled_and_files_found(url: str, expanded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "p@/:")
    assert expand_url(url, Path("/srv")) == expanded


def test_an_unset_variable_is_named() -> None:
    with pytest.raises(SourceError, match="NO_SUCH_VARIABLE"):
        expand_url("mariadb://u:${NO_SUCH_VARIABLE}@h/w", Path())


SHOWN = [
    ("mariadb://u:p@ss@h:1/w", "mariadb://u:${SOURCE_PASSWORD}@h:1/w"),
    ("postgresql://reader:ab/cd@host/ward", "postgresql://reader:${SOURCE_PASSWORD}@host/ward"),
    ("postgresql://reader:a?b/c#d@host", "postgresql://reader:${SOURCE_PASSWORD}@host"),
    ("neo4j://u@x:hush@h:7687", "neo4j://u@x:${SOURCE_PASSWORD}@h:7687"),
    ("mysql://host/w?user=r&password=hush", "mysql://host/w?user=r&password=${SOURCE_PASSWORD}"),
    ("mysql://host/w?Passwd=a@b&x=1", "mysql://host/w?Passwd=${SOURCE_PASSWORD}&x=1"),
    (
        "postgresql:///w?sslpassword=hush&pwd=a/b",
        "postgresql:///w?sslpassword=${SOURCE_PASSWORD}&pwd=${SOURCE_PASSWORD}",
    ),
    ("mariadb://u:${WARD_PASSWORD}@h/w", "mariadb://u:${WARD_PASSWORD}@h/w"),
    ("mysql://h/w?password=${WARD_PASSWORD}", "mysql://h/w?password=${WARD_PASSWORD}"),
    ("postgresql://reader:@host:5432/w", "postgresql://reader:@host:5432/w"),
    ("postgresql://host:5432/w", "postgresql://host:5432/w"),
    ("sqlite:////a@b/c:d@e.db", "sqlite:////a@b/c:d@e.db"),
]


@pytest.mark.parametrize(("url", "shown"), SHOWN)
def test_a_proposed_url_shows_no_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


@given(st.text(st.characters(exclude_characters="@$", codec="utf-8"), min_size=1))
def test_what_is_taken_for_a_password_is_not_shown(password: str) -> None:
    url = f"postgresql://reader:{password}@host/ward"
    assert make_url(url).password == unquote(password)
    assert without_password(url) == "postgresql://reader:${SOURCE_PASSWORD}@host/ward"


NAMES = [
    ("neo4j://u:hush@h:7687", "neo4j"),
    ("postgresql://u:hush@h/ward?sslmode=require", "ward"),
    ("postgresql://u:hu/sh@h", "postgresql"),
    ("postgresql://u:hu/s#h@h/ward", "ward"),
    ("mysql://h/ward?user=u&password=hu/sh", "ward"),
    ("sqlite:////srv/My ward.db", "My-ward"),
    ("ladybug:///../x.lbug", "x"),
]


@pytest.mark.parametrize(("url", "name"), NAMES)
def test_a_source_is_named_after_its_file_or_database_alone(url: str, name: str) -> None:
    assert source_name(url) == name


@pytest.mark.parametrize("url", ["oracle://h/w", "http://h", "file", "sqlite:////no/such.db", "ladybug:////no/such"])
def test_what_cannot_be_opened_is_a_source_error(url: str) -> None:
    with pytest.raises(SourceError):
        proposed_mapping(url_of(url) or url)


@pytest.mark.parametrize("scheme", ["postgresql", "mariadb", "mysql", "neo4j", "bolt"])
def test_a_server_that_is_not_there_is_a_source_error_without_its_password(scheme: str) -> None:
    with pytest.raises(SourceError) as raised:
        proposed_mapping(f"{scheme}://ward:hush-hush@127.0.0.1:9/ward")
    assert "hush" not in repr(raised.value)


def test_a_mapping_is_proposed_that_works(tmp_path: Path, tools: SearchTools) -> None:
    path = run_sql(
        tmp_path / "ward.db",
        *MAKE,
        "CREATE TABLE keyless (a TEXT)",
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, patient INT)",
        "INSERT INTO patients VALUES (1, 'Odile Varro', '1960-04-02')",
        "INSERT INTO conditions VALUES (10, 1, 'Asthma', '2001-03-04', NULL)",
        "INSERT INTO visits VALUES (5, 1)",
    )
    mapping = proposed_mapping(url_of(str(path)))
    assert isinstance(mapping, SqlMapping)
    assert mapping.name == "ward"
    texts = {document.id: document.text for document in SqlSource(mapping, tools).read().documents}
    assert texts["ward/conditions/10"] == (
        "The started of Asthma is 2001-03-04. The patient id of Asthma is Odile Varro."
    )
    assert texts.keys() == {"ward/conditions/10", "ward/patients/1"}


def test_a_proposed_mapping_shows_codes_and_joins_like_with_like(tmp_path: Path, tools: SearchTools) -> None:
    path = run_sql(
        tmp_path / "field.db",
        "CREATE TABLE airport (iata TEXT PRIMARY KEY, city TEXT)",
        "CREATE TABLE types (id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE incident (id INTEGER PRIMARY KEY, type TEXT, place TEXT)",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE visit (id INTEGER PRIMARY KEY, people_id INTEGER, reason TEXT, day TEXT)",
        "INSERT INTO people VALUES (7, 'Odile Varro')",
        "INSERT INTO visit VALUES (1, 7, 'asthma', 'Monday'), (2, NULL, 'a cough', NULL)",
        "INSERT INTO airport VALUES ('CDG', 'Paris')",
        "INSERT INTO incident VALUES (1, 'fire', 'hall')",
    )
    mapping = proposed_mapping(url_of(str(path)))
    assert isinstance(mapping, SqlMapping)
    texts = {document.id: document.text for document in SqlSource(mapping, tools).read().documents}
    assert texts["field/airport/CDG"] == "The iata is CDG. The city is Paris."
    assert texts["field/incident/1"] == "The type is fire. The place is hall."
    assert texts["field/visit/1"] == "The reason of Odile Varro is asthma. The day of Odile Varro is Monday."
    assert texts["field/visit/2"] == "The reason is a cough."


def test_a_proposed_mapping_leaves_out_what_a_virtual_table_is_stored_in(tmp_path: Path) -> None:
    path = run_sql(
        tmp_path / "notes.db",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)",
        "CREATE VIRTUAL TABLE Notes_FTS USING fts5(body)",
        "CREATE TABLE notesfts (id INTEGER PRIMARY KEY, body TEXT)",
    )
    mapping = proposed_mapping(url_of(str(path)))
    assert isinstance(mapping, SqlMapping)
    assert [record.table for record in mapping.record] == ["notes", "notesfts"]


@pytest.mark.parametrize("asked", ["Hauptstraße", "HAUPTSTRAßE", "İzmir", "izmir", "Varro", "Łódź"])
def test_words_are_found_in_cells_however_these_write_them(tmp_path: Path, tools: SearchTools, asked: str) -> None:
    path = tmp_path / "ward.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, street TEXT)")
        database.execute("INSERT INTO patients VALUES (1, ?, ?)", ("Odile Var\u00adro", "Hauptstraße, İzmir, Łódź"))
        database.execute("INSERT INTO patients VALUES (2, ?, ?)", ("Ann Lee", "Hauptweg"))
    record = RecordMapping(table="patients", key=("id",), title="{name}", text=("{name} lives in {street}.",))
    source = SqlSource(SqlMapping(name="ward", url=f"sqlite:///{path}", record=(record,)), tools)
    assert source._index().find(words_of(asked), "boolean", 9).keys() == {"ward/patients/1"}
    documents = {document.id: f"{document.title}\n{document.text}" for document in source.read().documents}
    assert all(hit.text in documents[hit.document_id] for hit in source.search(asked, 2))
    source.close()


def test_without_a_title_a_text_keeps_its_words(tmp_path: Path, tools: SearchTools) -> None:
    asthma = "INSERT INTO conditions VALUES (1, NULL, 'Asthma', NULL, NULL)"
    path = run_sql(tmp_path / "ward.db", *MAKE, asthma)
    record = {"table": "conditions", "key": ("id",), "title": "", "text": ("The name of it is {description}.",)}
    mapping = SqlMapping(name="ward", url=f"sqlite:///{path}", record=(RecordMapping.model_validate(record),))
    [document] = SqlSource(mapping, tools).read().documents
    assert document.text == "The name of it is Asthma."


WRONG_MAPPINGS = [
    ({"table": "no"}, "no such table"),
    ({"key": ("no",)}, "no such column"),
    ({"text": ("{no}",)}, "column"),
    ({"text": ("{other.name}",)}, "no such join"),
]


@pytest.mark.parametrize(("change", "said"), WRONG_MAPPINGS)
def test_a_mapping_must_fit(tmp_path: Path, tools: SearchTools, change: dict[str, object], said: str) -> None:
    path = run_sql(tmp_path / "ward.db", *MAKE)
    mapping = sql_mapping(f"sqlite:///{path}")
    record = RecordMapping.model_validate({**mapping.record[0].model_dump(), **change})
    with pytest.raises(SourceError, match=said):
        SqlSource(mapping.model_copy(update={"record": (record,)}), tools)


def test_rows_beyond_the_limit_are_told(tmp_path: Path, tools: SearchTools) -> None:
    path = run_sql(tmp_path / "ward.db", *MAKE)
    with sqlite3.connect(path) as database:
        rows = [(number, 1, f"Thing {number}", "2001-01-01", "") for number in range(5)]
        database.executemany("INSERT INTO conditions VALUES (?, ?, ?, ?, ?)", rows)
        database.execute("INSERT INTO patients VALUES (1, 'Odile Varro', '')")
    reading = SqlSource(sql_mapping(f"sqlite:///{path}", **{"most-rows": 3}), tools).read()
    assert len(reading.documents) == 3
    assert [failure.name for failure in reading.failures] == ["conditions"]
    assert reading.failures[0].guessed  # whatever was remembered and is not there now may be beyond the limit


ODD_CELLS = [
    ("DATE", "1950-01-02", "12/03/1950", "12/03/1950"),
    ("DATETIME", "1950-01-02 03:04:05.000000", "unknown", "unknown"),
    ("TIME", "03:04:05.000000", "noon", "noon"),
    ("DECIMAL(10,2)", "4.5", "n/a", "n/a"),
    ("JSON", '"May"', "{oops", "{oops"),
    ("TEXT", "May", b"M\xfcller", "M\ufffdller"),
]


@pytest.mark.parametrize(("kind", "good", "bad", "shown"), ODD_CELLS)
def test_odd_cells_hide_nothing(
    tmp_path: Path, tools: SearchTools, kind: str, good: str, bad: str | bytes, shown: str
) -> None:
    path = tmp_path / "ward.db"
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, born {kind})")
        database.execute("INSERT INTO patients VALUES (1, 'Ann', ?)", (good,))
        database.execute("INSERT INTO patients VALUES (2, 'Bob', CAST(? AS TEXT))", (bad,))
    record = RecordMapping(table="patients", key=("id",), title="{name}", text=("{name}: {born}.",))
    mapping = SqlMapping(name="ward", url=f"sqlite:///{path}", record=(record,))
    reading = SqlSource(mapping, tools).read()
    assert reading.failures == ()
    texts = [document.text for document in reading.documents]
    assert texts[1] == f"Bob: {shown}."
    assert texts[0].startswith("Ann: ")
    assert "None" not in texts[0]


def test_a_replaced_database_is_another(tmp_path: Path, tools: SearchTools) -> None:
    def make(name: str, born: str) -> Path:
        table = "CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, born TEXT)"
        return run_sql(tmp_path / name, table, f"INSERT INTO patients VALUES (1, 'Ann', '{born}')")

    path = make("ward.db", "May")
    record = RecordMapping(table="patients", key=("id",), title="{name}", text=("{name}: {born}.",))
    source = SqlSource(SqlMapping(name="ward", url=f"sqlite:///{path}", record=(record,)), tools)
    before = source.version()
    assert source.read().documents[0].text == "Ann: May."
    make("new.db", "June").replace(path)
    assert source.version() != before
    assert source.read().documents[0].text == "Ann: June."
    source.close()


def test_rows_with_a_key_of_bytes_have_an_id_each(tmp_path: Path, tools: SearchTools) -> None:
    path = tmp_path / "ward.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE visits (id BLOB PRIMARY KEY, name TEXT, scan BLOB)")
        database.executemany("INSERT INTO visits VALUES (?, ?, x'ff')", [(b"\x00\xff", "Ann"), (b"\x01", "Bob")])
    record = RecordMapping(table="visits", key=("id",), text=("{name} came.", "The scan is {scan}."))
    source = SqlSource(SqlMapping(name="ward", url=f"sqlite:///{path}", record=(record,)), tools)
    reading = source.read()
    assert {document.id: document.text for document in reading.documents} == {
        "ward/visits/00ff": "Ann came.",
        "ward/visits/01": "Bob came.",
    }
    assert reading.failures == ()
    source.close()


class Rows:
    """A graph that gives the same rows to every query."""

    def __init__(self, *rows: tuple[object, ...]) -> None:
        self._rows = list(rows)

    def rows(self, query: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
        return self._rows


def test_a_property_is_never_taken_for_the_vertex_that_a_phrase_names() -> None:
    label = LabelMapping(key="id", name=("name",))
    mapping = GraphMapping(
        name="ward",
        url="neo4j://x",
        subject="Patient",
        label={"Doctor": label, "Patient": label},
        phrase={"TOLD": "{source} told {target} on {day}."},
    )
    path = (Step(RelationKind("Doctor", "TOLD", "Patient"), forward=True),)
    told = {"source": "registry", "target": "none", "day": "Monday"}
    [statement] = statements_of(path, [("d1", "Ida Brandt", "p1", "Ann Lee", told)], mapping)
    assert statement.text == "Ida Brandt told Ann Lee on Monday."


def test_only_a_key_of_its_own_makes_a_subject() -> None:
    """Records of two patients under one key would be mixed up."""
    label = LabelMapping(key="id", name=("name",), show=("falls", "smoker", "note"))
    mapping = GraphMapping(name="ward", url="neo4j://x", subject="Patient", label={"Patient": label})
    session = Rows(
        ("p1", "Ann Lee", 0, False, "calm"),
        ("p2", "Bob Ray", 3, True, " "),
        ("p2", "Eve Poe", 1, True, "ill"),
        (None, "Cid Fox", 1, True, "x"),
    )
    reading = read_graph(session, mapping, ()).reading
    assert [(document.id, document.title) for document in reading.documents] == [("ward/Patient/p1", "Ann Lee")]
    assert "falls of Ann Lee is 0." in reading.documents[0].text
    assert "smoker of Ann Lee is False." in reading.documents[0].text
    assert {(failure.name, failure.reason) for failure in reading.failures} == {
        ("Patient", "1 without id, by which they would be known"),
        ("Patient p2", "2 have this id"),
    }


@given(st.dictionaries(st.sampled_from(["a", "b", "c.d"]), st.text(max_size=9), min_size=3))
def test_a_template_is_filled_whole_or_not_at_all(values: dict[str, str]) -> None:
    text = filled("{a} is {b} of {c.d}", values.__getitem__)
    expected = f"{values['a']} is {values['b']} of {values['c.d']}"
    assert text == (expected if all(values.values()) else "")


@given(st.text())
def test_words_hold_no_sign_of_any_query_language(text: str) -> None:
    assert all(word.isalnum() for word in words_of(text))


@given(st.text(alphabet="ab ", max_size=9), st.lists(st.text(alphabet="abc ", max_size=9), max_size=5))
def test_shares_of_words_are_shares(question: str, texts: list[str]) -> None:
    shared = word_shares(question, texts)
    assert shared.shape == (len(texts),)
    assert ((shared >= 0) & (shared <= 1 + 1e-9)).all()
    held = [bool(set(question.split()) & set(text.split())) for text in texts]
    assert [score > 0 for score in shared] == held


def test_a_rare_word_weighs_more() -> None:
    rare, common, none = word_shares("x y", ["x", "y", "z y"])[:3]
    assert rare > common == none > 0


names = st.sampled_from("ABC")


@given(st.lists(st.builds(RelationKind, names, st.sampled_from(["R", "S"]), names), max_size=6, unique=True))
def test_paths_end_at_the_subject_and_join(relations: list[RelationKind]) -> None:
    schema = GraphSchema({}, {}, tuple(relations))
    label = {name: {"key": "k", "name": ("n",)} for name in "AB"}
    given_mapping = {"url": "x", "subject": "A", "label": label, "longest-path": 3}
    paths = paths_to_subject(GraphMapping.model_validate(given_mapping), schema)
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert 1 <= len(path) <= 3
        assert path[-1].end == "A"
        assert all(one.end == other.start for one, other in pairwise(path))
        assert all("C" not in (step.start, step.end) for step in path)


@pytest.mark.parametrize("name", ["", "a`b", "a\nb", "a\\", "\u202e"])
def test_names_that_could_leave_their_quotes_are_refused(name: str) -> None:
    with pytest.raises(SourceError):
        quoted(name)


tables = st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=4)


@given(tables)
def test_equation_3_is_monotone_and_bounded(rows: list[list[float]]) -> None:
    scores, nothing = np.array(rows), np.zeros((len(rows), 3))
    whole = fused(scores, scores, scores, scores)
    assert ((whole >= 0) & (whole <= 1 + 1e-9)).all()
    parts = [[scores if place == alone else nothing for place in range(4)] for alone in range(4)]
    assert np.allclose(sum(fused(*part) for part in parts), whole)


@given(st.lists(st.dictionaries(st.sampled_from("xyz"), st.floats(1e-6, 1e6)), min_size=1, max_size=4))
def test_shares_lie_between_0_and_1_and_the_best_has_1(found: list[dict[str, float]]) -> None:
    record = SqlRecord("x", "", "", "")
    matrix = shares([{one: (record, score) for one, score in each.items()} for each in found], "xyz")
    assert matrix.shape == (len(found), 3)
    assert ((matrix >= 0) & (matrix <= 1)).all()
    assert all(row.max() == (1.0 if scores else 0.0) for row, scores in zip(matrix, found, strict=True))
