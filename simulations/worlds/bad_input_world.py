"""A small device to do wrong things to, and what a person is told of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.settings import Settings

TEXT = "The windmill of Pollern was built by Agathe Wimmersbach in 1803. It grinds spelt and has four sails."
SETTINGS = Settings.from_config({"memory.tokens-per-kilotoken": 0, "hypergraph.steps": 40})


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person is told of one bad input: the kind of error, what went wrong, where, and what to do."""

    error: str
    what: str
    where: str
    fix: str

    @classmethod
    def of(cls, error: FedragError) -> Shown:
        """What an error of our own says."""
        return cls(type(error).__name__, error.what, error.where, error.fix)


@dataclass(frozen=True, slots=True)
class Bench:
    """A directory to work in, and the models."""

    root: Path
    models: Models

    def device(self, name: str = "mill", settings: Settings = SETTINGS, **files: bytes) -> EdgeDevice:
        """A device with these files as its documents (``__`` stands for a dot), not built yet."""
        folder = self.root / name / "documents"
        folder.mkdir(parents=True, exist_ok=True)
        for file, raw in files.items():
            (folder / file.replace("__", ".")).write_bytes(raw)
        return EdgeDevice(name, folder, self.root / name / "store", settings, self.models)

    def built(self, name: str = "mill") -> Path:
        """The store's directory of a device that was built."""
        with self.device(name, paper__txt=TEXT.encode()) as device:
            device.build()
        return self.root / name / "store"


Case = Callable[[Bench], Shown]


def caught(act: Callable[[], object]) -> Shown:
    """Do something that must fail with one of the project's errors, and give what it says."""
    try:
        act()
    except FedragError as error:
        return Shown.of(error)
    raise AssertionError("the bad input was taken")
