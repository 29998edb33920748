"""One device lies to a federation in every way that is open to it: whose answers do people get?

Over the demo's five devices and a sixth that lies, with questions of the training half, under `fedrag`. The liar knows
every question that will be asked, and its answer. It uploads five near copies of each with one false answer of the
right type, and a summary that lies exactly on the question. Asked for evidence, it gives the true sentence in which the
answer is exchanged, under the true title, and the question itself as a statement. Each case runs over the whole
federation through the in-process grid, from a copy of the same stores.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated
from unittest import mock

import numpy as np
import pandas as pd
import typer
from pandas import DataFrame

from client_app.app import app
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.evaluation.metrics import accuracy, judge
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.memory.fusion.merge import FusionRules
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from server_app.run import questions_of
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.plan import named
from simulations.fixtures.liar import LIAR, Channel, Credulous, Liar, Lie, lies_about
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
    fixture = Fixture(bench.out / "devices", bench.changes, bench.sized(None, 1))
    fixture.lay_out()
    chosen = named(cases or bench.sized(",".join(CASES), "shipped"), tuple(CASES), "case")
    count = bench.sized(limit, 2)
    gold = questions_of(Settings.from_config({"data.split": "train", "data.limit": count}))
    settings = fixture.settings(fixture.stores, {})
    models = load_models(settings.models, fedrag_home())
    lies = {lie.question.question_id: lie for lie in lies_about(gold, models, np.random.default_rng(settings.seed))}
    if not (fixture.stores / "shared-memory").is_dir():
        fixture.run(CASES["no attack"], fixture.stores, {})
    kept = bench.rows("rows", models.generator_id)
    rows = [kept.row(f"{name} {count}", partial(measure, fixture, name, lies)) for name in chosen]
    bench.table("cases", table(rows), "Per cent of questions with an answer, then counts.")


@dataclass(frozen=True, slots=True)
class Fixture:
    """The devices' folders, and the stores that each case begins with, in one home."""

    home: Path
    changes: Mapping[str, Plain]
    most: int | None  # documents of a device

    @property
    def stores(self) -> Path:
        """The home of a federation in which nobody has lied yet."""
        return self.home / "stores"

    @property
    def devices(self) -> list[str]:
        """The devices' names in the order of the nodes."""
        return sorted(path.name for path in self.folders.iterdir())

    @property
    def folders(self) -> Path:
        """One folder a device."""
        return self.home / "devices"

    def settings(self, home: Path, changes: Mapping[str, Plain]) -> Settings:
        """Of a run over stores in this home."""
        return Settings.from_config(
            {
                "home": str(home),
                "strategy": "fedrag",
                "exchange": "plain",  # the liar speaks in the open
                "data.root": str(self.folders),
                "federation.devices": len(self.devices),
                "federation.round-timeout": 36_000.0,
                "fedrag.without": "cache",
                **self.changes,
                **changes,
            }
        )

    def lay_out(self) -> None:
        """Write the devices' folders; the liar has one short document, as a device without any takes no part."""
        if not self.folders.is_dir():
            for folder in sorted(path for path in CORPUS.iterdir() if path.is_dir()):
                (self.folders / folder.name).mkdir(parents=True)
                for path in sorted(folder.glob("*.md"))[: self.most]:
                    shutil.copy(path, self.folders / folder.name)
            (self.folders / LIAR).mkdir()
            (self.folders / LIAR / "notes.md").write_text("# Notes\n\nThese are notes about nothing.\n", "utf-8")

    def run(self, case: Case, home: Path, lies: Mapping[str, Lie]) -> tuple[Answer, ...]:
        """Ask the questions that are lied about, over the stores of this home."""
        settings = self.settings(home, case.changes)
        nodes: list[dict[str, Plain]] = [
            {"partition-id": number, "num-partitions": len(self.devices)} for number in range(len(self.devices))
        ]
        liar = Liar(lies, case.channels, 100 + self.devices.index(LIAR), settings.inference.remote_units)
        grid = LocalGrid(app, nodes, settings.flat(), tamper=liar.tamper)
        asked = [Question(lie.question.question_id, lie.question.text, lie.question.home) for lie in lies.values()]
        tools = ServerTools(settings)
        try:
            return FedRag(settings, asked, tools).run(grid, "1").answers
        finally:
            tools.close()


def measure(fixture: Fixture, name: str, lies: Mapping[str, Lie]) -> Row:
    """Run one case from a copy of the stores, and count what its answers are."""
    case = CASES[name]
    with tempfile.TemporaryDirectory(dir=fixture.home) as folder:
        home = Path(folder) / "home"
        shutil.copytree(fixture.stores, home)
        with nullcontext() if case.defended else credulous():
            answers = fixture.run(case, home, lies)
    given = {answer.question_id: answer for answer in answers}
    row: dict[str, float | str] = {"case": name}
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
    return pd.DataFrame(
        {"case": row["case"]}
        | {
            what: round(100 * float(row[f"answerable {what}"]) / max(1.0, float(row["answerable"])), 1)
            for what in OUTCOMES
        }
        | {f"unanswerable: {what}": row[f"unanswerable {what}"] for what in ("liar's", "declined")}
        | {f"liar's, from {path}": row[f"liar's from {path}"] for path in ("memory", "evidence")}
        for row in rows
    )
