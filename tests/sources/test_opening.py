"""A device with several sources: all feed its memory, and what is wrong with one is said."""

import errno
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from click.testing import Result
from numpy.typing import NDArray
from sqlalchemy import Inspector
from sqlalchemy.exc import OperationalError
from typer.testing import CliRunner

from fedrag_flwr.cli import app
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import EmptySourceError, SettingError, SourceError
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import Question
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.sources.graph.ladybug_store import LadybugStore
from fedrag_flwr.sources.mapping import mapping_toml
from fedrag_flwr.sources.open_source import SourceSet
from simulations.fixtures.demo_databases import demo_database, demo_graph
from tests.sources.files import lock
from tests.sources.wards import CONDITIONS, MAKE, PATIENTS, run_sql, sql_mapping
from tests.strategies.federation import small_models

TEXTS = {
    "tarn.md": "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924.\n",
    "port.md": "# Port Ferren\n\nPort Ferren is a harbour. It was founded by Jonas Keel in 1702.\n",
}


def make_ward(path: Path) -> str:
    """Write the ward's tables and a mapping file beside them."""
    with sqlite3.connect(run_sql(path, *MAKE)) as database:
        database.executemany("INSERT INTO patients VALUES (?, ?, ?)", PATIENTS)
        database.executemany("INSERT INTO conditions VALUES (?, ?, ?, ?, ?)", CONDITIONS)
    file = path.with_suffix(".source.toml")
    file.write_text(mapping_toml(sql_mapping(f"sqlite:///{path.name}")), encoding="utf-8")
    return str(file)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def device_at(root: Path, documents: Path | None, sources: Sequence[str]) -> EdgeDevice:
    settings = Settings.from_config({"home": str(root / "home"), "memory.tokens-per-kilotoken": 0})
    return EdgeDevice("here", documents, root / "store", settings, small_models(), sources)


def test_text_database_and_graph_feed_one_memory(tmp_path: Path, texts: Path) -> None:
    ward = make_ward(tmp_path / "ward.db")
    graph = str(demo_graph(texts, tmp_path / "graph.lbug", small_models().pipeline))
    with device_at(tmp_path, texts, [ward, graph]) as device:
        assert device.describe().sources == ("folder", "sql", "graph")
        report = device.build()
        assert report.documents == 2 + len(CONDITIONS) + 2
        assert device.build().added == 0
        known = device.store.digests().keys()
        assert {"tarn", "ward/conditions/10", "graph/Article/port"} <= known
        assert device.store.contribution("ward/conditions/10").items
        hits = device.sources.search("When was Odile Varro diagnosed with asthma?", 4)
        assert hits[0].document_id == "ward/conditions/10"
        version = device.sources.version()
        run_sql(tmp_path / "ward.db", "DELETE FROM conditions WHERE id = 10")
        assert device.sources.version() != version
        assert device.build().removed == 1
        assert "ward/conditions/10" not in device.store.digests()


def test_mapping_files_in_a_folder_are_sources(tmp_path: Path, texts: Path) -> None:
    assert SourceSet(texts, (), small_models()).kinds == ("folder",)
    make_ward(texts / "ward.db")
    both = SourceSet(texts, (), small_models())
    assert both.kinds == ("folder", "sql")
    assert len(both.read().documents) == len(TEXTS) + len(CONDITIONS)
    for name in TEXTS:
        (texts / name).unlink()
    alone = SourceSet(texts, (), small_models())
    assert alone.kinds == ("sql",)
    assert len(alone.read().documents) == len(CONDITIONS)


