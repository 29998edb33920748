"""Where things lie under the home; imports nothing, for processes that must start quickly."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping
from pathlib import Path

from fedrag_flwr.errors import SettingError

_DEVICE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = frozenset({"shared-memory", "fusion", "server"})


def is_name(name: str) -> bool:
    """Whether a device may be called so."""
    return bool(_DEVICE_NAME.fullmatch(name)) and name not in RESERVED and not name.startswith("shared-memory-")


def valid_name(name: str) -> str:
    """Check a device's name, which stands in every reference to what the device owns; raises SettingError where it is
    not a plain word, or it is reserved for the server.
    """
    if not is_name(name):
        raise SettingError(
            "this cannot be a device's name",
            where="device-name",
            fix="use 1 to 64 letters, digits, '.', '_' and '-', first a letter or digit; not fusion or shared-memory",
        )
    return name


def new_id() -> str:
    """A name for a question put at a device, which says nothing of it."""
    return f"asked-{uuid.uuid4().hex}"


Plain = bool | int | float | str  # a value of a run's or a node's config


def fedrag_home(configured: str = "") -> Path:
    """The directory for models, devices and results: the setting, `$FEDRAG_HOME`, or ``~/.cache/fedrag``."""
    return Path(configured or os.environ.get("FEDRAG_HOME") or Path.home() / ".cache" / "fedrag").expanduser()


def deployed_root(home: Path, name: str) -> Path:
    """Where a deployed device keeps its store: where `fedrag build` and `ask` look for it, whatever a run is over."""
    return home / "devices" / "local" / name


def is_deployed(node_config: Mapping[str, object]) -> bool:
    """Whether a node is a device with documents of its own, and not one of a simulation."""
    return "data-path" in node_config or "sources" in node_config


def deployed_name(node_config: Mapping[str, object]) -> str:
    """The name that a node's config gives to its device: stated, or its folder's; "" where it gives none."""
    if "device-name" in node_config:
        return str(node_config["device-name"])
    return Path(str(node_config["data-path"])).name if "data-path" in node_config else ""
