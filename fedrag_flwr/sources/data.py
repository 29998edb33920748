"""JSON: fields behind their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.readers import decode
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
