"""Sheets: CSV, TSV, Excel and OpenDocument; each row a paragraph, each cell behind its column's head."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.readers import decode
from fedrag_flwr.sources.tables import table_text

_DELIMITERS = ",;\t|"
_SAMPLE = 50  # rows by which the delimiter is told
_LOCALE = re.compile(r"\[\$([^\]-]*)[^\]]*\]")  # in an Excel number format: a sign of money, if any, and a country
_MONEY = re.compile(r"[£$€¥₹]")


def read_csv(raw: bytes) -> tuple[str, str]:
    """Read comma-separated values; semicolons, tabs and bars may part them, too."""
    text = decode(raw)
    return "", _separated(text, max(_DELIMITERS, key=lambda mark: _fitness(text, mark)))


def read_tsv(raw: bytes) -> tuple[str, str]:
    """Read values that tabs part."""
    return "", _separated(decode(raw), "\t")


def _rows(text: str, delimiter: str) -> Iterable[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _fitness(text: str, delimiter: str) -> tuple[int, int]:
    """How many of the first rows it parts into equally many cells, and into how many."""
    try:
        widths = Counter(len(row) for row, _ in zip(_rows(text[:20_000], delimiter), range(_SAMPLE), strict=False))
    except csv.Error:
        return 0, 0
    return max(((count, width) for width, count in widths.items() if width > 1), default=(0, 0))


def _separated(text: str, delimiter: str) -> str:
    try:
        return table_text(list(_rows(text, delimiter)), headed=True)
    except csv.Error:
        raise DocumentError("the table cannot be read", fix="export it again, with quotes around texts") from None


def read_xlsx(raw: bytes) -> tuple[str, str]:
    """Read an Excel workbook: each sheet that is shown under its name, values as they are shown."""
    from openpyxl import load_workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

    book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
    told = []
    for sheet in book.worksheets:
        if sheet.sheet_state == "visible":
            if isinstance(sheet, ReadOnlyWorksheet):
                sheet.reset_dimensions()  # what a file says of them may be wrong
            rows = ([_cell(cell.value, cell.number_format) for cell in row] for row in sheet.iter_rows())
            told.append((sheet.title, [row for row in rows if any(row)]))
    return "", _sheets(told)


def read_ods(raw: bytes) -> tuple[str, str]:
    """Read an OpenDocument spreadsheet: each sheet under its name."""
    from odfdo import Document

    told = []
    for sheet in Document(io.BytesIO(raw)).body.tables:
        sheet.rstrip(aggressive=True)  # sheets are filled up with empty cells
        told.append((sheet.name or "", [[_cell(value) for value in row] for row in sheet.iter_values()]))
    return "", _sheets(told)


def _sheets(sheets: Iterable[tuple[str, list[list[str]]]]) -> str:
    """Each sheet's rows under its name."""
    texts = ((name, table_text(rows, headed=True)) for name, rows in sheets)
    return "\n\n".join(f"## {' '.join(name.split())}\n\n{text}" for name, text in texts if text)


def _cell(value: object, shown: str = "General") -> str:
    """A cell's value, in the form that its number format shows where that tells more."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.isoformat("minutes")
    if isinstance(value, timedelta):
        return _duration(round(value.total_seconds()))
    if isinstance(value, str):
        return "" if re.fullmatch(r"#(?:[A-Z]+[/0]?[A-Z0]*[!?]?)", value) else value  # what a broken formula gives
    return _number(value, _LOCALE.sub(r"\1", shown))


def _duration(seconds: int) -> str:
    """Hours, also beyond a day, and minutes; seconds where there are some."""
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'-' * (seconds < 0)}{minutes // 60}:{minutes % 60:02}" + (f":{rest:02}" if rest else "")


def _number(value: object, shown: str) -> str:
    number = float(str(value))
    if shown.endswith("%"):
        return f"{round(number * 100, 10):.15g}%"
    if money := _MONEY.search(shown):
        return f"{'-' * (number < 0)}{money[0]}{abs(number):,.{0 if number.is_integer() else 2}f}"
    if re.fullmatch("0{2,}", shown) and number.is_integer():
        return f"{int(number):0{len(shown)}}"
    return f"{int(number)}" if number.is_integer() and abs(number) < 1e15 else f"{number:.15g}"
