"""A file that is broken, or breaks what reads it, costs itself alone, and every file of a folder is accounted for."""

import logging
import threading
import zipfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest

from fedrag_flwr.errors import EmptySourceError
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.sources.conversion import Converter
from fedrag_flwr.sources.folder import FolderSource
from tests.sources import office_files as made
from tests.sources.files import pdf

_FAULTY = "tests.sources.faulty_worker"


def _zip(**members: str) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


def _lying(raw: bytes) -> bytes:
    """An archive whose list of members tells of smaller ones than it holds."""
    start = raw.rindex(b"PK\x01\x02")
    return raw[: start + 24] + (100).to_bytes(4, "little") + raw[start + 28 :]


# (file, its bytes, what is told)
BROKEN: list[tuple[str, bytes, str]] = [
    ("a.docx", made.docx("T", ["secret"])[:-400], "broken"),
    ("b.docx", _zip(a="secret"), "cannot be read"),
    ("c.docx", b"\xd0\xcf\x11\xe0 secret", "password"),
    ("d.docx", made.bomb(), "unpacks to more than"),
    ("e.docx", _lying(made.bomb()), "cannot be read"),
    ("a.pptx", made.pptx("T", "secret")[:3_000], "broken"),
    ("b.pptx", _zip(a="secret"), "cannot be read"),
    ("a.xlsx", made.xlsx({"S": [("secret", "x")]})[:-100], "broken"),
    ("b.xlsx", made.xlsx({"S": []}), "no text"),
    ("a.odt", _zip(mimetype="application/vnd.oasis.opendocument.text"), "cannot be read"),
    ("a.ods", b"PK\x03\x04secret", "broken"),
    ("a.epub", _zip(mimetype="application/epub+zip"), "cannot be read"),
    ("b.epub", made.epub("secret", ["<p> </p>"]), "holds no text"),
    ("c.epub", made.epub("T", ["secret"], locked=["c1.xhtml"]), "protected"),
    ("a.rst", b"secret \x81\xff", "UTF-8"),
    ("b.rst", b"- " * 2_000 + b"secret", "cannot be read"),
    ("a.eml", b"secret words without a header", "no message"),
    ("a.mbox", b"secret words", "no mailbox"),
    ("a.csv", b'"' + b"secret" * 30_000, "table cannot be read"),
    ("a.tsv", "zł\tsecret łąka".encode("cp1250"), "UTF-8"),
    ("a.json", b'{"secret": ', "not JSON"),
    ("b.json", b"[" * 3_000 + b"1" + b"]" * 3_000, "not JSON"),
    ("c.json", b"{}", "no text"),
    ("a.ipynb", b'{"worksheets": ["secret"]}', "no notebook"),
    ("b.ipynb", b'{"cells": ["secret"]}', "cannot be read"),
]


def test_broken_files_cost_themselves_alone(tmp_path: Path) -> None:
    for name, raw, _ in BROKEN:
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "z.docx").write_bytes(made.docx("Fine", ["It is read."]))
    reading = FolderSource(tmp_path).read()
    assert [document.id for document in reading.documents] == ["z.docx"]
    failures = {failure.name: failure for failure in reading.failures}
    assert sorted(failures) == sorted(name for name, *_ in BROKEN)
    for name, _, reason in BROKEN:
        assert failures[name].document_id == (
            "" if reason == "no text" else name
        )  # what is empty now was not so by mistake
        assert reason in failures[name].reason
    assert "secret" not in repr(reading.failures)


class _Counting:
    """Makes converters, and keeps them."""

    def __init__(self, make: Callable[[], Converter]) -> None:
        self._make = make
        self.made: list[Converter] = []

    def __call__(self) -> Converter:
        self.made.append(self._make())
        return self.made[-1]


@pytest.mark.parametrize(
    ("fault", "reason", "starts"),
    [("hang", "took too long", 2), ("die", "crashed", 2), ("flood", "longer than 100000 bytes", 1)],
)
def test_what_breaks_a_library_costs_its_file_alone(tmp_path: Path, fault: str, reason: str, starts: int) -> None:
    for name, raw in {"a": b"One.", "b": fault.encode(), "c": b"Three."}.items():
        (tmp_path / f"{name}.odt").write_bytes(raw)
    (tmp_path / "d.txt").write_bytes(b"Four.")
    converters = _Counting(partial(Converter, seconds=10.0, most_text=100_000, worker=_FAULTY))
    reading = FolderSource(tmp_path, converter=converters).read()
    assert [document.text for document in reading.documents] == ["One.", "Three.", "Four."]
    (failure,) = reading.failures
    assert failure.name == "b.odt"
    assert reason in failure.reason
    assert [one._child.starts for one in converters.made] == [starts]


