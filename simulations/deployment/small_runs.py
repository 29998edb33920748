"""Small runs over the demo's corpus: the same settings for a deployed federation and for a simulated one."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedrag_flwr.evaluation.results import read_answers
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.settings import Plain, Settings
from server_app.run import run_systems
from simulations.fixtures.demo_home import NAMES
from simulations.fixtures.simulated import simulated

STRATEGIES = ("memory-fusion", "summary-routing", "topic-walk", "hybrid-fusion")
_ANSWERING: dict[str, Plain] = {  # of a deployed device its own to decide, of a simulated one the run's
    "models.generator": "smollm2-135m",
    "models.context-tokens": 2048,
    "memory.tokens-per-kilotoken": 0,
    "inference.max-answer-tokens": 8,
    "inference.abstain-below": 0.0,  # SmolLM2 is seldom sure
}


def node_configs(data: Path) -> dict[str, dict[str, Plain]]:
    """What each deployed device is told: its documents, whose names are public in the demo, and how it answers."""
    own: dict[str, Plain] = {"public-names": "demo", "answers": "all", "lookup": True, **_ANSWERING}
    return {name: {"data-path": str(data / name), **own} for name in NAMES}


def small_config(strategy: str, questions: int) -> dict[str, Plain]:
    """The settings of a run that is as small as a run can be with all phases in it."""
    own: dict[str, Plain] = {
        "strategy": strategy,
        "baselines": "",
        "hybrid.report": "extractive",
        "privacy.answers": "all",  # masked, as deployed devices give them
        "data.limit": questions,
    }
    return {**_ANSWERING, **own}


def simulate(config: Mapping[str, Plain], data: Path, root: Path, run_id: int) -> list[AnswerRow]:
    """The same run in the in-process grid, over simulated devices whose stores are under `root`; gives its answers."""
    logging.getLogger("flwr").setLevel(logging.WARNING)
    places = {"home": str(root / "home"), "results": str(root / "results"), "data.root": str(data)}
    settings = Settings.from_config({**config, **places})
    grid = simulated(settings, devices=len(NAMES), run_id=run_id)
    return read_answers(run_systems(grid, str(run_id), settings))


def differing(ours: Sequence[AnswerRow], theirs: Sequence[AnswerRow]) -> list[str]:
    """The questions, by system, whose answers differ in their words or their path, or which one side lacks."""
    told, known = ({(one.system, one.question_id): (one.answer, one.path) for one in rows} for rows in (ours, theirs))
    return sorted(" ".join(name) for name in told.keys() | known.keys() if told.get(name) != known.get(name))