def test_texts_that_cannot_be_listed_fail_the_reading(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out, they would count as removed."""
    make_ward(texts / "ward.db")
    notes = texts / "notes"
    notes.mkdir()
    for name in TEXTS:
        (texts / name).rename(notes / name)
    real = os.scandir

    def scandir(path: str | Path) -> object:
        if Path(path) == notes:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    sources = SourceSet(texts, (), small_models())
    assert sources.kinds == ("folder", "sql")
    with pytest.raises(SourceError, match="notes: a folder cannot be listed"):
        sources.read()


def test_a_folder_that_may_not_be_looked_at_fails_the_build_and_nothing_else(
    tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of it can be asked, and stays."""
    (place := tmp_path / "srv").mkdir()
    documents = texts.rename(place / "texts")
    make_ward(documents / "ward.db")
    with device_at(tmp_path, documents, ()) as device:
        known = device.build().documents
    with monkeypatch.context() as patch:
        lock(place, patch)
        device = device_at(tmp_path, documents, ())
        assert device.describe().sources == ("folder",)
        assert device.ask_at_home(Question("q", "Who designed Tarn Bridge?", "here"))[0].text == "Odile Varro"
        with pytest.raises(SourceError, match="Permission denied") as refused:
            device.build()
        assert "BindReadOnlyPaths" in refused.value.fix
    with device, pytest.raises(SourceError, match="Permission denied"):  # its mapping files are not known yet
        device.build()
    with device_at(tmp_path, documents, ()) as device:
        assert len(device.store.digests()) == known
        assert device.build().removed == 0


@pytest.mark.parametrize("named", ["{}/texts", "{}/ward.db", "sqlite:///{}/ward.db", "ladybug:///{}/ward.lbug"])
def test_a_named_source_that_may_not_be_looked_at_is_not_said_to_be_missing(
    tmp_path: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = SourceSet(None, [named.format(tmp_path)], small_models())
    lock(tmp_path, monkeypatch)
    with pytest.raises(SourceError, match=r"cannot be looked at \(Permission denied\)"):
        sources.read()


def test_a_graph_that_may_not_be_looked_at_is_a_source_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "ward.lbug").touch()
    store = LadybugStore(str(file))
    lock(tmp_path, monkeypatch)
    with pytest.raises(SourceError, match="PermissionError"):
        store.stamp()


def test_a_folder_whose_texts_are_all_gone_is_not_forgotten_for_its_mapping_files(tmp_path: Path, texts: Path) -> None:
    """They may lie in a folder that is not mounted at that moment."""
    ward = make_ward(texts / "ward.db")
    with device_at(tmp_path, texts, ()) as device:
        built = device.build()
    for name in TEXTS:
        (texts / name).unlink()
    with device_at(tmp_path, texts, ()) as device:
        with pytest.raises(EmptySourceError, match="no texts any more"):
            device.build()
        assert len(device.store.digests()) == built.documents
    with device_at(tmp_path, None, [ward]) as device:  # what the error says to do
        assert device.build().removed == len(TEXTS)
    with device_at(tmp_path, texts, ()) as device:
        assert device.build().removed == 0


class CountingEncoder:
    """The usual encoder; it knows what it was given."""

    def __init__(self) -> None:
        self._inner = small_models().encoder
        self.id, self.dimension = self._inner.id, self._inner.dimension
        self.given: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.given += texts
        return self._inner.encode(texts)

    def token_embeddings(self, texts: Sequence[str], *, asked: bool = False) -> list[NDArray[np.float32]]:
        return self._inner.token_embeddings(texts, asked=asked)


def test_a_folder_opened_again_is_encoded_anew_only_where_it_changed(texts: Path) -> None:
    encoder = CountingEncoder()
    models = replace(small_models(), encoder=encoder)
    asked = "Who founded Port Ferren?"
    for turn in range(3):
        sources = SourceSet(texts, (), models)
        assert sources.search(asked, 1)[0].document_id == "port"
        sources.close()
        blocks = [text for text in encoder.given if text != asked]
        assert len(blocks) == len(TEXTS), turn
    (texts / "port.md").write_text("# Port Ferren\n\nPort Ferren was founded by Ida Brandt.\n", encoding="utf-8")
    assert "Ida Brandt" in SourceSet(texts, (), models).search(asked, 1)[0].text


def test_the_demo_as_database_and_graph_tells_what_the_texts_tell(tmp_path: Path, texts: Path) -> None:
    files = demo_database(texts, tmp_path / "a.db"), demo_graph(texts, tmp_path / "b.lbug", small_models().pipeline)
    for file in files:
        told = " ".join(one.text for one in SourceSet(None, [str(file)], small_models()).read().documents)
        assert all(part in told for part in ("designed by the engineer Odile Varro", "opened in 1924", "in 1702"))
        assert "#" not in told


WRONG = [
    ([], SettingError, "no documents"),
    (["/no/such/thing"], SourceError, "names no source"),
    (["/no/such.source.toml"], SourceError, "cannot be read"),
    (["/no/such.db"], SourceError, "not there"),
    (["oracle://h/w"], SourceError, "not known"),
    (["WARD", "WARD"], SettingError, "one name"),
]


@pytest.mark.parametrize(("named", "kind", "said"), WRONG)
def test_what_is_wrong_is_said(tmp_path: Path, named: list[str], kind: type[Exception], said: str) -> None:
    ward = make_ward(tmp_path / "ward.db")
    with pytest.raises(kind, match=said):
        SourceSet(None, [ward if name == "WARD" else name for name in named], small_models()).read()


def test_a_source_that_fails_removes_nothing(tmp_path: Path, texts: Path) -> None:
    ward = make_ward(tmp_path / "ward.db")
    with device_at(tmp_path, texts, [ward]) as device:
        device.build(memories=False)
        (tmp_path / "ward.db").rename(tmp_path / "away.db")
    with device_at(tmp_path, texts, [ward]) as device:
        before = device.store.digests()
        with pytest.raises(SourceError, match="not there"):
            device.build(memories=False)
        assert device.store.digests() == before


def test_a_row_that_may_lie_beyond_the_limit_is_not_removed_and_the_limit_is_named(tmp_path: Path) -> None:
    ward = Path(make_ward(tmp_path / "ward.db"))
    ward.write_text(ward.read_text().replace("\n[[record]]", "most-rows = 3\n[[record]]", 1))
    with device_at(tmp_path, None, [str(ward)]) as device:
        assert device.build().documents == 3
        run_sql(tmp_path / "ward.db", "DELETE FROM conditions WHERE id = 10")
        with pytest.raises(SourceError, match=r"raise most-rows.* one of 1 documents that are not there now") as raised:
            device.build()
        assert raised.value.where == "conditions"
        assert "ward/conditions/10" in device.store.digests()


def test_a_torn_database_is_a_source_error(tmp_path: Path) -> None:
    ward = make_ward(tmp_path / "ward.db")
    (tmp_path / "ward.db").write_bytes(b"SQLite format 3\x00" + b"torn" * 999)
    with pytest.raises(SourceError, match=r"failed|cannot be opened"):
        SourceSet(None, [ward], small_models()).read()


def test_an_empty_database_is_an_empty_source(tmp_path: Path) -> None:
    ward = make_ward(tmp_path / "ward.db")
    run_sql(tmp_path / "ward.db", "DELETE FROM conditions")
    with pytest.raises(EmptySourceError):
        SourceSet(None, [ward], small_models()).read()


def test_only_a_source_that_may_be_empty_and_reads_as_such_counts_as_no_documents(tmp_path: Path, texts: Path) -> None:
    ward = make_ward(tmp_path / "ward.db")
    run_sql(tmp_path / "ward.db", "DELETE FROM conditions")
    sources = SourceSet(texts, [ward], small_models())
    [*_, database_id] = [source.id for source in sources.sources]
    reading = sources.read(may_be_empty=lambda source: source == database_id)
    assert (len(reading.documents), reading.empty) == (len(TEXTS), (database_id,))
    for name in TEXTS:
        (texts / name).unlink()
    with pytest.raises(EmptySourceError, match="build once with --empty"):
        sources.read(may_be_empty=lambda source: source == database_id)
    (texts / "torn.txt").write_bytes(b"\x81")
    with pytest.raises(EmptySourceError, match="no file could be read") as unread:  # what is in it is not gone
        sources.read(may_be_empty=lambda _: True)
    assert "--empty" not in unread.value.fix


def test_a_folder_is_forgotten_for_its_mapping_files_where_that_is_meant(tmp_path: Path, texts: Path) -> None:
    make_ward(texts / "ward.db")
    with device_at(tmp_path, texts, ()) as device:
        device.build()
    for name in TEXTS:
        (texts / name).unlink()
    with device_at(tmp_path, texts, ()) as device:
        assert device.build(empty=True).removed == len(TEXTS)
    with device_at(tmp_path, texts, ()) as device:
        assert device.build().removed == 0


def test_a_node_names_its_sources(tmp_path: Path) -> None:
    ward = make_ward(tmp_path / "my ward.db")
    node: dict[str, Plain] = {"device-name": "w", "sources": f"'{ward}'", "home": str(tmp_path)}
    with Node(node, {}).device() as device:
        assert device.describe().sources == ("sql",)
        assert len(device.sources.read().documents) == len(CONDITIONS)


def test_inspect_prints_a_mapping_that_reads_the_ward(tmp_path: Path) -> None:
    make_ward(tmp_path / "ward.db")
    shown = inspected(str(tmp_path / "ward.db"))
    file = tmp_path / "proposed.toml"
    file.write_text(shown.stdout, encoding="utf-8")
    assert shown.exit_code == 0
    told = " ".join(document.text for document in SourceSet(None, [str(file)], small_models()).read().documents)
    assert all(value in told for row in CONDITIONS for value in row[3:])


def inspected(named: str) -> Result:
    return CliRunner().invoke(app, ["source", "inspect", named])


def test_inspect_prints_names_as_they_are(tmp_path: Path) -> None:
    path = run_sql(tmp_path / "mix.db", 'CREATE TABLE "1:100:1" (id INTEGER PRIMARY KEY, "a:b" TEXT)')
    shown = inspected(str(path)).stdout
    assert 'table = "1:100:1"' in shown
    assert "{a:b}" in shown


def test_variables_of_a_url_that_is_named_directly_are_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_ward(tmp_path / "ward.db")
    monkeypatch.setenv("WARDS", str(tmp_path))
    url = "sqlite:///${WARDS}/ward.db"
    assert SourceSet(None, [url], small_models()).read().documents
    assert f'name = "ward"\nurl = "{url}"' in inspected(url).stdout
    monkeypatch.delenv("WARDS")
    with pytest.raises(SourceError, match="WARDS: a variable of the URL is not set"):
        SourceSet(None, [url], small_models()).read()
    refused = inspected(url)
    assert refused.exit_code == 1
    assert "export WARDS" in refused.stderr


def test_a_schema_that_cannot_be_described_is_told_without_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OperationalError("SELECT hush", {}, sqlite3.OperationalError("hush"))

    make_ward(tmp_path / "ward.db")
    monkeypatch.setattr(Inspector, "get_columns", fail)
    shown = inspected(str(tmp_path / "ward.db"))
    assert shown.exit_code == 1
    assert "the database failed (OperationalError)" in shown.stderr
    assert not any(word in shown.output for word in ("SQL", "SELECT", "hush", "Traceback"))
