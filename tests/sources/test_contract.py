"""What holds of every searchable source, whatever database is below it."""

import time

import pytest
from sqlalchemy import text

from fedrag_flwr.errors import SourceError
from fedrag_flwr.sources.graph.source import GraphSource
from fedrag_flwr.sources.sql.source import SqlSource
from tests.sources.wards import BELL, HOSTILE, Ward

ASKED = [
    ("When was Odile Varro diagnosed with asthma?", "2001-03-04"),
    ("When did Marta Quist get gout?", "2018-02-03"),
    ("Who was diagnosed with gout on 2020-10-11?", "Jon Amsel"),
    ("Which patient has migraine?", BELL),
    ("Who broke a wrist?", "Odile Varro"),
]


@pytest.mark.parametrize(("question", "told"), ASKED)
def test_a_fact_is_found(ward: Ward, question: str, told: str) -> None:
    best = ward.source.search(question, 3)
    assert told in f"{best[0].title} {best[0].text}"


def test_hits_are_records_that_reading_gives(ward: Ward) -> None:
    documents = {document.id: document for document in ward.source.read().documents}
    hits = ward.source.search("Who has gout?", 10)
    assert {hit.document_id for hit in hits} <= documents.keys()
    assert all(line in documents[hit.document_id].text for hit in hits for line in hit.text.splitlines())
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.document_id for hit in hits}) == len(hits)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_no_more_than_asked_for(ward: Ward, k: int) -> None:
    assert len(ward.source.search("Who has gout or asthma?", k)) == k


def test_every_record_is_read_once_with_all_it_says(ward: Ward) -> None:
    reading = ward.source.read()
    whole = "\n".join(f"{document.title} {document.text}" for document in reading.documents)
    assert not reading.failures
    assert len({document.id for document in reading.documents}) == len(reading.documents)
    assert all(value in whole for value in ("Varro", "2016-08-09", BELL, "fell on ice", "{0.__class__}"))


def test_the_version_follows_the_records(ward: Ward) -> None:
    before = ward.source.version()
    assert ward.source.version() == before
    ward.execute(*ward.add)
    added = ward.source.version()
    found = ward.source.search("Who has scarlet fever?", 1)
    ward.execute(*ward.remove)
    removed = ward.source.version()
    left = ward.source.search("When was Odile Varro diagnosed with asthma?", 5)
    assert len({before, added, removed}) == 3
    assert "Jon Amsel" in f"{found[0].title} {found[0].text}"
    assert not any("2001-03-04" in hit.text for hit in left)


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_question_is_only_words(ward: Ward, question: str) -> None:
    before, start = ward.dump(), time.monotonic()
    hits = ward.source.search(question, 5)
    assert time.monotonic() - start < 20
    assert len(hits) <= 5
    assert ward.dump() == before


def test_what_writes_is_refused(ward: Ward) -> None:
    before = ward.dump()
    for statement in ward.write:
        with pytest.raises(SourceError):
            _run(ward, statement, 5.0)
    assert ward.dump() == before


def test_a_slow_query_is_stopped(ward: Ward) -> None:
    start = time.monotonic()
    with pytest.raises(SourceError, match="failed") as raised:
        _run(ward, ward.slow, 0.5)
    assert time.monotonic() - start < 4
    assert "SELECT" not in str(raised.value)
    assert "range" not in str(raised.value)


def _run(ward: Ward, statement: str, seconds: float) -> None:
    """Run a statement on the very connection that the source searches with."""
    if isinstance(ward.source, SqlSource):
        ward.source._database.rows(text(statement), seconds)
    else:
        assert isinstance(ward.source, GraphSource)
        with ward.source._store.session(seconds) as session:
            session.rows(statement, {})
