"""JSON and notebooks: fields behind their names, cells in their order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.html import html_text
from fedrag_flwr.sources.readers import decode, read_markdown
from fedrag_flwr.sources.tables import told_row

_LONG = 200  # characters of a text that is a paragraph by itself


def read_json(raw: bytes) -> tuple[str, str]:
    """Read JSON: an object's fields as "key: value", and each object of a list by itself; numbers keep their form."""
    return "", "\n\n".join(_told(_parsed(raw), ""))


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(decode(raw), parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError("the file is not JSON", fix="export it again") from None


def _told(value: object, key: str) -> Iterator[str]:
    """The paragraphs of a value under the keys that lead to it."""
    if isinstance(value, dict):
        plain = {name: text for name, one in value.items() if (text := _plain(one)) is not None}
        short = {name: text for name, text in plain.items() if len(text) <= _LONG}
        if row := told_row(list(short), list(short.values())):
            yield f"{key}: {row}" if key else row
        for name, one in value.items():
            if name in plain and name not in short:
                yield f"{name}: {plain[name]}"
            elif name not in plain:
                yield from _told(one, f"{key} {name}".strip())
    elif isinstance(value, list) and _plain(value) is None:
        for one in value:
            yield from _told(one, key)
    elif text := _plain(value):
        yield f"{key}: {text}" if key else text


def _plain(value: object) -> str | None:
    """A single value or a list of such as text; None for what has fields."""
    if isinstance(value, list):
        parts = [_plain(one) for one in value]
        return None if None in parts else ", ".join(part for part in parts if part)
    if isinstance(value, dict):
        return None
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def read_ipynb(raw: bytes) -> tuple[str, str]:
    """Read a notebook: its texts, its code and the texts and tables that the code gave; the title is a first heading;
    raises DocumentError where it is none, or older than the fourth format.
    """
    book = _parsed(raw)
    if not isinstance(book, dict) or not isinstance(book.get("cells"), list):
        raise DocumentError("it is no notebook of the fourth format", fix="save it anew with a newer program")
    title, told = "", []
    for cell in book["cells"]:
        source = _lines(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            heading, source = read_markdown(source.encode("utf-8", "replace"))
            title = title or heading
        told.append(source)
        told += [_output(one) for one in cell.get("outputs", ())]
    return title, "\n\n".join(part.strip("\n") for part in told if part.strip())


def _output(output: Mapping[str, Any]) -> str:
    if "text" in output:
        return _lines(output["text"])
    data = output.get("data", {})
    return html_text(_lines(data["text/html"]))[1] if "text/html" in data else _lines(data.get("text/plain"))


def _lines(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
