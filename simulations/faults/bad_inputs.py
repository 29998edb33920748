"""Bad sources, models and settings: wrong things done to a small device, each with what a person is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.load import load_generator
from fedrag_flwr.models.registry import REGISTRY
from fedrag_flwr.settings import Settings
from strategies import ServerTools, make_strategy

TEXT = "The windmill of Pollern was built by Agathe Wimmersbach in 1803. It grinds spelt and has four sails."
SETTINGS = Settings.from_config({"memory.tokens-per-kilotoken": 0})


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
class Place:
    """A directory to work in, and the models."""

    root: Path
    models: Models

    def device(self, **files: bytes) -> EdgeDevice:
        """A device with these files as its documents (``__`` stands for a dot), not built yet."""
        folder = self.root / "mill" / "documents"
        folder.mkdir(parents=True, exist_ok=True)
        for file, raw in files.items():
            (folder / file.replace("__", ".")).write_bytes(raw)
        return EdgeDevice("mill", folder, self.root / "mill" / "store", SETTINGS, self.models)

    def built(self) -> Path:
        """The store's directory of a device that was built."""
        with self.device(paper__txt=TEXT.encode()) as device:
            device.build()
        return self.root / "mill" / "store"


Case = Callable[[Place], Shown]


def caught(act: Callable[[], object]) -> Shown:
    """Do something that must fail with one of the project's errors, and give what it says."""
    try:
        act()
    except FedragError as error:
        return Shown.of(error)
    raise AssertionError("the bad input was taken")


# --- sources ------------------------------------------------------------------------------------------


def _empty_folder(place: Place) -> Shown:
    with place.device() as device:
        return caught(device.build)


def _missing_folder(place: Place) -> Shown:
    with place.device() as device:
        (place.root / "mill" / "documents").rmdir()
        return caught(device.build)


def _wrong_encoding(place: Place) -> Shown:
    with place.device(paper__txt="Поллерн в Австрии".encode("cp1251")) as device:
        return caught(device.build)


def _unreadable_file(place: Place) -> Shown:
    """A dangling link: nobody can open it, not even root."""
    with place.device() as device:
        (place.root / "mill" / "documents" / "paper.txt").symlink_to("gone.txt")
        return caught(device.build)


def _bad_documents(place: Place) -> Shown:
    """The rest is built; the report names the bad ones."""
    files = {"paper__txt": TEXT.encode(), "other__txt": b"\x81\xfe\x00Wimmersbach", "note__pdf": b"%PDF-1.7 torn"}
    with place.device(**files) as device:
        report = device.build()
    assert (report.documents, len(report.failed)) == (1, 2)
    name, _, reason = report.failed[1].partition(": ")
    what, _, fix = reason.partition(" (")
    return Shown("BuildReport.failed", what, name, fix.rstrip(")"))


# --- models and settings ------------------------------------------------------------------------------


def _unknown_encoder(place: Place) -> Shown:
    models = SETTINGS.models.model_copy(update={"encoder": str(place.root / "none")})
    return caught(lambda: load_models(models, place.root))


def _wrong_hash(place: Place) -> Shown:
    """A file of the right name in the model cache, with other bytes."""
    model = REGISTRY["qwen2.5-coder-0.5b"]
    (place.root / "models").mkdir(parents=True)
    (place.root / "models" / model.file).write_bytes(b"GGUF" + bytes(1000))
    with mock.patch.dict("os.environ", FEDRAG_HOME=str(place.root)):
        return caught(lambda: resolve(model.name))


def _no_model(place: Place) -> Shown:
    place.root.mkdir(parents=True)
    file = place.root / "noise.gguf"
    file.write_bytes(np.random.default_rng(0).bytes(4096))
    return caught(lambda: load_generator(str(file)).count_tokens("hello"))


def _setting(name: str, value: float | str) -> Case:
    return lambda place: caught(lambda: Settings.from_config({name: value}))


CASES: Mapping[str, tuple[str, Case]] = {  # bad input -> the error, and how it comes about
    "a source without files": ("EmptySourceError", _empty_folder),
    "a source that is not there": ("SourceError", _missing_folder),
    "a source in a wrong encoding": ("EmptySourceError", _wrong_encoding),
    "a source that cannot be opened": ("EmptySourceError", _unreadable_file),
    "bad documents among good ones": ("BuildReport.failed", _bad_documents),
    "a model file that is missing": (
        "ModelMissingError",
        lambda place: caught(lambda: load_generator(str(place.root / "none.gguf"))),
    ),
    "an encoder that is missing": ("ModelMissingError", _unknown_encoder),
    "a model file with a wrong hash": ("ModelHashError", _wrong_hash),
    "a model file that is no model": ("ModelError", _no_model),
    "a setting out of range": ("SettingError", _setting("memory.delta", 1.5)),
    "a setting of a wrong type": ("SettingError", _setting("federation.devices", "five")),
    "an unknown setting": ("SettingError", _setting("gamma", 1)),
    "an unknown strategy": (
        "SettingError",
        lambda place: caught(lambda: make_strategy("guess", SETTINGS, [], ServerTools(SETTINGS))),
    ),
}
