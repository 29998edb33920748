"""A folder's files become documents; what cannot be read is named and does not stop the rest."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import EmptySourceError, SourceError
from fedrag_flwr.sources.base import digest_of
from fedrag_flwr.sources.folder import FolderSource
from tests.sources.files import pdf

HTML = """<html><head><title>Voyager 1</title><style>p{}</style></head><body><nav>menu</nav><h2>Flight</h2>
<p>It left <b>Earth</b>
in 1977.</p><ul><li>camera</li><li>magnetometer</li></ul><table><tr><td>mass</td><td>722 kg</td></tr></table>
<script>alert(1)</script></body></html>"""
MARKDOWN = """---
title: "Voyager 1"
---
# Flight

It **left** [Earth](https://example.org) in _1977_ with a `camera`. ![x](y.png)

| mass | 722 kg |
|------|--------|
"""

FLIGHT = "## Flight\n\nIt left Earth in 1977.\n\n- camera\n- magnetometer\n\nmass; 722 kg"
READABLE = [
    ("v.html", HTML.encode(), "v", "Voyager 1", FLIGHT),
    ("a.txt", b"Plain text.", "a", "", "Plain text."),
    ("sub/b_c.txt", b"\xef\xbb\xbfWith a mark.", "sub/b_c", "", "With a mark."),
    ("m.md", MARKDOWN.encode(), "m", "Voyager 1", "# Flight\n\nIt left Earth in 1977 with a camera.\n\nmass; 722 kg"),
    ("n.md", b"Mars\n====\n\nA planet.", "n", "Mars", "# Mars\n\nA planet."),
    ("f.md", b"---\ntitle: Ward\ntags:\n  - a\n---\nOpen.", "f", "Ward", "Open."),
    ("r.md", b"---\nImportant notice.\n\n---\n\nMore.", "r", "", "Important notice.\n\nMore."),
    ("w.html", b"<body><form><p>Open at nine.</p><button>Go</button></form>", "w", "", "Open at nine."),
    ("p.pdf", pdf("Voyager left Earth.", "Probe"), "p", "Probe", "Voyager left Earth."),
    ("q.pdf", pdf("Voyager left Earth."), "q", "", "Voyager left Earth."),
    ("Ada Morrow.pdf", pdf("A note.", "Ada Morrow"), "Ada Morrow", "", "A note."),
    ("scan.pdf", pdf("A note.", "Microsoft Word - Ada Morrow.docx"), "scan", "", "A note."),
    ("scan2.pdf", pdf("A note.", "ada_morrow.tex"), "scan2", "", "A note."),
    ("j.jsonl", b'{"text": "One.", "title": "T", "id": "x1"}', "x1", "T", "One."),
    ("k.jsonl", b'\n{"text": "Two."}\n', "k:2", "", "Two."),
    ("w.txt", "Voy\u200bager １.".encode(), "w", "", "Voyager 1."),
]


@pytest.mark.parametrize(("name", "raw", "document_id", "title", "text"), READABLE)
def test_readable_files(tmp_path: Path, name: str, raw: bytes, document_id: str, title: str, text: str) -> None:
    _write(tmp_path, name, raw)
    reading = FolderSource(tmp_path).read()
    (document,) = reading.documents
    assert (document.id, document.title, document.text) == (document_id, title, text)
    assert document.digest == digest_of(title, text)
    assert reading.failures == ()


OTHER_CODES = [
    ("u16.txt", "The café opens at 9.", "utf-16"),
    ("office.txt", "The café opens at 9 – the fee is £5 or €6, “all in”.", "cp1252"),
    ("haus.md", "Die Größe des Mülls: 5 m².", "cp1252"),
    ("ecole.html", "<p>L'été dernier, l'élève était « absent ».</p>", "latin-1"),
    ("prix.csv", "article,prix\nThé,5 €", "cp1252"),
]


@pytest.mark.parametrize(("name", "text", "code"), OTHER_CODES)
def test_texts_of_older_programs_keep_their_letters(
    tmp_path: Path, name: str, text: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    _write(tmp_path, name, text.encode(code))
    _write(tmp_path, f"utf-8{name}", text.encode())
    one, other = FolderSource(tmp_path).read().documents
    assert one.text == other.text
    shown = {"utf-16": "UTF-16"}.get(code, "Windows-1252")
    assert f"{name}: it is not UTF-8, and is read as {shown}" in caplog.text


UNREADABLE = [
    ("polish.txt", "Opłata wynosi 5 zł.".encode("cp1250"), "polish.txt", "UTF-8"),
    ("greek.md", "Η τιμή είναι 500.".encode("cp1253"), "greek.md", "UTF-8"),
    ("turkish.txt", "Öğrenciler için ışık.".encode("cp1254"), "turkish.txt", "UTF-8"),
    ("russian.txt", "Цена 500.".encode("cp1251"), "russian.txt", "UTF-8"),
    ("empty.txt", b"", "empty.txt", "no text"),
    ("symbols.md", b"*** \n\n ---", "symbols.md", "no text"),
    ("big.txt", b"a" * 2_001, "big.txt", "larger than 2000 bytes"),
    ("broken.pdf", b"%PDF-1.4 nothing", "broken.pdf", "it cannot be read"),
    ("scan.pdf", pdf(""), "scan.pdf", "no text layer"),
    ("locked.pdf", pdf("secret", password="x"), "locked.pdf", "encrypted"),
    ("bad.jsonl", b'{"text": "Fine.", "id": "f"}\n{"text": \n', "bad.jsonl:2", "not JSON"),
    ("none.jsonl", b'{"title": "T"}', "none.jsonl:1", "no text"),
    ("list.jsonl", b"[1]", "list.jsonl:1", "no text"),
    ("type.jsonl", b'{"text": "a", "title": [1]}', "type.jsonl:1", "title"),
    ("deep.jsonl", b"[" * 1_500, "deep.jsonl:1", "not JSON"),
    ("enc.jsonl", b'{"text": "\xff"}', "enc.jsonl:1", "UTF-8"),
    ("twice.jsonl", b'{"text": "a", "id": "t"}\n{"text": "b", "id": "t"}', "twice.jsonl:2", "same id"),
    ("ok.md", b"The same id as ok.txt.", "ok.txt", "same id"),
    ("declared.html", b"<p>Fine.</p><![foo bar", "declared.html", "cannot be read"),
]


@pytest.mark.parametrize(("name", "raw", "where", "reason"), UNREADABLE)
def test_failures_are_named_the_rest_is_read(tmp_path: Path, name: str, raw: bytes, where: str, reason: str) -> None:
    _write(tmp_path, "ok.txt", b"A fine text.")
    _write(tmp_path, name, raw)
    reading = FolderSource(tmp_path, max_bytes=2_000).read()
    assert "ok" in [document.id for document in reading.documents]
    (failure,) = reading.failures
    assert failure.name == where
    assert reason in failure.reason
    assert "secret" not in failure.reason


HOSTILE = {
    "spaces.md": b"# Fine" + b" " * 100_000 + b"x\n\nA fine text.",
    "images.md": b"A fine text." + b"![" * 20_000,
    "links.md": b"A fine text." + b"[a](" * 50_000,
    "marks.md": b"A fine text." + b" **a_b" * 50_000,
    "ticks.md": b"A fine text." + b" `a" * 1_001,
    "comments.md": b"A fine text." + b"<!-- " * 100_000,
    "blank.md": b"A fine text.\n" + b" " * 100_000 + b"x",
    "breaks.html": b"A fine text." + b"<br>" * 50_000,
    "lists.html": b"<p>A fine text." + b"<li>" * 20_000,
    "nested.html": b"A fine text." + b"<div>" * 20_000,
    "scripts.html": b"A fine text." + b"<script></script>" * 20_000,
}


@pytest.mark.timeout(240)  # an hour, where a reader takes squares of these lengths
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_takes_linear_time(tmp_path: Path, name: str) -> None:
    _write(tmp_path, name, HOSTILE[name])
    (document,) = FolderSource(tmp_path).read().documents
    assert "ine" in document.text


def test_comments_go_and_what_never_ends_stays(tmp_path: Path) -> None:
    _write(tmp_path, "c.md", b"One<!-- a <!-- b --> two<!--> three--> four <!-- five")
    (document,) = FolderSource(tmp_path).read().documents
    assert document.text == "One two three--> four <!-- five"  # "<!-->" is a whole one


def test_a_folder_that_cannot_be_listed_fails_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its documents would count as removed."""
    _write(tmp_path, "a.txt", b"Fine.")
    _write(tmp_path, "ward/b.txt", b"Fine.")
    real = os.scandir

    def scandir(path: str | Path) -> object:
        if str(path).endswith("ward"):
            raise OSError(errno.EIO, "Input/output error", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(SourceError, match="cannot be listed"):
        FolderSource(tmp_path).read()


def test_a_file_of_many_documents_that_cannot_be_opened_fails_the_reading(tmp_path: Path) -> None:
    _write(tmp_path, "a.txt", b"Fine.")
    _write(tmp_path, "many.jsonl", b'{"text": "One."}\n' * 200)
    with pytest.raises(SourceError, match=r"many\.jsonl: larger than 2000 bytes, and the documents"):
        FolderSource(tmp_path, max_bytes=2_000).read()


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a.txt"):
        _write(tmp_path, name, b"Text.")
    assert [document.id for document in FolderSource(tmp_path).read().documents] == ["a/z", "a", "b"]


def test_links_that_leave_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    _write(inside, "ok.txt", b"Fine.")
    _write(outside, "secret.txt", b"Secret.")
    (inside / "file.txt").symlink_to(outside / "secret.txt")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    (inside / "dangling.txt").symlink_to(inside / "gone.txt")
    reading = FolderSource(inside).read()
    assert [document.text for document in reading.documents] == ["Fine."]
    assert {one.name: one.reason for one in reading.skipped} == {
        "file.txt": "a link that leaves the folder",
        "folder": "a link that leaves the folder",
        "loop": "a link to a folder inside this one",
    }
    assert [failure.name for failure in reading.failures] == ["dangling.txt"]


def test_links_in_a_circle_fail_alone(tmp_path: Path) -> None:
    _write(tmp_path, "ok.txt", b"Fine.")
    (tmp_path / "a.txt").symlink_to(tmp_path / "b.txt")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    reading = FolderSource(tmp_path).read()
    assert [document.id for document in reading.documents] == ["ok"]
    assert [(failure.name, failure.document_id) for failure in reading.failures] == [("a.txt", "a"), ("b.txt", "b")]


def test_special_files_do_not_block(tmp_path: Path) -> None:
    _write(tmp_path, "ok.txt", b"Fine.")
    os.mkfifo(tmp_path / "pipe.txt")
    (failure,) = FolderSource(tmp_path).read().failures
    assert failure.name == "pipe.txt"


def test_a_missing_folder_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist") as missing:
        FolderSource(tmp_path / "gone").read()
    assert not isinstance(missing.value, EmptySourceError)
    with pytest.raises(EmptySourceError, match="no files"):
        FolderSource(tmp_path).read()
    _write(tmp_path, "x.txt", b"\x81\xff")
    with pytest.raises(EmptySourceError, match=r"x\.txt: no file could be read: .*not UTF-8"):
        FolderSource(tmp_path).read()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    raw=st.binary(max_size=200),
    suffix=st.sampled_from([".txt", ".md", ".html", ".csv", ".json", ".ipynb", ".jsonl", ".pdf", ".eml"]),
)
def test_any_bytes_give_a_document_or_a_failure(tmp_path: Path, raw: bytes, suffix: str) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    _write(tmp_path, "ok.txt", b"Fine.")
    _write(tmp_path, f"any{suffix}" if suffix != ".txt" else "any.txt", raw)
    reading = FolderSource(tmp_path).read()
    assert reading.documents
    assert all(any(char.isalnum() for char in document.text) for document in reading.documents)


def _write(root: Path, name: str, raw: bytes) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(raw)
