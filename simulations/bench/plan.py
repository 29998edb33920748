"""What systems are asked, and over which devices: checked before anything is loaded."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from fedrag_flwr.errors import SettingError, SourceError
from fedrag_flwr.settings import Plain, Settings, fedrag_home

Setting = Literal["local", "federated"]
Split = Literal["dev", "train"]
DEPARTMENTS = ("demo", "guides")  # sets whose documents lie at five departments already
_OPTIONS = {"seed": "--seed", "federation.devices": "--devices", "data.split": "--split", "data.limit": "--questions"}


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """One set of questions over some devices."""

    data: Path  # A multi-hop file, whose name before its first dot is the set's; or the questions of `DEPARTMENTS`
    systems: tuple[str, ...]  # names of the systems, in the order of the tables
    # ``local``: each question's home holds all its gold documents. ``federated``: documents are dealt to devices at
    # random
    setting: Setting = "local"
    devices: int = 5  # number of devices
    questions: int = 40  # questions that are asked
    seed: int = 7  # fixes the dealing, and is the seed of all settings
    changes: Mapping[str, Plain] = field(default_factory=dict)  # settings that differ from the defaults
    after: int = 0  # rows of a multi-hop file that are passed over, such as those that earlier tables asked
    split: Split = "dev"  # rows that are asked: ``train`` to choose settings, ``dev`` to report

    def __post_init__(self) -> None:
        for name, value, allowed in (("setting", self.setting, Setting), ("split", self.split, Split)):
            if value not in get_args(allowed):
                raise SettingError(f"'{value}' is not allowed", where=name, fix=" or ".join(get_args(allowed)))
        if told := sorted(_OPTIONS.keys() & self.changes.keys()):
            fix = f"give {', '.join(dict.fromkeys(_OPTIONS[key] for key in told))} instead"
            raise SettingError("has an option of its own", where=", ".join(told), fix=fix)
        if self.after < 0:
            raise SettingError("must be at least 0", where="after", fix="give 0 or more")
        if self.devices < 1 or self.questions < 1:
            raise SettingError("must be at least 1", where="devices, questions", fix="give positive numbers")
        if not self.data.is_file():
            fix = "name a multi-hop file such as hotpotqa.jsonl.gz, or one of the data folder such as hotpotqa"
            raise SourceError("is not a file", where=self.data.name, fix=fix)

    @property
    def dataset(self) -> str:
        """The set's name."""
        return self.data.parent.name if self.data.name == "questions.jsonl" else self.data.name.partition(".")[0]

    @property
    def told(self) -> dict[str, Plain]:
        """What decides the answers to all questions, beside the settings."""
        return {
            "data": hashlib.sha256(self.data.read_bytes()).hexdigest()[:12],
            "setting": self.setting,
            "devices": self.devices,
            "questions": self.questions,
            "seed": self.seed,
            "split": self.split,
            "after": self.after,
        }

    @property
    def digest(self) -> str:
        """What all rows of one run share; systems may join later."""
        settings = {key: value for key, value in self.base().flat().items() if key not in ("home", "results")}
        return hashlib.sha256(json.dumps([self.told, settings], sort_keys=True).encode()).hexdigest()[:12]

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
            "fedrag.without": "cache",
            "overlay.cache-similarity": 1.1,
            "caching.bytes": 0,
            "hybrid.report": "none",
            "privacy.export": "none",
            "privacy.public-names": "",
            "privacy.share-documents": True,
            "federation.devices": self.devices,
            "federation.round-timeout": 36_000.0,
            "routing.quota": 1_000_000,  # it outlives a run, and systems share it
            "data.split": self.split,
            "data.limit": 0,
        }
        return Settings.from_config({**needed, **self.changes})


def named(told: str, known: Sequence[str], what: str = "system") -> tuple[str, ...]:
    """Read a list of systems, or of something else, separated by commas.

    Raises SettingError: one of them is not known, or there is none; names those that are known.
    """
    names = tuple(dict.fromkeys(name.strip() for name in told.split(",") if name.strip()))
    for name in names or ("",):
        if name not in known:
            raise SettingError(f"'{name}' is not a {what}", where=f"{what}s", fix=f"choose from {', '.join(known)}")
    return names
