"""One device lies to a federation in every way that is open to it: whose answers do people get?

Over the demo's five devices and a sixth that lies, with questions of the training half, under `fedrag`. The liar knows
every question that will be asked, and its answer. It uploads five near copies of each with one false answer of the
right type, and a summary that lies exactly on the question. Asked for evidence, it gives the true sentence in which the
answer is exchanged, under the true title, and the question itself as a statement. Each case runs over the whole
federation through the in-process grid, from a copy of the same stores.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
from flwr.app import Message, RecordDict
from pandas import DataFrame

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import accuracy, judge
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.memory.fusion.merge import FusionRules
from fedrag_flwr.memory.quorum import Quorum, Top
from fedrag_flwr.records import (
    Answer,
    Delta,
    Evidence,
    EvidenceBatch,
    EvidenceUnit,
    Match,
    MemoryItem,
    Question,
    SubgraphSummary,
    SummaryBatch,
    Vector,
)
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import QuestionAnalysis
from server_app.run import questions_of
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.fixtures.demo_home import DemoHome, titled_sentences
from simulations.fixtures.simulated import simulated
from strategies import FedRag, ServerTools

QUESTIONS = 24
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


def run(bench: Bench) -> None:
    """Run each case over the whole federation, and count whose answers its questions get."""
    home = DemoHome(bench.out / "devices", most=bench.sized(None, 1))
    if not home.folders.is_dir():
        home.lay_out()
        (home.folders / LIAR).mkdir()  # with one short document, as a device without any takes no part
        (home.folders / LIAR / "notes.md").write_text("# Notes\n\nThese are notes about nothing.\n", "utf-8")
    count = bench.sized(QUESTIONS, 2)
    gold = questions_of(Settings.from_config({"data.split": "train", "data.limit": count}))
    models = load_models(bench.settings.models, fedrag_home(bench.settings.home))
    rng = np.random.default_rng(bench.settings.seed)
    lies = {lie.question.question_id: lie for lie in lies_about(gold, models, rng)}
    if not (home.stores / "shared-memory").is_dir():
        ask(home, home.stores, bench.changes, CASES["no attack"], {})
    kept = bench.rows("rows", models.generator_id)
    chosen = bench.sized(tuple(CASES), ("shipped",))
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


LIAR = "liar"
WORDINGS = ("{}", "So, {}", "Tell me: {}", "{} Please answer.", "Well, {}")
Channel = Literal["memories", "summaries", "evidence"]


@dataclass(frozen=True, slots=True)
class Lie:
    """A question with a false answer, and sentences, each under a title, that tell it."""

    question: GoldQuestion
    analysis: QuestionAnalysis
    vector: Vector
    answer: str
    sentences: tuple[tuple[str, str], ...]

    def memories(self) -> list[MemoryItem]:
        """Near copies of the question with the false answer; anchors and vector are the question's own."""
        kind = self.analysis.answer_type
        anchors = item_anchors(self.analysis, kind)
        return [
            MemoryItem(_id(text), text, self.answer, "single", kind, (_id("edge", text),), anchors, self.vector, LIAR)
            for text in (wording.format(self.question.text) for wording in WORDINGS)
        ]

    def summary(self) -> SubgraphSummary:
        """A summary that lies exactly on the question."""
        return SubgraphSummary(_id("summary", self.question.text), self.question.text, self.vector, LIAR)

    def evidence(self, most: int) -> Evidence:
        """At most so many false sentences."""
        told = self.sentences[:most]
        units = tuple(EvidenceUnit(_id(title, text), text, LIAR, 1.0, title) for title, text in told)
        return Evidence(self.question.question_id, units)


def lies_about(questions: Sequence[GoldQuestion], models: Models, rng: np.random.Generator) -> list[Lie]:
    """A lie for each question, whose false answer is another question's of the same type; yes and no change places."""
    texts = [question.text for question in questions]
    analyses = models.pipeline.questions(texts)
    types = [analysis.answer_type for analysis in analyses]
    lies = []
    for question, analysis, vector in zip(questions, analyses, models.encoder.encode(texts), strict=True):
        others = {one.answer for one, kind in zip(questions, types, strict=True) if kind == analysis.answer_type}
        others = others - {question.answer, ""} or {one.answer for one in questions} - {question.answer, ""}
        false = sorted(others)[int(rng.integers(len(others)))]
        if question.answer.casefold() in ("yes", "no"):
            false = "no" if question.answer.casefold() == "yes" else "yes"
        lies.append(Lie(question, analysis, vector, false, tuple(_sentences(question, false))))
    return lies


def _sentences(question: GoldQuestion, false: str) -> list[tuple[str, str]]:
    """The true sentences with the answer exchanged, under their titles, then the question as a statement."""
    told: list[tuple[str, str]] = []
    title = ""
    for name in question.documents:
        [path] = CORPUS.glob(f"*/{name}.md")
        title, sentences = titled_sentences(path)
        for sentence in sentences:
            for true in (question.answer, *question.aliases):
                if re.search(rf"\b{re.escape(true)}\b", sentence):
                    told.append((title, sentence.replace(true, false)))
                    break
    stem = question.text.rstrip("?")
    return [*told[:2], (title, f"{stem}: {false}."), (title, f"{stem}? The answer is {false}.")]


@dataclass(frozen=True, slots=True)
class Liar:
    """Changes one device's replies on their way to the server."""

    lies: Mapping[str, Lie]  # by question
    channels: frozenset[Channel]  # where it lies
    node: int  # its node
    most: int  # sentences that may come back for one question
    run: str = "1"  # the run's id

    def tamper(self, reply: Message) -> Message:
        """The reply as the server gets it."""
        if reply.metadata.src_node_id == self.node and not reply.has_error():
            reply.content = self._lied(reply.metadata.message_type, reply.content)
        return reply

    def _lied(self, phase: str, sent: RecordDict) -> RecordDict:
        if phase == "query.share" and "memories" in self.channels:
            delta = wire.decode(sent, Delta, run=self.run)
            false = tuple(item for lie in self.lies.values() for item in lie.memories())
            return wire.encode(replace(delta, items=(*delta.items, *false)), run=self.run)
        if phase == "query.summaries" and "summaries" in self.channels:
            batch = wire.decode(sent, SummaryBatch, run=self.run)
            claims = tuple(lie.summary() for lie in self.lies.values())
            return wire.encode(replace(batch, summaries=(*batch.summaries, *claims)), run=self.run)
        if phase == "query.retrieve" and "evidence" in self.channels:
            given = wire.decode(sent, EvidenceBatch, run=self.run)
            told = tuple(self.lies[one.question_id].evidence(self.most) for one in given.evidence)
            return wire.encode(replace(given, evidence=told), run=self.run)
        return sent


class Credulous(Quorum):
    """Believes the best memory that knows, whoever tells it and however many contradict it."""

    def heard(self, top: Top, least_score: float, places: int) -> list[Match]:
        """The best memories that are near enough, all of one device if need be."""
        return [match for match in top(places) if match.score >= least_score]

    def agreed(self, matches: Sequence[Match]) -> Match | None:
        """The first."""
        return matches[0] if matches else None


def _id(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]
