"""The benchmark of sources: three forms state the same facts, and each question is answered by one record."""

import io
import tarfile
from pathlib import Path

import pytest

from fedrag_flwr.sources.base import Source
from fedrag_flwr.sources.graph.source import GraphSource
from fedrag_flwr.sources.source_search import SearchTools
from fedrag_flwr.sources.sql.source import SqlSource
from simulations.bench.kept_rows import KeptRows
from simulations.corpora.source_rows import (
    TEXTS,
    Candidate,
    Row,
    dev_table,
    fitted_weights,
    pooled,
    searched,
    with_derived,
)
from simulations.corpora.synthea import (
    RecordQuestion,
    questions_of,
    read_synthea,
    relevant,
    write_database,
    write_graph,
)
from tests.strategies.federation import small_models

TABLES = {
    "patients": (
        "Id,BIRTHDATE,FIRST,LAST,BIRTHPLACE,CITY\n00000001-x,1960-04-02,Odile1,Varro22,Ossel,Cairl\n"
        "00000002-x,1971-11-30,Marta3,Quist4,Ossel,Ferren\n00000003-x,1980-01-01,Jon,Amsel,,\n"
        "00000004-x,1980-01-01,Jon7,Amsel8,,\n"
    ),
    "conditions": (
        "START,STOP,PATIENT,CODE,DESCRIPTION\n2001-03-04,,00000001-x,1,Asthma (disorder)\n"
        "2012-05-06,2013-01-01,00000002-x,1,Asthma (disorder)\n2018-02-03,,00000002-x,2,Gout (disorder)\n"
        "2019-02-03,,00000002-x,2,Gout (disorder)\n2020-01-01,,00000003-x,3,Migraine (disorder)\n"
    ),
    "medications": (
        "START,STOP,PATIENT,CODE,DESCRIPTION,REASONDESCRIPTION\n"
        "2001-03-05T10:00:00Z,,00000001-x,9,Salbutamol 5 MG Inhaler,Asthma (disorder)\n"
    ),
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archive(tmp_path_factory.mktemp("synthea") / "tiny.tar.gz", TABLES)


def write_archive(path: Path, tables: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as files:
        for name, text in tables.items():
            member = tarfile.TarInfo(f"tiny/{name}.csv")
            member.size = len(text.encode())
            files.addfile(member, io.BytesIO(text.encode()))
    return path


def test_each_question_is_answered_by_one_record_of_each_form(archive: Path, tmp_path: Path) -> None:
    tables = read_synthea(archive)
    questions = questions_of(tables, 9, 7)
    models = small_models()
    tools = SearchTools(models.encoder, models.pipeline)
    database = SqlSource(write_database(tables, tmp_path / "a.db"), tools)
    graph = GraphSource(write_graph(tables, tmp_path / "a.lbug"), tools)
    forms: tuple[Source, ...] = (database, graph)
    for form in forms:
        texts = [f"{one.title}\n{one.text}" for one in form.read().documents]
        for question in questions:
            assert sum(relevant(question.told, text) for text in texts) == 1
    assert {(one.wording, one.text) for one in questions} >= {
        ("plain", "When was Odile Varro diagnosed with asthma?"),
        ("loose", "When was Varro diagnosed with asthma?"),
        ("plain", "Who was diagnosed with gout on 2018-02-03?"),
        ("loose", "Who was diagnosed with gout in February 2018?"),
        ("plain", "Why was Odile Varro prescribed salbutamol 5 mg inhaler?"),
        ("loose", "Why was Varro prescribed salbutamol?"),
    }
    asked = " ".join(one.text for one in questions)
    assert "Quist diagnosed with gout" not in asked  # of two records


def test_a_ranking_holds_each_record_once_by_its_best_score() -> None:
    candidates = (Candidate("a", False, 0.9, 0.0), Candidate("b", True, 0.5, 1.0), Candidate("a", True, 0.1, 0.2))
    row = Row("q", "dev", 0.1, candidates)
    assert row.ranking(1.0) == [False, True]
    assert row.ranking(0.0) == [True, True]


def test_a_row_that_a_killed_run_left_torn_is_searched_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def search(question: RecordQuestion) -> list[Candidate]:
        asked.append(question.id)
        return [Candidate("r", True, 0.25, 0.5)]

    path = tmp_path / "rows.jsonl"
    questions = [RecordQuestion(name, "plain", "dev", "Who?", ("Varro",)) for name in ("a", "b")]
    first = searched(KeptRows(path, "me"), questions[:1], search)
    assert [row.candidates for row in first] == [(Candidate("r", True, 0.25, 0.5),)]
    with path.open("a", encoding="utf-8") as torn:
        torn.write('{"made_by": "me", "key": "b", "ro')
    asked.clear()
    assert searched(KeptRows(path, "me"), questions, search)[:1] == first
    assert set(asked) == {"b"}


def text_rows(split: str, right: str) -> dict[str, list[Row]]:
    """One question over a, b and c: words put b (BM25, TF-IDF) or a (words held) first; the vectors c, by far."""

    def row(*found: tuple[str, float, float]) -> list[Row]:
        return [Row("q", split, 0.1, tuple(Candidate(name, name == right, a, b) for name, a, b in found))]

    return {
        "bm25": row(("b", 9.0, 0.0), ("a", 8.0, 0.0), ("c", 2.0, 0.0)),
        "text": row(("a", 0.9, 0.4), ("b", 0.5, 0.5), ("c", 0.1, 0.9)),
        "eq1": row(("a", 0.8, 0.4), ("b", 0.9, 0.5), ("c", 0.1, 0.9)),
    }


def test_what_follows_from_rows_of_three_searches() -> None:
    rows = with_derived(text_rows("dev", "a"), lead_cost=10.0)
    assert set(rows) == set(TEXTS)
    places = {form: [row.ranking(0.5).index(True) for row in rows[form]] for form in ("text", "eq1")}
    assert places == {"text": [2], "eq1": [1]}  # a lead of 0.4 leaves words a tenth
    assert rows["fused"][0].ranking(1.0).index(True) == 2
    train = with_derived(text_rows("train", "a"), lead_cost=10.0)
    weights = fitted_weights([train])
    assert weights["dense"] == 0.0
    assert weights["held"] == weights["tfidf"] == 1.0
    both = pooled({"one": rows, "two": with_derived(text_rows("dev", "b"), lead_cost=10.0)})
    table = dev_table(both, weights).set_index("source")
    assert list(table["questions"]) == [2] * len(TEXTS)
    assert str(table.loc["text: BM25", "MRR"]).startswith("75.0 ")


def test_cells_hold_single_blanks_as_sources_give_them(tmp_path: Path) -> None:
    spaced = {name: text.replace("Gout (disorder)", "Gout  (disorder)") for name, text in TABLES.items()}
    tables = read_synthea(write_archive(tmp_path / "spaced.tar.gz", spaced))
    assert "Gout (disorder)" in {row["DESCRIPTION"] for row in tables["conditions"]}
