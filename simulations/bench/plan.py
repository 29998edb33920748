"""What a benchmark runs: data, systems, setting and settings, checked before anything is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from fedrag_flwr.errors import SettingError, SourceError
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.sources.benchmark import corpus_of
from fedrag_flwr.sources.hub import PREFIX

Setting = Literal["local", "federated", "pool"]
Split = Literal["dev", "train"]
_OPTIONS = {"seed": "--seed", "federation.devices": "--devices", "data.split": "--split", "data.limit": "--questions"}


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """One benchmark.

    Parameters
    ----------
    data
        Multi-hop files, or sets on the hub; the dataset's name is the file's before its first dot.
    systems
        Names of the systems, in the order of the tables.
    setting
        ``local``: each question's home holds all its gold documents. ``federated``: documents are dealt to devices at
        random. ``pool``: one device holds a pool shared by all questions.
    devices
        Number of devices; one in the pool setting.
    questions
        Questions of each dataset.
    seed
        Fixes the dealing, and is the seed of all settings.
    changes
        Settings that differ from the defaults.
    split
        Rows that are asked: ``train`` to choose settings, ``dev`` to report.
    """

    data: tuple[Path, ...]
    systems: tuple[str, ...]
    setting: Setting = "local"
    devices: int = 5
    questions: int = 40
    seed: int = 7
    changes: Mapping[str, Plain] = field(default_factory=dict)
    split: Split = "dev"

    def __post_init__(self) -> None:
        if self.setting not in get_args(Setting):
            raise SettingError(f"'{self.setting}' is not a setting", where="setting", fix="local, federated or pool")
        if self.split not in get_args(Split):
            raise SettingError(f"'{self.split}' is not a split", where="split", fix="dev or train")
        if self.setting == "pool" and self.split != "dev":
            raise SettingError("a pool's questions have no split", where="split", fix="leave it out")
        if told := sorted(_OPTIONS.keys() & self.changes.keys()):
            fix = f"give {', '.join(dict.fromkeys(_OPTIONS[key] for key in told))} instead"
            raise SettingError("has an option of its own", where=", ".join(told), fix=fix)
        if self.devices < 1 or self.questions < 1:
            raise SettingError("must be at least 1", where="devices, questions", fix="give positive numbers")
        if not self.systems or len(set(self.systems)) != len(self.systems):
            raise SettingError("name each system once", where="systems", fix="give names separated by commas")
        if len({dataset_of(path) for path in self.data}) != len(self.data) or not self.data:
            raise SourceError("name each dataset once", where="data", fix="give --data FILE for each dataset")
        for path in self.data:
            if not path.is_file() and not str(path).startswith(PREFIX):
                raise SourceError(
                    "is not a file", where=path.name, fix="name a multi-hop file such as hotpotqa.jsonl.gz"
                )

    @property
    def digest(self) -> str:
        """What all rows of one results folder must share: everything but the systems, of which more may join later."""
        told = {
            "data": self.hashes(),
            "setting": self.setting,
            "devices": self.devices,
            "questions": self.questions,
            "seed": self.seed,
            "split": self.split,
            "settings": {key: value for key, value in self.base().flat().items() if key not in ("home", "results")},
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    @property
    def home(self) -> Path:
        """Where the devices of benchmarks live."""
        return fedrag_home(str(self.changes.get("home", ""))) / "bench"

    def base(self) -> Settings:
        """The settings of all systems: the defaults, what a benchmark needs, and the changes.

        The text is public, so nothing is masked; no answer is given again, and no cache of generations or of what the
        server reads is in use, and no row's answers have a report beside them, so that every second is measured.
        """
        needed: dict[str, Plain] = {
            "seed": self.seed,
            "models.generation-cache": False,
            "fedrag.cache": False,
            "overlay.cache-similarity": 1.1,
            **dict.fromkeys(("caching.summaries", "caching.inputs", "caching.answers", "caching.hot"), 0),
            "hybrid.report": "none",
            "privacy.export": "none",
            "privacy.public-names": "",
            "privacy.share-documents": True,
            "federation.devices": self.devices if self.setting != "pool" else 1,
            "federation.round-timeout": 36_000.0,
            "federation.poll-seconds": 0.001,
            "routing.quota": 1_000_000,  # it outlives a run, and systems share it
            "data.split": self.split,
            "data.limit": 0,
        }
        return Settings.from_config({**needed, **self.changes})

    def hashes(self) -> dict[str, str]:
        """The start of the SHA-256 of each dataset's file, with a pool's corpus after it; on the hub, of its name."""
        return {dataset_of(path): "+".join(map(_hash, self._files(path))) for path in self.data}

    def told(self) -> dict[str, object]:
        """The plan as JSON values, with data by name and hash."""
        return {**asdict(self), "data": self.hashes(), "digest": self.digest}

    def _files(self, path: Path) -> tuple[Path, ...]:
        return (path, corpus_of(path)) if self.setting == "pool" else (path,)


def dataset_of(path: Path) -> str:
    """A dataset's name: its file's, before the first dot."""
    return path.name.partition(".")[0].replace(":", "-")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.is_file() else str(path).encode()).hexdigest()[:12]


def named(systems: str, known: Sequence[str], what: str = "system") -> tuple[str, ...]:
    """Read a list of systems, or of something else, separated by commas.

    Raises
    ------
    SettingError
        One of them is not known; names those that are.
    """
    names = tuple(dict.fromkeys(name.strip() for name in systems.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise SettingError(f"'{name}' is not a {what}", where=f"{what}s", fix=f"choose from {', '.join(known)}")
    return names
