"""Which device a Flower node is, and the models that devices of one process share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from flwr.app import Context

from fedrag_flwr.demo import CORPUS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SettingError
from fedrag_flwr.settings import ModelSettings, Settings, fedrag_home
from fedrag_flwr.toolbox import Toolbox, load_toolbox


@cache
def _toolbox(models: ModelSettings, home: Path) -> Toolbox:
    return load_toolbox(models, home)


@cache
def _settings(flat: frozenset[tuple[str, bool | int | float | str]]) -> Settings:
    return Settings.from_config(dict(flat))


def settings_of(context: Context) -> Settings:
    """The run's settings."""
    return _settings(frozenset(context.run_config.items()))


def device_of(context: Context) -> EdgeDevice:
    """Open the device that a node is.

    A deployed node names its device and its documents in its node config (``device-name``, ``data-path``); in the
    simulation engine node i is the i-th folder under ``data.root``.
    """
    settings = settings_of(context)
    home = fedrag_home(settings.home)
    name = device_name(context)
    return EdgeDevice(name, _documents(context), store_root(settings, name), settings, _toolbox(settings.models, home))


def device_name(context: Context) -> str:
    """A node's device name; a spare node of a simulation is called after its number."""
    if "device-name" in context.node_config:
        return str(context.node_config["device-name"])
    folders, index = _folders(context)
    return folders[index].name if index < len(folders) else f"spare-{index}"


def store_root(settings: Settings, name: str) -> Path:
    """Where a device keeps its store: under the home, apart for each set of documents."""
    return fedrag_home(settings.home) / "devices" / settings.data_key / name


def _documents(context: Context) -> Path | None:
    if "data-path" in context.node_config:
        return Path(str(context.node_config["data-path"])).expanduser()
    folders, index = _folders(context)
    return folders[index] if index < len(folders) else None


def _folders(context: Context) -> tuple[list[Path], int]:
    data = settings_of(context).data.root
    root = CORPUS if data == "demo" else Path(data).expanduser()
    if not root.is_dir():
        raise SettingError("the folder of the devices' documents is not there", where="data.root", fix="name a folder")
    folders = sorted(path for path in root.iterdir() if path.is_dir())
    return folders, int(str(context.node_config.get("partition-id", 0)))
