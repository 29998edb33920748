"""Settings as Python code gives them: a file, a mapping, or keywords."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from fedrag_flwr.errors import SettingError
from fedrag_flwr.settings import Plain, Settings, flat_table

Given = Settings | Mapping[str, Plain] | str | Path | None


def configured(given: Given, changes: Mapping[str, Plain]) -> Settings:
    """Settings out of a file or mapping, with changes by keyword.

    Parameters
    ----------
    given
        Settings; a mapping of their keys (``{"memory.delta": 0.6}``); a TOML file of them; None for the defaults.
    changes
        By keyword: ``memory_delta=0.6`` is ``memory.delta``, ``models_read_seconds=8.0`` is ``models.read-seconds``.

    Raises
    ------
    SettingError
        A key is unknown, a value is not allowed, or the file cannot be read.
    """
    if isinstance(given, Settings):
        flat = given.flat()
    elif isinstance(given, str | Path):
        path = Path(given).expanduser()
        flat = flat_table(_read(path), path.name)
    else:
        flat = dict(given or {})
    return Settings.from_config(flat | {_key(name): value for name, value in changes.items()})


def _key(keyword: str) -> str:
    """A setting's key by the keyword that stands for it."""
    group, _, name = keyword.partition("_")
    if name and f"{group}." in _GROUPS:
        return f"{group}.{name.replace('_', '-')}"
    return keyword.replace("_", "-")


def _read(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        fix = "name a TOML file, or give a mapping"
        raise SettingError(f"the settings cannot be read ({error.strerror})", where=path.name, fix=fix) from None
    except ValueError as error:
        raise SettingError(f"the settings are not TOML ({error})", where=path.name, fix="see presets/") from None


_GROUPS = frozenset(key.partition(".")[0] + "." for key in Settings().flat() if "." in key)
