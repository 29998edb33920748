"""One dataset as a benchmark sees it: documents on devices, questions with homes, and the devices' files."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.nodes import store_root
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from simulations.answers.sets import departments, rows_after
from simulations.bench.plan import DEPARTMENTS, BenchPlan
from simulations.corpora.partition import Partition, partition_documents, write_partition
from simulations.fixtures.kept_devices import notes_of

_BUILDING = (
    *("hypergraph.", "graph.", "memory.tokens-per-kilotoken"),
    *("models.encoder", "models.pipeline", "models.generator"),
)
_MORE = 1.25  # times so many rows are read in the local setting, as some questions cannot have all gold at one home


@dataclass(frozen=True, slots=True)
class Fixture:
    """One dataset on its devices."""

    name: str  # the dataset's
    settings: Settings  # of all systems
    partition: Partition  # documents by device, questions with homes
    gold: tuple[GoldQuestion, ...]  # the questions that are asked
    # the folder of what is found: what walks teach the devices is kept for each such folder apart
    results: Path = Path()

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices' names."""
        return tuple(self.partition.documents)

    @property
    def models(self) -> Models:
        """The models; equal calls give the same ones."""
        return load_models(self.settings.models, fedrag_home(self.settings.home))

    def device(self, name: str, changes: Mapping[str, Plain] | None = None) -> EdgeDevice:
        """Open a device under changed settings; with a store of its own where these change what is built."""
        changed = changes or {}
        settings = Settings.from_config({**self.settings.flat(), **changed})
        root = store_root(self.settings, name)
        if built := [f"{key}={value}" for key, value in sorted(changed.items()) if key.startswith(_BUILDING)]:
            root = root.with_name(f"{name}@{'-'.join(built)}")
        return EdgeDevice(name, Path(settings.data.root) / name, root, settings, self.models)

    def forget(self) -> None:
        """Let no system profit from one before it that asked the same: no prompt is kept."""
        generator = self.models.generator()
        if isinstance(generator, LlamaGenerator):
            generator.forget_prompt()

    def walker(self, system: str) -> str:
        """Under which name the devices note what a system's walks for these results teach them."""
        return f"{system}-{hashlib.sha256(str(self.results.resolve()).encode()).hexdigest()[:6]}"

    def forget_walks(self, system: str) -> None:
        """Take from the devices what a system's walks for earlier such results taught them, over the same questions."""
        for name in self.devices:
            for notes in store_root(self.settings, name).glob(f"{notes_of(self.walker(system))}*"):
                notes.unlink(missing_ok=True)


def make_fixture(plan: BenchPlan, results: Path = Path()) -> Fixture:
    """Read a plan's set, deal its documents as the setting asks, and write the devices' files.

    `plan`: what to run; `results`: the folder of what is found.
    Raises SourceError: the file holds too few such questions.
    """
    partition = _dealt(plan)
    questions = partition.questions[: plan.questions]
    told = "-".join(map(str, plan.told.values()))
    root = plan.home / f"{plan.dataset}-{told}-{build_digest(plan.base())}"
    write_partition(root, replace(partition, questions=questions))
    settings = Settings.from_config(
        {
            **plan.base().flat(),
            "home": str(plan.home),
            "data.root": str(root),
            "data.questions": str(root / "questions.jsonl"),
        }
    )
    return Fixture(plan.dataset, settings, partition, questions, results)


def _dealt(plan: BenchPlan) -> Partition:
    """Documents by device and questions with homes, as a plan's setting asks."""
    if plan.dataset in DEPARTMENTS:
        split = "train" if plan.split == "train" else "test"
        return departments(plan.dataset, plan.data.parents[1], split)
    local = plan.setting == "local"
    most = math.ceil(plan.questions * _MORE) if local else plan.questions
    benchmark = rows_after(plan.data, plan.split, plan.after, most)
    if not benchmark.questions:
        raise SourceError(f"has no more than {plan.after} rows", where=plan.data.name, fix="pass over fewer rows")
    partition = partition_documents(benchmark, plan.devices, plan.seed, 0.0 if local else None)
    questions = partition.questions
    if local:
        questions = tuple(question for question in questions if question.question_id in partition.local)
        if len(questions) < plan.questions:
            raise SourceError(
                f"has {len(questions)} questions whose gold fits on one device, {plan.questions} were asked for",
                where=plan.data.name,
                fix="ask for fewer questions or fewer devices",
            )
    return replace(partition, questions=questions)


def build_digest(settings: Settings) -> str:
    """What decides what a build makes of the same documents: stores of other settings lie apart."""
    told = {key: value for key, value in settings.flat().items() if key.startswith(_BUILDING)}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:6]
