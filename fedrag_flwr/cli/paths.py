"""Paths among settings: what runs later works in a folder of its own, so it is told them in full."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fedrag_flwr.models.registry import REGISTRY
from fedrag_flwr.nodes import OWN
from fedrag_flwr.settings import AUTO, Plain

PATH_SETTINGS = frozenset(
    {
        "home",
        "models.encoder",
        "models.generator",
        "models.late-interaction",
        "models.pipeline",
        "server.generator",
        "privacy.partition",
        "privacy.public-names",
        "retrieval.weights",
        "overlay.edges",
        "overlay.topics",
        "data.root",
        "data.questions",
    }
)
_PATHS = (
    PATH_SETTINGS
    | {key for key, setting in OWN.items() if setting in PATH_SETTINGS}
    | {"data-path", "training-questions"}
)
# what else may stand there
_WORDS = frozenset({"", AUTO, "demo", "demo-strong", "shipped", "trained", "learnt", *REGISTRY})


def in_full(config: Mapping[str, Plain]) -> dict[str, Plain]:
    """A run's or a device's config, its relative paths in full where they name something in the working directory."""
    return {key: _full(value) if key in _PATHS and isinstance(value, str) else value for key, value in config.items()}


def _full(value: str) -> str:
    here = Path.cwd() / value
    relative = value not in _WORDS and not Path(value).is_absolute()
    return str(here.resolve()) if relative and os.path.exists(here) else value
