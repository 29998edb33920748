"""Mapping files: TOML that says what in a database or a graph makes a record."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError

from fedrag_flwr.errors import SourceError

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_IN_FILES = ("sqlite", "ladybug")  # of these a URL's path is a file's: with a fourth slash from the root
# as SQLAlchemy reads it, a password may hold any sign but an @; further ones before the host belong to it, too
_PASSWORD = re.compile(r"(^[^:/]+://[^:/]*:)([^@]*(?:@[^/?]*)?)(?=@)")
_OPTION = re.compile(r"([?&]\w*(?:password|passwd|pwd)=)([^&]*)", re.IGNORECASE)
_FIELD = re.compile(r"\{([^{}]+)\}")


class MappingPart(BaseModel):
    """A table of a mapping file: kebab-case keys, nothing unknown, frozen."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=False,
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=True,
    )


M = TypeVar("M", bound=MappingPart)


def table_of(text: str, where: str) -> dict[str, object]:
    """Read TOML; raises SourceError with the line where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fix = "mend the line, or start from what fedrag source inspect URL proposes"
        raise SourceError(f"the mapping file is not TOML ({error})", where=where, fix=fix) from None


def parse_mapping(kind: type[M], text: str, where: str) -> M:
    """Read a mapping of a kind from TOML; raises SourceError where it is no TOML, or a key is missing, unknown or of a
    wrong type; names the keys, never a value.
    """
    try:
        return kind.model_validate(table_of(text, where))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg'].lower()}" for one in error.errors())
        raise SourceError(
            f"the mapping file is wrong: {wrong}", where=where, fix="fedrag source inspect URL proposes one"
        ) from None


def mapping_toml(mapping: MappingPart) -> str:
    """Write a mapping of either kind as a mapping file; what is as by default is left out, but for kind and name."""
    shown = mapping.model_dump(by_alias=True, include={"kind", "name"})
    return tomli_w.dumps(shown | mapping.model_dump(by_alias=True, exclude_defaults=True))


def expand_url(url: str, folder: Path) -> str:
    """Fill ``${NAME}`` in a URL from the environment, and find a relative file beside the mapping file; raises
    SourceError where a variable is not set.
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise SourceError("a variable of the URL is not set", where=found[1], fix=f"export {found[1]}=...")
        set_to = os.environ[found[1]]
        return quote(set_to, safe="") if "@" in url[found.end() :] else set_to  # a password may hold any sign

    return file_beside(_VARIABLE.sub(value, url), folder)


def file_beside(url: str, folder: Path) -> str:
    """Give a URL of a file in full where it is relative to a folder; any other URL stays as it is."""
    scheme, separator, path = url.partition(":///")
    if scheme in _IN_FILES and path and not path.startswith("/"):
        return f"{scheme}{separator}{(folder / path).resolve()}"
    return url


def without_password(url: str) -> str:
    """Put ``${SOURCE_PASSWORD}`` in the place of a URL's passwords, also among its options; variables stay."""

    def hidden(found: re.Match[str]) -> str:
        shown = not found[2] or _VARIABLE.fullmatch(found[2])
        return found[0] if shown else found[1] + "${SOURCE_PASSWORD}"

    return _OPTION.sub(hidden, _PASSWORD.sub(hidden, url))


def fields_of(template: str) -> tuple[str, ...]:
    """Give the names in braces of a template."""
    return tuple(_FIELD.findall(template))


def filled(template: str, value: Callable[[str], str]) -> str:
    """Fill a template; "" where a value is empty, for what it says would be false."""
    values = {name: value(name) for name in fields_of(template)}
    return "" if "" in values.values() else _FIELD.sub(lambda found: values[found[1]], template)
