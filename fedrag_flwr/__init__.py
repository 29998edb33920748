"""Federated retrieval-augmented generation on the edge.

    from fedrag_flwr import Device, Federation

`Device` keeps documents and answers questions over them; `Federation` runs a strategy over several devices in this
process. Both are loaded when they are first used, so that this import is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedrag_flwr.api.answer import Answer as Answer
    from fedrag_flwr.api.device import Device as Device
    from fedrag_flwr.api.federation import Federation as Federation
    from fedrag_flwr.settings import Settings as Settings

__version__ = "0.1.0"
__all__ = ["Answer", "Device", "Federation", "Settings", "__version__"]

_PLACES = {
    "Answer": "fedrag_flwr.api.answer",
    "Device": "fedrag_flwr.api.device",
    "Federation": "fedrag_flwr.api.federation",
    "Settings": "fedrag_flwr.settings",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
