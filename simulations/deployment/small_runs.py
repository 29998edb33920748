"""Small runs over the demo's corpus: the same settings for a deployed federation and for a simulated one."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from client_app.app import app
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.evaluation.results import read_answers
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.settings import Plain, Settings
from server_app.run import run_systems

DEVICES = tuple(sorted(folder.name for folder in CORPUS.iterdir() if folder.is_dir()))
STRATEGIES = ("memory-fusion", "summary-routing", "topic-walk", "hybrid-fusion")
_ANSWERING: dict[str, Plain] = {  # of a deployed device its own to decide, of a simulated one the run's
    "models.generator": "smollm2-135m",
    "models.context-tokens": 2048,
    "memory.tokens-per-kilotoken": 0,
    "inference.max-answer-tokens": 8,
    "inference.abstain-below": 0.0,  # SmolLM2 is seldom sure
}


def few_documents(root: Path, documents: int) -> Path:
    """A folder with the first documents of each of the demo's devices; gives it."""
    for name in DEVICES:
        (root / name).mkdir(parents=True)
        for document in sorted((CORPUS / name).iterdir())[:documents]:
            shutil.copy(document, root / name)
    return root


def node_configs(data: Path) -> dict[str, dict[str, Plain]]:
    """What each deployed device is told: its documents, whose names are public in the demo, and how it answers."""
    own: dict[str, Plain] = {"public-names": "demo", "answers": "all", "lookup": True, **_ANSWERING}
    return {name: {"data-path": str(data / name), **own} for name in DEVICES}


def small_config(strategy: str, questions: int) -> dict[str, Plain]:
    """The settings of a run that is as small as a run can be with all phases in it."""
    return {
        **_ANSWERING,
        "strategy": strategy,
        "baselines": "",
        "hybrid.report": "extractive",
        "data.limit": questions,
    }


def _places(data: Path, root: Path) -> dict[str, Plain]:
    return {"home": str(root / "home"), "results": str(root / "results"), "data.root": str(data)}


def simulate(config: Mapping[str, Plain], data: Path, root: Path, run_id: int) -> list[AnswerRow]:
    """The same run in the in-process grid, over simulated devices whose stores are under `root`; gives its answers."""
    logging.getLogger("flwr").setLevel(logging.WARNING)
    settings = Settings.from_config({**config, **_places(data, root)})
    nodes: list[dict[str, Plain]] = [{"partition-id": n, "num-partitions": len(DEVICES)} for n in range(len(DEVICES))]
    return read_answers(run_systems(LocalGrid(app, nodes, settings.flat(), run_id), str(run_id), settings))


def differing(ours: Sequence[AnswerRow], theirs: Sequence[AnswerRow]) -> list[str]:
    """The questions, by system, whose answers differ in their words or their path, or which one side lacks."""
    told, known = ({(one.system, one.question_id): (one.answer, one.path) for one in rows} for rows in (ours, theirs))
    return sorted(" ".join(name) for name in told.keys() | known.keys() if told.get(name) != known.get(name))
