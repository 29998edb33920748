"""Which device a node of a federation is, what it decides by itself, and the models that devices of a process share."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError, SettingError
from fedrag_flwr.home_paths import deployed_name, deployed_root, fedrag_home, is_deployed
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.settings import OWN, ModelSettings, Plain, Settings, device_part

if TYPE_CHECKING:
    from fedrag_flwr.retrieval.device_controller import TrainingQuestion

NodeConfig = Mapping[str, Plain]
_KEPT = 16  # runs whose settings are known, and sets of models
ANSWERS = ("unmasked", "all", "waiting")  # of privacy.answers, the most open first
EXCHANGES = ("plain", "auto", "download", "encrypted")  # the most open first
SHARES = ("text", "vector", "sealed")  # of graph.share, the most open first


@lru_cache(maxsize=_KEPT)
def _models(models: ModelSettings, home: Path) -> Models:
    return load_models(models, home)


@lru_cache(maxsize=_KEPT)
def _settings(flat: frozenset[tuple[str, Plain]]) -> Settings:
    return Settings.from_config(dict(flat))


@lru_cache(maxsize=_KEPT)
def _reconciled(run: frozenset[tuple[str, Plain]], own: frozenset[tuple[str, Plain]]) -> Settings:
    return local_settings(_settings(run), dict(own))


def local_settings(settings: Settings, node_config: NodeConfig) -> Settings:
    """The settings under which a device takes part in a run: its own, where its node config has some, else the run's;
    raises SettingError where a value in the node config is not allowed.

    The run may ask for a stricter exchange or form of summaries than the device's, never for a laxer one, and for an
    export where the device's is ``none``: of masking and surrogates neither shows less of every name. A deployed device
    (one with a ``data-path`` or ``sources``) has an own value for what its memory is made with and how its people are
    answered (`is_of_device`), and for everything that its privacy rests on, also where its node config is silent: type
    masking, no public names, the demo's partition, no larger epsilon and budget nor smaller groups than the program's
    defaults, answers to its own people alone, and no completions kept. Its home is never the run's to choose, as
    surrogates and spent budgets are kept there.
    """
    own = device_part(node_config)
    own |= {setting: node_config[key] for key, setting in OWN.items() if key in node_config}
    if is_deployed(node_config):
        own = _unless_told(settings) | own
    try:
        local = Settings.from_config(settings.flat() | own)
    except SettingError as error:
        raise SettingError(error.what, where="node config", fix=f"it may hold {', '.join(OWN)}") from None
    exchange = max(local.exchange, settings.exchange, key=EXCHANGES.index)
    export = settings.privacy.export if local.privacy.export == "none" else local.privacy.export
    operators = ", ".join(dict.fromkeys([*local.privacy.further, *settings.privacy.further]))  # neither takes one away
    stricter: dict[str, Plain] = {
        "exchange": exchange,
        "graph.share": max(local.graph.share, settings.graph.share, key=SHARES.index),
        "privacy.export": export,
        "privacy.answers": max(local.privacy.answers, settings.privacy.answers, key=ANSWERS.index),
        "privacy.operators": operators,
    }
    return Settings.from_config(local.flat() | stricter)


def _unless_told(settings: Settings) -> dict[str, Plain]:
    """What a deployed device holds to where its node config says nothing."""
    asked, shipped = settings, Settings()
    told, usual = asked.privacy, shipped.privacy
    return {
        **device_part(shipped.flat()),
        "home": "",
        "privacy.export": usual.export,
        "privacy.public-names": "",
        "privacy.partition": usual.partition,
        "privacy.group-size": max(told.group_size, usual.group_size),
        "privacy.epsilon": min(told.epsilon, usual.epsilon),
        "privacy.budget": min(told.budget, usual.budget),
        "privacy.share-documents": False,
        "privacy.other-languages": False,
        "privacy.answers": "waiting",
        "privacy.lookup": False,
        "models.generation-cache": False,
        "privacy.operators": "",
        "serving.outbox": False,
        "overlay.epsilon": min(asked.overlay.epsilon, shipped.overlay.epsilon),
        "overlay.topics": "learnt"
        if asked.overlay.topics == "learnt"
        else "shipped",  # never a file of the run's choice
        "retrieval.weights": "trained" if asked.retrieval.weights == "trained" else "shipped",
    }


def sources_of(node_config: NodeConfig) -> list[str]:
    """The sources that a node's config names; raises SettingError where a quote is not closed."""
    try:
        return shlex.split(str(node_config.get("sources", "")))
    except ValueError:
        raise SettingError("a quote is not closed", where="sources", fix="quote a path that has one") from None


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a federation as a device: its own config, and the settings of the run that asks.

    A deployed node names its device and its documents in its config (``device-name``, ``data-path``, and ``sources``:
    databases, graphs and mapping files, separated by spaces); in the simulation engine node i is the i-th folder under
    ``data.root`` that is not hidden.
    """

    own: NodeConfig  # the node's config
    run: NodeConfig  # the run's settings, flat
    number: int = 0  # the node's id, by which a device is called that its settings do not name

    @property
    def asked(self) -> Settings:
        """The run's settings."""
        return _settings(frozenset(self.run.items()))

    @property
    def settings(self) -> Settings:
        """The settings under which the device takes part."""
        return _reconciled(frozenset(self.run.items()), frozenset(self.own.items()))

    def device(self) -> EdgeDevice:
        """Open the device that the node is."""
        settings = self.settings
        return self.opened(settings, _models(settings.models, fedrag_home(settings.home)))

    def opened(self, settings: Settings, models: Models) -> EdgeDevice:
        """Open the device under these settings, with these models."""
        name = self.device_name()
        home = fedrag_home(settings.home)
        root = deployed_root(home, name) if is_deployed(self.own) else store_root(settings, name)
        return EdgeDevice(name, self._documents(), root, settings, models, sources_of(self.own))

    def name(self) -> str:
        """What the device is called in replies, also where its settings are wrong."""
        try:
            return self.device_name()
        except FedragError:
            return f"node {self.number}"

    def device_name(self) -> str:
        """The device's name: its own, or its folder's; a spare node of a simulation is called after its number; raises
        SettingError where the node's config, or the run's settings, do not say.
        """
        if told := deployed_name(self.own):
            return told
        if is_deployed(self.own):
            raise SettingError("a device without a data-path needs a name", where="device-name", fix="set device-name")
        folders, index = self.folders(), self._place
        return folders[index].name if index < len(folders) else f"spare-{index}"

    def training_questions(self) -> list[TrainingQuestion]:
        """The device's own training questions, read at the device; raises SourceError where the file is missing or
        malformed.

        A deployed one names their file in its node config (``training-questions``), if it has any; a simulated one has
        those of the run's questions that are asked at its home.
        """
        from fedrag_flwr.evaluation.gold import read_gold
        from fedrag_flwr.retrieval.device_controller import TrainingQuestion

        name, deployed = self.device_name(), is_deployed(self.own)
        if deployed and "training-questions" not in self.own:
            return []
        path = str(self.own["training-questions"]) if deployed else self.asked.data.questions
        gold = read_gold(QUESTIONS if path == "demo" else Path(path).expanduser())
        return [
            TrainingQuestion(question.text, question.documents)
            for question in gold
            if question.split == "train" and (deployed or question.home == name)
        ]

    def _documents(self) -> Path | None:
        if is_deployed(self.own):
            path = self.own.get("data-path")
            return None if path is None else Path(str(path)).expanduser()
        folders, index = self.folders(), self._place
        return folders[index] if index < len(folders) else None

    @property
    def _place(self) -> int:
        """Which of the folders a simulated device has."""
        return int(str(self.own.get("partition-id", 0)))

    def folders(self) -> list[Path]:
        """The folders of a simulation's devices, in the order of their numbers; raises SettingError where there is no
        such folder.
        """
        data = self.asked.data.root
        root = CORPUS if data == "demo" else Path(data).expanduser()
        if not root.is_dir():
            raise SettingError(
                "the folder of the devices' documents is not there", where="data.root", fix="name a folder"
            )
        return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


def store_root(settings: Settings, name: str) -> Path:
    """Where a simulated device keeps its store: under the home, apart for each set of documents."""
    return fedrag_home(settings.home) / "devices" / settings.data_key / name
