"""Tables of pages: each cell behind its column's head, whatever marks the heads; a page's layout is no table."""

import pytest

from fedrag_flwr.sources.html import html_text
from fedrag_flwr.sources.readers import read_markdown


def _row(*cells: str, kind: str = "td") -> str:
    return "<tr>" + "".join(f"<{kind}>{cell}</{kind}>" for cell in cells) + "</tr>"


_HEADS = _row("Role", "Ext.", kind="th")

# (what stands in a table, its text)
TABLES: dict[str, tuple[str, str]] = {
    "heads": (_HEADS + _row("Porter", "107"), "Role: Porter; Ext.: 107"),
    "heads in a section": (f"<thead>{_HEADS}</thead><tbody>{_row('Porter', '107')}</tbody>", "Role: Porter; Ext.: 107"),
    "a head with a colon": (_row("Role:", kind="th") + _row("Porter"), "Role: Porter"),
    "a caption": (
        f"<caption>Staff of <b>ward 4</b></caption>{_HEADS}{_row('Porter', '107')}",
        "Staff of ward 4\n\nRole: Porter; Ext.: 107",
    ),
    "ends left out": ("<tr><th>Role<th>Ext.<tr><td>Porter<td>7<tr><td>Clerk", "Role: Porter; Ext.: 7\n\nRole: Clerk"),
    "an empty cell": (_HEADS + _row("Porter", "") + _row("", " ") + _row("", "108"), "Role: Porter\n\nExt.: 108"),
    "rows with heads": ("<tr><th>Name</th><td>Ada</td></tr><tr><th>Age</th><td>42</td></tr>", "Name: Ada\n\nAge: 42"),
    "heads above and beside": (
        _row("Day", "Opens", kind="th") + "<tr><th>Monday</th><td>nine</td></tr>",
        "Day: Monday; Opens: nine",
    ),
    "two rows of heads": (
        '<tr><th rowspan="2">Ward</th><th colspan="2">2024</th></tr>' + _row("Spring", "Autumn", kind="th")
        + _row("A", "1", "2"),
        "Ward: A; 2024 Spring: 1; 2024 Autumn: 2",
    ),
    "a head within": (
        _HEADS + '<tr><th colspan="2">By night</th></tr>' + _row("Porter", "108"),
        "By night\n\nRole: Porter; Ext.: 108",
    ),
    "a cell over rows": (
        _row("Ward", "Who", kind="th") + '<tr><td rowspan="2">North</td><td>Ada</td></tr>' + _row("Ben"),
        "Ward: North; Who: Ada\n\nWard: North; Who: Ben",
    ),
    "spans that are none": (
        f'{_HEADS}<tr><td rowspan="{"9" * 5_000}" colspan="x">Porter</td><td rowspan="0">107</td></tr>',
        "Role: Porter; Ext.: 107",
    ),
    "bold heads": (_row("<b>Name</b>", "<b>Role</b>") + _row("Ada", "Porter"), "Name: Ada; Role: Porter"),
    "all is bold": (_row("<b>Name</b>", "<b>Ada</b>") + _row("<b>Role</b>", "<b>Cook</b>"), "Name; Ada\n\nRole; Cook"),
    "numbers below": (
        _row("Who", "Ext.") + _row("Ada", "1") + _row("Ben", "2"),
        "Who: Ada; Ext.: 1\n\nWho: Ben; Ext.: 2",
    ),
    "a title above the heads": (
        '<tr><th colspan="2">Staff</th></tr>' + _HEADS + _row("Cook", "1"),
        "Staff\n\nRole: Cook; Ext.: 1",
    ),
    "three columns": (_row("Who", "Role", "Ext.") + _row("Ada", "Cook", "1"), "Who: Ada; Role: Cook; Ext.: 1"),
    "three of one kind": (_row("Ada", "Ben", "Cy") + _row("Dee", "Eve", "Flo"), "Ada; Ben; Cy\n\nDee; Eve; Flo"),
    "names and values": (_row("Name", "Ada") + _row("Role", "Porter"), "Name; Ada\n\nRole; Porter"),
    "one row": (_row("mass", "722 kg"), "mass; 722 kg"),
    "heads alone": (_HEADS, "Role; Ext."),
    "blocks in a cell": (
        _HEADS + _row("<p>Ada.</p><p>Ben</p><ul><li>by day</li><li>by night</li></ul>", "1<br>2"),
        "Role: Ada. Ben, by day, by night; Ext.: 1, 2",
    ),
    "controls and comments": (_HEADS + _row("Porter<!-- no --><button>Go</button>", "107"), "Role: Porter; Ext.: 107"),
    "a long head": (_row("a" * 1_000, kind="th") + _row("x"), "a" * 200 + ": x"),
}  # fmt: skip


@pytest.mark.parametrize(("inside", "text"), TABLES.values(), ids=TABLES)
def test_tables(inside: str, text: str) -> None:
    assert html_text(f"Before<table>{inside}</table>after")[1] == f"Before\n\n{text}\n\nafter"
    assert read_markdown(f"Before\n\n<table>{inside}</table>\n\nafter".encode())[1] == f"Before\n\n{text}\n\nafter"


def test_a_table_that_lays_out_a_page_is_read_cell_by_cell() -> None:
    inner = f"<table>{_HEADS}{_row('Porter', '107')}</table>"
    assert html_text(f"<table>{_row('<h2>Ward</h2><p>It opens.</p>', inner)}</table>")[1] == (
        "## Ward\n\nIt opens.\n\nRole: Porter; Ext.: 107"
    )
    assert html_text(f'<table role="presentation">{_row("One.", "Two.")}{_row("Three.")}</table>')[1] == (
        "One.\n\nTwo.\n\nThree."
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "page",
    [
        "<table><tr><td>" * 5_000 + "fine",
        "<table>" + '<tr><td rowspan="50" colspan="20">' * 5_000 + "fine",
        "<td>" * 20_000 + "fine",
        "<table>" + "<tr><th>fine" * 20_000,
        "<table>fine" * 10_000,
    ],
)
def test_hostile_tables_take_linear_time(page: str) -> None:
    text = html_text(page)[1]
    assert "fine" in text
    assert len(text) < 100 * len(page)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("3 × 10<sup>6</sup> litres", "3 × 10⁶ litres"),
        ("10<sup>-3</sup> mol", "10⁻³ mol"),
        ("CO<sub>2</sub>", "CO2"),
        ("said<sup>[1]</sup> so", "said[1] so"),
        ("the 1<sup>st</sup>", "the 1st"),
    ],
)
def test_powers(page: str, text: str) -> None:
    assert html_text(page)[1] == text
