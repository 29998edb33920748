"""What the benchmark of caches runs over: a device over one source with its server; the same records in three forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedrag_flwr.caching.fusion import FusionCaches
from fedrag_flwr.caching.report import Reporter
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.records import Answer, AskedQuestion, EvidenceUnit, HitsRequest, Question
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.base import SearchableSource
from fedrag_flwr.sources.graph.source import GraphSource
from fedrag_flwr.sources.searching import SearchTools
from fedrag_flwr.sources.sql.source import SqlSource
from fedrag_flwr.sources.text_search import TextSearch
from simulations.bench_sources import Listed
from simulations.corpora.synthea import RecordQuestion, questions_of, read_synthea, write_database, write_graph

_DEVICE = "ward"


class Tiers:
    """The server's tiers over something that makes inputs and answers; here both are empty, which shows rates."""

    versions: Mapping[str, str] = {_DEVICE: "1"}

    def __init__(self, root: Path, settings: Settings) -> None:
        self.caches = FusionCaches(root / "server", settings.caching)

    def input(self, question: RecordQuestion) -> tuple[EvidenceUnit, ...]:
        """What the model reads for a question, from its tier or made anew and kept there."""
        if (units := self.caches.input(question.text, self.versions)) is None:
            units = self.made(question)
            self.caches.keep_input(question.text, units, self.versions)
        return units

    def answer(self, question: RecordQuestion) -> None:
        """Serve a question through all tiers."""
        if self.caches.answer(question.text, self.versions) is None:
            self.caches.keep_answer(question.text, self.written(question, self.input(question)), self.versions)

    def anew(self, question: RecordQuestion) -> None:
        """Serve a question as if there were no cache."""
        self.written(question, self.made(question))

    def deepest(self, question: RecordQuestion) -> str:
        """The tier that has most of a question's answer."""
        if self.caches.knows(question.text, self.versions):
            return "answer"
        held = self.caches.inputs.holds(self.caches.key(question.text), self.versions)
        return "input" if held else "nothing"

    def made(self, question: RecordQuestion) -> tuple[EvidenceUnit, ...]:
        """Make an input."""
        return ()

    def written(self, question: RecordQuestion, units: Sequence[EvidenceUnit]) -> Answer:
        """Write an answer."""
        return Answer(question.id, "", "abstained", 0.0)


class World(Tiers):
    """One device over one source, and the server that answers from what it says."""

    def __init__(self, source: SearchableSource, root: Path, settings: Settings, tools: Models) -> None:
        super().__init__(root, settings)
        self.device = EdgeDevice(_DEVICE, None, root / "device", settings, tools)
        vars(self.device.sources)["sources"] = (source,)  # in place of what would be opened by name
        self.reporter = Reporter.of(settings, tools, "extractive")
        self._records = settings.hybrid.records
        self.versions = {_DEVICE: self.device.summaries.answer(HitsRequest(())).version}

    def anew(self, question: RecordQuestion) -> None:
        """Serve a question as if there were no cache, at the device neither."""
        self.device.summaries.forget()
        super().anew(question)

    def made(self, question: RecordQuestion) -> tuple[EvidenceUnit, ...]:
        """What the device says to a question, as the model reads it."""
        request = HitsRequest((AskedQuestion(question.id, question.text),), self._records)
        batch = self.device.summaries.answer(request)
        self.versions = {_DEVICE: batch.version}
        return self.reporter.input(question.text, batch.summaries[0].units)

    def written(self, question: RecordQuestion, units: Sequence[EvidenceUnit]) -> Answer:
        """The server's answer."""
        return self.reporter.answer(Question(question.id, question.text, _DEVICE), units)


def sources(
    data: Path, work: Path, each: int, seed: int, tools: SearchTools, most: int
) -> tuple[dict[str, SearchableSource], list[RecordQuestion]]:
    """At most so many rows of each table in three forms, and a question for some of them."""
    tables = read_synthea(data / "synthea_112.tar.gz")
    questions = questions_of(tables, each, seed)
    asked = {question.id.partition(":")[2] for question in questions}
    tables = {
        name: sorted(rows, key=lambda row: row["Id"] not in asked)[:most] if name != "patients" else rows
        for name, rows in tables.items()
    }
    sql = SqlSource(write_database(tables, work / "records.db"), tools)
    graph = GraphSource(write_graph(tables, work / "records.lbug"), tools)
    text = TextSearch(Listed(sql.read().documents), tools)
    return {"text": text, "sql": sql, "graph": graph}, questions
