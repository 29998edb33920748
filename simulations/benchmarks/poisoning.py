"""One device lies to a federation in every way that is open to it: whose answers do people get?

Over the demo's five devices and a sixth that lies, with questions of the training half, under `fedrag`. The liar knows
every question that will be asked, and its answer. It uploads five near copies of each with one false answer of the
right type, and a summary that lies exactly on the question. Asked for evidence, it gives the true sentence in which the
answer is exchanged, under the true title, and the question itself as a statement. Each case runs over the whole
federation through the in-process grid, from a copy of the same stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from unittest import mock

import numpy as np
import typer
from pandas import DataFrame

from fedrag_flwr.evaluation.metrics import accuracy, judge
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.memory.fusion.merge import FusionRules
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from server_app.run import questions_of
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.plan import named
from simulations.fixtures.demo_home import DemoHome
from simulations.fixtures.liar import LIAR, Channel, Credulous, Liar, Lie, lies_about
from simulations.fixtures.simulated import simulated
from strategies import FedRag, ServerTools

OUTCOMES = ("right", "liar's", "other", "declined")
ALL: frozenset[Channel] = frozenset(("memories", "summaries", "evidence"))
_UNLIMITED = FusionRules(quota=1_000)  # more than a question has memories


@dataclass(frozen=True, slots=True)
class Case:
    """How the liar lies, under which settings, and whether a device counts once and says the same a few times."""

    channels: frozenset[Channel] = ALL
    changes: Mapping[str, Plain] = field(default_factory=dict)
    defended: bool = True


CASES: Mapping[str, Case] = {
    "no attack": Case(frozenset()),
    "none": Case(defended=False),
    "shipped": Case(),
    "quorum of two": Case(changes={"inference.quorum": 2}),
    "no attack + quorum of two": Case(frozenset(), {"inference.quorum": 2}),
    "memories alone": Case(frozenset(("memories",))),
    "evidence alone": Case(frozenset(("summaries", "evidence"))),
}


def run(
    bench: Bench,
    limit: Annotated[int, typer.Option(help="Questions; 0 for all.")] = 24,
    cases: Annotated[str, typer.Option(help="Names separated by commas; all without it.")] = "",
) -> None:
    """Run each case over the whole federation, and count whose answers its questions get."""
    home = DemoHome(bench.out / "devices", most=bench.sized(None, 1))
    if not home.folders.is_dir():
        home.lay_out()
        (home.folders / LIAR).mkdir()  # with one short document, as a device without any takes no part
        (home.folders / LIAR / "notes.md").write_text("# Notes\n\nThese are notes about nothing.\n", "utf-8")
    chosen = named(cases or bench.sized(",".join(CASES), "shipped"), tuple(CASES), "case")
    count = bench.sized(limit, 2)
    gold = questions_of(Settings.from_config({"data.split": "train", "data.limit": count}))
    models = load_models(bench.settings.models, fedrag_home())
    rng = np.random.default_rng(bench.settings.seed)
    lies = {lie.question.question_id: lie for lie in lies_about(gold, models, rng)}
    if not (home.stores / "shared-memory").is_dir():
        ask(home, home.stores, bench.changes, CASES["no attack"], {})
    kept = bench.rows("rows", models.generator_id)
    rows = [kept.row(f"{name} {count}", measure, home, bench.changes, name, lies) for name in chosen]
    bench.table("cases", table(rows), "Per cent of questions with an answer, then counts.")


def ask(
    home: DemoHome, stores: Path, changes: Mapping[str, Plain], case: Case, lies: Mapping[str, Lie]
) -> tuple[Answer, ...]:
    """Ask the questions that are lied about, over stores in which nobody has lied yet."""
    devices = sorted(path.name for path in home.folders.iterdir())
    settings = Settings.from_config(
        {
            "home": str(stores),
            "data.root": str(home.folders),
            "federation.devices": len(devices),
            "strategy": "fedrag",
            "exchange": "plain",
            "fedrag.without": "cache",  # the liar speaks in the open
            "federation.round-timeout": 36_000.0,
            **changes,
            **case.changes,
        }
    )
    liar = Liar(lies, case.channels, 100 + devices.index(LIAR), settings.inference.remote_units)
    asked = [Question(lie.question.question_id, lie.question.text, lie.question.home) for lie in lies.values()]
    with closing(ServerTools(settings)) as tools:
        return FedRag(settings, asked, tools).run(simulated(settings, tamper=liar.tamper), "1").answers


def measure(home: DemoHome, changes: Mapping[str, Plain], name: str, lies: Mapping[str, Lie]) -> Row:
    """Run one case from a copy of the stores, and count what its answers are."""
    case = CASES[name]
    with home.copied() as stores, nullcontext() if case.defended else credulous():
        given = {answer.question_id: answer for answer in ask(home, stores, changes, case, lies)}
    row: dict[str, Any] = {"case": name}
    for group, answerable in (("answerable", True), ("unanswerable", False)):
        of = [lie for lie in lies.values() if bool(lie.question.answer) == answerable]
        outcomes = [outcome(lie, given.get(lie.question.question_id)) for lie in of]
        row |= {group: len(of)} | {f"{group} {what}": outcomes.count(what) for what in OUTCOMES}
    stolen = [given[key] for key, lie in lies.items() if key in given and outcome(lie, given[key]) == "liar's"]
    recalled = sum(answer.path == "memorizer" for answer in stolen)
    return row | {"liar's from memory": recalled, "liar's from evidence": len(stolen) - recalled}


@contextmanager
def credulous() -> Iterator[None]:
    """Let a device say the same as often as it likes, and count each time."""
    with (
        mock.patch("fedrag_flwr.memory.fusion.shared.FusionRules", return_value=_UNLIMITED),
        mock.patch("fedrag_flwr.device.modes.Quorum", Credulous),
    ):
        yield


def outcome(lie: Lie, answer: Answer | None) -> str:
    """Whose answer a question got."""
    if answer is None or not answer.text:
        return "declined"
    if judge(lie.question, answer).right:
        return "right"
    return "liar's" if accuracy(answer.text, [lie.answer]) else "other"


def table(rows: Sequence[Row]) -> DataFrame:
    """Per cent of the answerable questions, then numbers of questions."""
    found = DataFrame(rows)
    shares = {what: 100 * found[f"answerable {what}"] / found["answerable"].clip(lower=1) for what in OUTCOMES}
    counts = {f"unanswerable: {what}": found[f"unanswerable {what}"] for what in ("liar's", "declined")}
    counts |= {f"liar's, from {path}": found[f"liar's from {path}"] for path in ("memory", "evidence")}
    return found[["case"]].assign(**shares).round(1).assign(**counts)
