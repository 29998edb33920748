"""Files as people have them become text: each cell behind its column's head, each value in the form in which it is."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fedrag_flwr.sources.base import Reading
from fedrag_flwr.sources.folder import FolderSource
from tests.sources import office_files as made
from tests.sources.files import pdf

_ROWS = "Role: Bookkeeper; Ext.: 105\n\nRole: Porter; Ext.: 107"
_HEADERS = "From: Ada Morrow <ada@ward.example>\n\nTo: rota@ward.example\n\nDate: Mon, 02 Mar 2026 09:30:00 +0000"
_SHIFTS = [
    ("Who", "Worked"),
    ("Ada", timedelta(hours=26, minutes=5)),
    ("Ben", timedelta(minutes=7, seconds=30)),
    ("Cy", timedelta(hours=-1)),
]
_TIMES = "Who: Ada; Worked: 26:05\n\nWho: Ben; Worked: 0:07:30\n\nWho: Cy; Worked: -1:00"
_PAGE = "<p>Two nurses.</p><table><tr><th>Role</th><th>Ext.</th></tr><tr><td>Porter</td><td>107</td></tr></table>"

# (file, its bytes, title, text)
READABLE: list[tuple[str, bytes, str, str]] = [
    ("a.markdown", b"# Mars\n\nA planet.", "Mars", "# Mars\n\nA planet."),
    ("a.mdown", b"# Mars\n\nA planet.", "Mars", "# Mars\n\nA planet."),
    ("a.mkd", b"# Mars\n\nA planet.", "Mars", "# Mars\n\nA planet."),
    ("a.text", b"Plain *text*.", "", "Plain *text*."),
    ("a.log", b"The pump stopped.", "", "The pump stopped."),
    ("a.xhtml", b"<h1>Mars</h1>", "Mars", "# Mars"),
    (
        "a.docx",
        made.docx("Ward rules", ["It opens at nine."], made.STAFF),
        "Ward rules",
        f"# Ward rules\n\nIt opens at nine.\n\n{_ROWS}",
    ),
    (
        "a.pptx",
        made.pptx("Rota", "Ada is on call.", "Ask Ben.", made.STAFF),
        "Rota",
        f"## Rota\n\nAda is on call.\n\n{_ROWS}\n\nAsk Ben.",
    ),
    ("a.odt", made.odt("Ward rules", "It opens.", made.STAFF), "Ward rules", f"# Ward rules\n\nIt opens.\n\n{_ROWS}"),
    ("a.ods", made.ods("Staff", made.STAFF), "", f"## Staff\n\n{_ROWS}"),
    ("b.ods", made.ods("Rota", _SHIFTS), "", f"## Rota\n\n{_TIMES}"),
    ("b.xlsx", made.xlsx({"Rota": _SHIFTS}), "", f"## Rota\n\n{_TIMES}"),
    (
        "a.epub",
        made.epub("Two moons", ["<h1>Phobos</h1><p>It is near.</p>", "<p>Deimos is far.</p>"], locked=["font.otf"]),
        "Two moons",
        "# Phobos\n\nIt is near.\n\nDeimos is far.",
    ),
    (
        "a.rst",
        b"Ward\n====\n\nIt *opens*.\n\n.. include:: /etc/hostname\n\n====== ====\nRole   Ext.\n====== ====\n"
        b"Porter 107\n====== ====\n",
        "Ward",
        "# Ward\n\nIt opens.\n\nRole: Porter; Ext.: 107",
    ),
    ("a.eml", bytes(made.message("Rota", "Two nurses.")), "Rota", f"Subject: Rota\n\n{_HEADERS}\n\nTwo nurses."),
    (
        "b.eml",
        bytes(made.message("Rota", html=_PAGE)),
        "Rota",
        f"Subject: Rota\n\n{_HEADERS}\n\nTwo nurses.\n\nRole: Porter; Ext.: 107",
    ),
    (
        "c.eml",
        bytes(
            made.message(
                "Rota",
                "See both.",
                attachments={
                    "a.docx": made.docx("T", ["In the paper."]),
                    "b.png": b"\x89PNG",
                    "broken.pdf": b"%PDF-1.4 nothing",
                    "c.csv": b"Role,Ext.\nPorter,107\n",
                },
            )
        ),
        "Rota",
        f"Subject: Rota\n\n{_HEADERS}\n\nSee both.\n\nAttachment a.docx:\n\n# T\n\nIn the paper.\n\n"
        "Attachment c.csv:\n\nRole: Porter; Ext.: 107",
    ),
    (
        "d.eml",
        bytes(made.message("Rota", "Two nurses.")).replace(b"utf-8", b"x-unknown"),
        "Rota",
        f"Subject: Rota\n\n{_HEADERS}\n\nTwo nurses.",
    ),
    (
        "a.mbox",
        made.mbox([made.message("Rota", "Two nurses."), made.message("Keys", "At the desk.")]),
        "",
        f"# Rota\n\nSubject: Rota\n\n{_HEADERS}\n\nTwo nurses.\n\n"
        f"# Keys\n\nSubject: Keys\n\n{_HEADERS}\n\nAt the desk.",
    ),
    (
        "a.ipynb",
        made.notebook(
            {"cell_type": "markdown", "source": ["# Doses\n", "By *ward*."]},
            {
                "cell_type": "code",
                "source": "print(2 * 3)",
                "outputs": [
                    {"output_type": "stream", "text": ["6\n"]},
                    {"output_type": "display_data", "data": {"text/html": _PAGE, "text/plain": "x"}},
                    {"output_type": "display_data", "data": {"image/png": "iVBO"}},
                ],
            },
        ),
        "Doses",
        "# Doses\n\nBy ward.\n\nprint(2 * 3)\n\n6\n\nTwo nurses.\n\nRole: Porter; Ext.: 107",
    ),
]


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """All of these files in one folder, as they are read."""
    folder = tmp_path_factory.mktemp("formats")
    for name, raw, *_ in READABLE:
        (folder / name).write_bytes(raw)
    return FolderSource(folder).read()


@pytest.mark.parametrize(("name", "raw", "title", "text"), READABLE, ids=[name for name, *_ in READABLE])
def test_readable_files(reading: Reading, name: str, raw: bytes, title: str, text: str) -> None:
    assert reading.failures == ()
    [document] = [one for one in reading.documents if one.id == name]
    assert (document.title, document.text) == (title, text)


# (rows of a comma-separated file, its text)
TABLES: dict[str, tuple[str, str]] = {
    "heads": ("Role,Ext.\nPorter,107\n", "Role: Porter; Ext.: 107"),
    "leading zeros and points": ("Ward,Code,Dose\nA,007,1.50\n", "Ward: A; Code: 007; Dose: 1.50"),
    "no heads": ("Porter,107\nClerk,108\n", "Porter; 107\n\nClerk; 108"),
    "years as heads": ("Ward,2024,2025\nA,3,4\n", "Ward: A; 2024: 3; 2025: 4"),
    "a corner": (",Mon,Tue\nAda,on,off\n", "Ada; Mon: on; Tue: off"),
    "semicolons": ("Item;Price\nTea;3,50\nIce;1,2", "Item: Tea; Price: 3,50\n\nItem: Ice; Price: 1,2"),
    "tabs": ("Role\tExt.\nPorter\t107\n", "Role: Porter; Ext.: 107"),
    "empty rows and columns": ("Role,,Ext.\n,,\nPorter,,107\n,,\n", "Role: Porter; Ext.: 107"),
    "a title above": ("Staff of ward 4,\n,\nRole,Ext.\nPorter,107\n", "Staff of ward 4\n\nRole: Porter; Ext.: 107"),
    "quotes": ('Name,Note\n"Low, Ada","Says ""no"",\nand goes"\n', 'Name: Low, Ada; Note: Says "no", and goes'),
    "a column without a head": ("Role,Ext.,\nPorter,107,by day\n", "Role: Porter; Ext.: 107; by day"),
    "a short row": ("Role,Ext.,Room\nPorter,107\n", "Role: Porter; Ext.: 107"),
    "one column": ("Name\nAda\nBen\n", "Name: Ada\n\nName: Ben"),
    "heads alone": ("Role,Ext.\n", "Role; Ext."),
    "sentences": ("It rains today.\n", "It rains today."),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "text"), TABLES.values(), ids=TABLES)
def test_rows(tmp_path: Path, rows: str, text: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + rows.replace("\n", "\r\n").encode())
    (document,) = FolderSource(tmp_path).read().documents
    assert document.text == text


def test_values_of_a_workbook_keep_their_form(tmp_path: Path) -> None:
    rows = [
        ("Item", "Count", "Price", "Share", "Day", "At", "Code", "Ready", "Sum"),
        ("Tea", 3, 4.5, 0.125, made.DAY, datetime(2026, 3, 2, 9, 30), 7, True, "=A1"),
        (None,) * 9,
        ("Milk", 1200, 12000, 1, None, None, 12, False, "#N/A"),
    ]
    shown = {"C2": '"£"#,##0.00', "C4": "[$£-809]#,##0", "D2": "0.0%", "D4": "0%", "G2": "000", "G4": "000"}
    raw = made.xlsx({"Store": rows, "Lists": [("x", "y"), ("secret", "z")], "Empty": []}, shown, hidden=["Lists"])
    (tmp_path / "a.xlsx").write_bytes(raw)
    (document,) = FolderSource(tmp_path).read().documents
    assert document.text == (
        "## Store\n\n"
        "Item: Tea; Count: 3; Price: £4.50; Share: 12.5%; Day: 2026-03-02; At: 2026-03-02 09:30; Code: 007; Ready: true"
        "\n\nItem: Milk; Count: 1200; Price: £12,000; Share: 100%; Code: 012; Ready: false"
    )


# (JSON, its text)
OBJECTS: dict[str, tuple[object, str]] = {
    "an object": ({"name": "Ada", "age": 42, "on call": True, "left": None}, "name: Ada; age: 42; on call: true"),
    "a list of objects": ([{"a": 1, "b": 2.50}, {"a": 3}], "a: 1; b: 2.5\n\na: 3"),
    "nested": ({"ward": 4, "staff": [{"name": "Ada"}, {"age": 3}]}, "ward: 4\n\nstaff: name: Ada\n\nstaff: age: 3"),
    "a list of values": ({"days": ["Monday", "Tuesday"]}, "days: Monday, Tuesday"),
    "a long text": ({"id": 1, "note": "It rains. " * 30}, "id: 1\n\nnote: " + ("It rains. " * 30).strip()),
    "values": (["Monday", 3], "Monday, 3"),
}  # fmt: skip


@pytest.mark.parametrize(("value", "text"), OBJECTS.values(), ids=OBJECTS)
def test_objects(tmp_path: Path, value: object, text: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(value))
    (document,) = FolderSource(tmp_path).read().documents
    assert document.text == text


def test_files_of_one_name_and_several_kinds_are_several_documents(tmp_path: Path) -> None:
    (tmp_path / "rota.docx").write_bytes(made.docx("Rota", ["Written."]))
    (tmp_path / "rota.pdf").write_bytes(pdf("Printed."))
    (tmp_path / "rota.xlsx").write_bytes(made.xlsx({"Rota": made.STAFF}))
    reading = FolderSource(tmp_path).read()
    assert {document.id for document in reading.documents} == {"rota", "rota.docx", "rota.xlsx"}
    assert reading.failures == ()
