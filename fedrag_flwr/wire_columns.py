"""A record in columns, as it travels, and back: every scalar field one list, vectors one float16 matrix.

A nested tuple becomes a list of lengths and the columns of its elements. Both ways each value is checked against the
bounds of its field, and no error quotes one.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints
from unicodedata import category

import numpy as np
from flwr.app import Array

from fedrag_flwr.errors import WireError
from fedrag_flwr.records import Bound

RAW = "fedrag.raw"
MAX_DIMENSION = 8_192
_BESIDE = 32  # bytes of a value's own: a number, a word that is a choice, or what stands around a text
_UTF8 = 4  # bytes of a character at most

R = TypeVar("R")


def to_columns(record: object) -> tuple[dict[str, list[object]], dict[str, Array]]:
    """The columns of a record's scalars and the matrices of its vectors, by field; raises WireError where the record
    breaks one of its own bounds.
    """
    columns: dict[str, list[object]] = {}
    arrays: dict[str, Array] = {}
    _put("", type(record), Bound(), [record], columns, arrays)
    return columns, arrays


def from_columns(kind: type[R], columns: Mapping[str, object], arrays: Mapping[str, Array]) -> R:
    """The record of a kind that stands in columns and matrices from elsewhere; raises WireError where they are not
    exactly such a record within its bounds.
    """
    reader = _Reader(kind.__name__, dict(columns), dict(arrays))
    values = reader.take("", kind, Bound(), 1)
    reader.finish()
    return values[0]  # type: ignore[return-value]


def most_values(kind: type, dimension: int, items: Mapping[str, int]) -> int:
    """Bytes that a record's values may take, with vectors of a dimension and so many elements where `items` says so."""
    return sum(_most(name, hint, bound, dimension, items) for name, hint, bound in _fields(kind))


def _most(name: str, hint: object, bound: Bound, dimension: int, items: Mapping[str, int]) -> int:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return most_values(hint, dimension, items)
    if _is_vector(hint):
        return 2 * dimension
    if get_origin(hint) is tuple:
        inner, inner_bound = _bounded(get_args(hint)[0])
        count = min(bound.items, items.get(name, bound.items))
        return _BESIDE + count * _most(name, inner, inner_bound, dimension, items)
    if hint is str:
        return _BESIDE + _UTF8 * (bound.chars or 200)
    return _BESIDE + bound.size


@cache
def _fields(kind: type) -> tuple[tuple[str, object, Bound], ...]:
    hints = get_type_hints(kind, include_extras=True)
    shape = []
    for field in dataclasses.fields(kind):
        if not field.metadata.get("local"):
            shape.append((field.name, *_bounded(hints[field.name])))
    return tuple(shape)


def _bounded(hint: object) -> tuple[object, Bound]:
    if get_origin(hint) is Annotated:
        plain, *extras = get_args(hint)
        return plain, next((extra for extra in extras if isinstance(extra, Bound)), Bound())
    return hint, Bound()


def _is_choice(hint: object) -> bool:
    return get_origin(hint) is Literal


def _is_vector(hint: object) -> bool:
    return get_origin(hint) is np.ndarray


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _put(
    prefix: str,
    hint: object,
    bound: Bound,
    values: list[object],
    columns: dict[str, list[object]],
    arrays: dict[str, Array],
) -> None:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        for name, inner, inner_bound in _fields(hint):
            _put(_join(prefix, name), inner, inner_bound, [getattr(v, name) for v in values], columns, arrays)
    elif _is_vector(hint):
        arrays[prefix] = _matrix(prefix, values)
    elif get_origin(hint) is tuple:
        inner, inner_bound = _bounded(get_args(hint)[0])
        groups = [value if isinstance(value, tuple) else () for value in values]
        for group in groups:
            if len(group) > bound.items:
                raise WireError(f"{len(group)} elements, at most {bound.items} are allowed", where=prefix)
        columns[prefix + "#"] = [len(group) for group in groups]
        _put(prefix, inner, inner_bound, [value for group in groups for value in group], columns, arrays)
    else:
        columns[prefix] = [_scalar(prefix, hint, bound, value) for value in values]


def _matrix(prefix: str, values: list[object]) -> Array:
    rows = [np.asarray(value, dtype=np.float16) for value in values]
    if len({row.shape for row in rows}) > 1 or any(row.ndim != 1 for row in rows):
        raise WireError("vectors of one message differ in shape", where=prefix)
    matrix = np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float16)
    if not np.isfinite(matrix).all():
        raise WireError("a vector is not finite", where=prefix)
    return Array(dtype="float16", shape=matrix.shape, stype=RAW, data=matrix.tobytes())


