"""Which device a Flower node is, what it decides by itself, and the models that devices of one process share."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from flwr.app import Context

from fedrag_flwr.controlling import TrainingQuestion
from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.settings import ModelSettings, Plain, Settings, fedrag_home
from fedrag_flwr.toolbox import Toolbox, load_toolbox

STRICTNESS = ("none", "type-masking", "ldp")  # of privacy.export, the laxest first
EXCHANGES = ("plain", "download", "encrypted")  # the most open first
OWN = {  # node config key -> the setting that it decides
    "home": "home",
    "model-path": "models.generator",
    "export": "privacy.export",
    "public-names": "privacy.public-names",
    "partition": "privacy.partition",
    "group-size": "privacy.group-size",
    "epsilon": "privacy.epsilon",
    "budget": "privacy.budget",
    "share-documents": "privacy.share-documents",
    "exchange": "exchange",
    "operators": "privacy.operators",
    "outbox": "serving.outbox",
}


@cache
def _toolbox(models: ModelSettings, home: Path) -> Toolbox:
    return load_toolbox(models, home)


@cache
def _settings(flat: frozenset[tuple[str, Plain]]) -> Settings:
    return Settings.from_config(dict(flat))


def settings_of(context: Context) -> Settings:
    """The run's settings."""
    return _settings(frozenset(context.run_config.items()))


def local_settings(settings: Settings, node_config: Mapping[str, Plain]) -> Settings:
    """The settings under which a device takes part in a run: its own, where its node config has some, else the run's.

    The run may ask for a stricter export or exchange than the device's, never for a laxer one. A deployed device (one
    with a ``data-path`` or ``sources``) has an own value for everything that its privacy rests on, also where its node
    config is silent: type masking, no public names, the demo's partition, and no larger epsilon and budget nor smaller
    groups than the program's defaults; and its home is never the run's to choose, as surrogates and spent budgets are
    kept there.

    Raises
    ------
    SettingError
        A value in the node config is not allowed.
    """
    own = {setting: node_config[key] for key, setting in OWN.items() if key in node_config}
    if is_deployed(node_config):
        own = _unless_told(settings) | own
    try:
        local = Settings.from_config(settings.flat() | own)
    except SettingError as error:
        raise SettingError(error.what, where="node config", fix=f"it may hold {', '.join(OWN)}") from None
    exchange = max(local.exchange, settings.exchange, key=EXCHANGES.index)
    export = max(local.privacy.export, settings.privacy.export, key=STRICTNESS.index)
    operators = ", ".join(dict.fromkeys([*local.privacy.further, *settings.privacy.further]))  # neither takes one away
    stricter: dict[str, Plain] = {"exchange": exchange, "privacy.export": export, "privacy.operators": operators}
    return Settings.from_config(local.flat() | stricter)


def _unless_told(settings: Settings) -> dict[str, Plain]:
    """What a deployed device holds to where its node config says nothing."""
    asked, usual = settings.privacy, Settings().privacy
    return {
        "home": "",
        "privacy.export": usual.export,
        "privacy.public-names": "",
        "privacy.partition": usual.partition,
        "privacy.group-size": max(asked.group_size, usual.group_size),
        "privacy.epsilon": min(asked.epsilon, usual.epsilon),
        "privacy.budget": min(asked.budget, usual.budget),
        "privacy.share-documents": False,
        "privacy.operators": "",
        "serving.outbox": False,
        "overlay.epsilon": min(settings.overlay.epsilon, Settings().overlay.epsilon),
        "privacy.erasure-keep": max(asked.erasure_keep, usual.erasure_keep),
    }


def is_deployed(node_config: Mapping[str, Plain]) -> bool:
    """Whether a node is a device with documents of its own, and not one of a simulation."""
    return "data-path" in node_config or "sources" in node_config


def device_of(context: Context) -> EdgeDevice:
    """Open the device that a node is.

    A deployed node names its device and its documents in its node config (``device-name``, ``data-path``, and
    ``sources``: databases, graphs and mapping files, separated by spaces); in the simulation engine node i is the i-th
    folder under ``data.root``.
    """
    settings = local_settings(settings_of(context), context.node_config)
    name = device_name(context)
    root = deployed_root(settings, name) if is_deployed(context.node_config) else store_root(settings, name)
    toolbox = _toolbox(settings.models, fedrag_home(settings.home))
    sources = shlex.split(str(context.node_config.get("sources", "")))
    return EdgeDevice(name, _documents(context), root, settings, toolbox, sources)


def training_questions(context: Context) -> list[TrainingQuestion]:
    """A device's own training questions, read at the device.

    A deployed one names their file in its node config (``training-questions``), if it has any; a simulated one has
    those of the run's questions that are asked at its home.

    Raises
    ------
    SourceError
        The file is missing or malformed.
    """
    name, deployed = device_name(context), is_deployed(context.node_config)
    if deployed and "training-questions" not in context.node_config:
        return []
    asked = settings_of(context).data.questions
    path = str(context.node_config["training-questions"]) if deployed else asked
    gold = read_gold(QUESTIONS if path == "demo" else Path(path).expanduser())
    return [
        TrainingQuestion(question.text, question.documents)
        for question in gold
        if question.split == "train" and (deployed or question.home == name)
    ]


def device_name(context: Context) -> str:
    """A node's device name: its own, or its folder's; a spare node of a simulation is called after its number."""
    if "device-name" in context.node_config:
        return str(context.node_config["device-name"])
    if is_deployed(context.node_config):
        if "data-path" not in context.node_config:
            raise SettingError("a device without a data-path needs a name", where="device-name", fix="set device-name")
        return Path(str(context.node_config["data-path"])).name
    folders, index = _folders(context)
    return folders[index].name if index < len(folders) else f"spare-{index}"


def store_root(settings: Settings, name: str) -> Path:
    """Where a simulated device keeps its store: under the home, apart for each set of documents."""
    return fedrag_home(settings.home) / "devices" / settings.data_key / name


def deployed_root(settings: Settings, name: str) -> Path:
    """Where a deployed device keeps its store: where `fedrag build` and `ask` look for it, whatever a run is over."""
    return fedrag_home(settings.home) / "devices" / "local" / name


def _documents(context: Context) -> Path | None:
    if is_deployed(context.node_config):
        path = context.node_config.get("data-path")
        return None if path is None else Path(str(path)).expanduser()
    folders, index = _folders(context)
    return folders[index] if index < len(folders) else None


def _folders(context: Context) -> tuple[list[Path], int]:
    data = settings_of(context).data.root
    root = CORPUS if data == "demo" else Path(data).expanduser()
    if not root.is_dir():
        raise SettingError("the folder of the devices' documents is not there", where="data.root", fix="name a folder")
    folders = sorted(path for path in root.iterdir() if path.is_dir())
    return folders, int(str(context.node_config.get("partition-id", 0)))
