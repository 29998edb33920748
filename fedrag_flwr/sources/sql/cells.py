"""Cells that are not of their column's type: SQLite stores anything anywhere, and one odd cell hides no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


def as_stored(column: ColumnElement[Any]) -> ColumnElement[object]:
    """A column whose cells are read by its type where they are of it, and come as they are stored where not."""
    from sqlalchemy import type_coerce
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine, UserDefinedType

    class Lenient(UserDefinedType[object]):
        cache_ok = False

        def __init__(self, stated: TypeEngine[Any]) -> None:
            self.stated = stated

        def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], object] | None:
            strict = self.stated.dialect_impl(dialect).result_processor(dialect, coltype)
            if strict is None:
                return None

            def read(value: Any) -> object:
                try:
                    return strict(value)
                except (ValueError, TypeError, ArithmeticError):
                    return value

            return read

    return type_coerce(column, Lenient(column.type))