def _scalar(where: str, hint: object, bound: Bound, value: object) -> object:
    if _is_choice(hint):
        if value not in get_args(hint):
            raise WireError("a word that is not one of the choices", where=where)
        return value
    if hint is str:
        if not isinstance(value, str):
            raise WireError("expected text", where=where)
        if len(value) > (bound.chars or 200):
            raise WireError(f"a text of {len(value)} characters, at most {bound.chars or 200} are allowed", where=where)
        if not _is_unicode(value):
            raise WireError("a text that is not Unicode", where=where)
        return value
    if hint is bytes:
        if not isinstance(value, bytes):
            raise WireError("expected bytes", where=where)
        if len(value) > bound.size:
            raise WireError(f"{len(value)} bytes, at most {bound.size} are allowed", where=where)
        return value
    if hint is bool:
        if not isinstance(value, bool):
            raise WireError("expected a truth value", where=where)
        return value
    if hint is int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise WireError("expected an integer", where=where)
    elif hint is float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise WireError("expected a finite number", where=where)
        value = float(value)
    else:
        raise WireError("a field of a kind that cannot travel", where=where)
    if (bound.low or bound.high) and not bound.low <= value <= bound.high:
        raise WireError(f"a number outside [{bound.low}, {bound.high}]", where=where)
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _one_line(text: str) -> str:
    """A text without line breaks and control characters, and without those that turn the direction of writing."""
    if text.isprintable():
        return text
    kept = "".join(one if one.isprintable() else "" if category(one) == "Cf" else " " for one in text)
    return " ".join(kept.split())


class _Reader:
    """Takes a record out of its columns, and refuses columns that nothing asked for."""

    def __init__(self, kind: str, columns: dict[str, object], arrays: dict[str, Array]) -> None:
        self.kind = kind
        self.columns = columns
        self.arrays = arrays

    def take(self, prefix: str, hint: object, bound: Bound, count: int) -> list[object]:
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            parts = {name: self.take(_join(prefix, name), inner, b, count) for name, inner, b in _fields(hint)}
            return [hint(**{name: column[i] for name, column in parts.items()}) for i in range(count)]
        if _is_vector(hint):
            return self._vectors(prefix, count, bound)
        if get_origin(hint) is tuple:
            inner, inner_bound = _bounded(get_args(hint)[0])
            lengths = self._column(prefix + "#", count)
            for length in lengths:
                if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length <= bound.items:
                    raise self._error(prefix, f"a sequence that is not of 0 to {bound.items} elements")
            ends = list(itertools.accumulate((int(str(length)) for length in lengths), initial=0))
            flat = self.take(prefix, inner, inner_bound, ends[-1])
            return [tuple(flat[start:end]) for start, end in itertools.pairwise(ends)]
        values = [_scalar(f"{self.kind}.{prefix}", hint, bound, value) for value in self._column(prefix, count)]
        return [_one_line(str(value)) for value in values] if hint is str and not bound.lines else values

    def finish(self) -> None:
        if self.columns or self.arrays:
            raise self._error("", "fields that this record does not have")

    def _column(self, name: str, count: int) -> list[object]:
        column = self.columns.pop(name, [])
        if not isinstance(column, list) or len(column) != count:
            raise self._error(name, f"a column that does not hold {count} values")
        return column

    def _vectors(self, prefix: str, count: int, bound: Bound) -> list[object]:
        array = self.arrays.pop(prefix, None)
        if array is None or array.stype != RAW or array.dtype != "float16" or len(array.shape) != 2:
            raise self._error(prefix, "not a float16 matrix")
        rows, width = array.shape
        if rows != count or not 0 <= width <= MAX_DIMENSION or len(array.data) != rows * width * 2:
            raise self._error(prefix, "a matrix whose shape does not fit the record or its own bytes")
        matrix = np.frombuffer(array.data, dtype=np.float16).reshape(rows, width).astype(np.float32)
        if not np.isfinite(matrix).all():
            raise self._error(prefix, "a vector that is not finite")
        norms = np.linalg.norm(matrix, axis=1)
        if bound.empty and not width:
            return list(matrix)
        if (rows and (norms < 0.9).any()) or (norms > 1.1).any():
            raise self._error(prefix, "a vector that is not of unit length")
        return list(matrix / norms[:, None])  # else a little more than unit length would outweigh the others

    def _error(self, where: str, what: str) -> WireError:
        return WireError(f"the message holds {what}", where=f"{self.kind}.{where}".rstrip("."))
