"""Where things lie under the home; imports nothing, for processes that must start quickly."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

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
