"""Bad sources, models and settings, each with what it gives."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import numpy as np

from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.load import load_generator
from fedrag_flwr.models.registry import REGISTRY
from fedrag_flwr.settings import Settings
from simulations.worlds.bad_input_world import SETTINGS, TEXT, Bench, Shown, caught
from strategies import ServerTools, make_strategy


def empty_folder(bench: Bench) -> Shown:
    with bench.device() as device:
        return caught(device.build)


def missing_folder(bench: Bench) -> Shown:
    with bench.device() as device:
        assert device.documents is not None
        device.documents.rmdir()
        return caught(device.build)


def wrong_encoding_only(bench: Bench) -> Shown:
    with bench.device(paper__txt="Pollern in Österreich".encode("utf-16")) as device:
        return caught(device.build)


def unreadable_file_only(bench: Bench) -> Shown:
    """A dangling link: nobody can open it, not even root."""
    with bench.device() as device:
        assert device.documents is not None
        (device.documents / "paper.txt").symlink_to(device.documents / "gone.txt")
        return caught(device.build)


def one_bad_document(bench: Bench) -> Shown:
    """The rest is built; the report names the bad one."""
    with bench.device(
        paper__txt=TEXT.encode(), other__txt=b"\xff\xfe\x00Wimmersbach", note__pdf=b"%PDF-1.7 torn"
    ) as device:
        report = device.build()
    assert report.documents == 1
    assert len(report.failed) == 2
    name, _, reason = report.failed[1].partition(": ")
    what, _, fix = reason.partition(" (")
    return Shown("BuildReport.failed", what, name, fix.rstrip(")"))


# --- models and settings ----------------------------------------------------------------------------


def model_missing(bench: Bench) -> Shown:
    return caught(lambda: load_generator(str(bench.root / "none.gguf")))


def model_unknown_encoder(bench: Bench) -> Shown:
    return caught(
        lambda: load_models(SETTINGS.models.model_copy(update={"encoder": str(bench.root / "none")}), bench.root)
    )


def model_wrong_hash(bench: Bench) -> Shown:
    """A file of the right name in the model cache, with other bytes."""
    with _environment(FEDRAG_HOME=str(bench.root)):
        model = REGISTRY["qwen2.5-coder-0.5b"]
        (bench.root / "models").mkdir(parents=True)
        (bench.root / "models" / model.file).write_bytes(b"GGUF" + bytes(1000))
        return caught(lambda: resolve(model.name, download=False))


def model_is_no_model(bench: Bench) -> Shown:
    bench.root.mkdir(parents=True)
    file = bench.root / "noise.gguf"
    file.write_bytes(np.random.default_rng(0).bytes(4096))
    return caught(lambda: load_generator(str(file)).count_tokens("hello"))


def setting_out_of_range(bench: Bench) -> Shown:
    return caught(lambda: Settings.from_config({"memory.delta": 1.5}))


def setting_of_wrong_type(bench: Bench) -> Shown:
    return caught(lambda: Settings.from_config({"federation.devices": "five"}))


def setting_unknown(bench: Bench) -> Shown:
    return caught(lambda: Settings.from_config({"memory.gamma": 1}))


def strategy_unknown(bench: Bench) -> Shown:
    return caught(lambda: make_strategy("guess", SETTINGS, [], ServerTools(SETTINGS)))


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