def test_a_file_that_takes_all_memory_costs_itself_alone(tmp_path: Path) -> None:
    text = "<w:p><w:r><w:t>secret</w:t></w:r></w:p>" * 500_000
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    whole = made.docx("T", ["x"])
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(whole)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            large = f'<w:document xmlns:w="{space}"><w:body>{text}</w:body></w:document>'
            new.writestr(name, large if name == "word/document.xml" else old.read(name))
    (tmp_path / "a.docx").write_bytes(out.getvalue())
    (tmp_path / "b.docx").write_bytes(whole)
    reading = FolderSource(tmp_path, converter=partial(Converter, memory=2**29)).read()
    assert [document.id for document in reading.documents] == ["b.docx"]
    assert [failure.name for failure in reading.failures] == ["a.docx"]


def test_a_folder_of_texts_starts_no_process(tmp_path: Path) -> None:
    for name in ("a.txt", "b.md", "c.html", "d.csv", "e.json"):
        (tmp_path / name).write_bytes(b'["Some words"]')
    converters = _Counting(Converter)
    assert FolderSource(tmp_path, converter=converters).read().files == 5
    assert [one._child.starts for one in converters.made] == [0]


def test_one_process_reads_a_whole_folder_also_from_threads(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.docx").write_bytes(made.docx("T", [f"Text {number}."]))
    converters = _Counting(Converter)
    found: list[Reading] = []
    threads = [
        threading.Thread(target=lambda: found.append(FolderSource(tmp_path, converter=converters).read()))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(reading.documents) for reading in found] == [5, 5, 5]
    assert [one._child.starts for one in converters.made] == [1, 1, 1]


def test_a_warning_of_a_library_names_its_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "odd.pdf").write_bytes(pdf("It is read.").replace(b"startxref\n", b"startxref\n1"))
    with caplog.at_level(logging.WARNING):
        FolderSource(tmp_path).read()
    assert caplog.messages
    assert all(message.startswith("odd.pdf: ") for message in caplog.messages)


def test_every_file_of_a_folder_is_accounted_for(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"Not to be read.")
    folder = tmp_path / "papers"
    good = {
        "a.txt": b"One.",
        "b.md": b"# T\n\nTwo.",
        "c.html": b"<p>Three.</p>",
        "d.pdf": pdf("Four."),
        "e.jsonl": b'{"text": "Five."}\n{"text": "Six."}\n',
        "f.docx": made.docx("T", ["Seven."]),
        "g.pptx": made.pptx("T", "Eight."),
        "h.xlsx": made.xlsx({"S": made.STAFF}),
        "i.csv": b"Role,Ext.\nPorter,107\n",
        "j.tsv": b"Role\tExt.\nPorter\t107\n",
        "k.rst": b"Nine.",
        "l.eml": bytes(made.message("S", "Ten.")),
        "m.mbox": made.mbox([made.message("S", "Eleven.")]),
        "n.json": b'{"a": "b"}',
        "o.ipynb": made.notebook({"cell_type": "markdown", "source": "Twelve."}),
        "p.epub": made.epub("T", ["<p>Thirteen.</p>"]),
        "q.odt": made.odt("T", "Fourteen."),
        "r.markdown": b"Fifteen.",
        "s.log": b"Sixteen.",
    }
    bad = {
        "bad/a.docx": b"PK",
        "bad/b.pdf": pdf(""),
        "bad/c.txt": b"",
        "bad/d.xlsx": b"x",
        "bad/e.json": b"{",
        "bad/f.txt": b"a" * 100_001,
    }
    skipped = {
        "ward.zip": "of a kind that is not read",
        "plain": "of a kind that is not read",
        "scan.jpg": "a picture, whose text is not recognised",
        "old.doc": "of an older office format (save it anew)",
        ".hidden.txt": "hidden",
        ".git": "hidden",
        "ward.source.toml": "a mapping file, which is a source of its own",
        "out.txt": "a link that leaves the folder",
    }
    for name, raw in {**good, **bad, **dict.fromkeys(skipped, b"x"), ".git/config": b"x"}.items():
        if name not in {"out.txt", ".git"}:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(raw)
    (folder / "out.txt").symlink_to(outside)
    reading = FolderSource(folder, max_bytes=100_000).read()
    assert reading.files == len(good)
    assert len(reading.documents) == len(good) + 1  # two of JSON lines
    assert sorted(failure.name for failure in reading.failures) == sorted(bad)
    assert {one.name: one.reason for one in reading.skipped} == skipped


def test_a_folder_of_nothing_to_read_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "scan.jpg").write_bytes(b"x")
    with pytest.raises(EmptySourceError, match="0 failed and 1 are not read") as told:
        FolderSource(tmp_path).read()
    assert told.value.bare
