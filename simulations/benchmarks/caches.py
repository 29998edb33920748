"""What do the three tiers of caches save, and what does prefetching cost (HyFedRAG figs. 5 and 6)?

A random walk with restart, dwell and session memory over a graph of records and the entities that they share gives 100
warm-up and 500 test requests (HyFedRAG 4.3). Records are rows of Synthea's tables as text, as an SQLite database and as
a graph, each with a question that it answers. After each request the inputs of the records one hop away are prepared,
and some answers to records two hops away; that time is counted apart, as nobody waits for it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from pandas import DataFrame

from fedrag_flwr.caching import AssociationGraph
from fedrag_flwr.caching.fusion import FusionCaches
from fedrag_flwr.caching.report import Reporter
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.encoder import LateInteractionReranker
from fedrag_flwr.records import Answer, AskedQuestion, EvidenceUnit, HitsRequest, Question
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.base import SearchableSource
from fedrag_flwr.sources.graph.source import GraphSource
from fedrag_flwr.sources.source_search import SearchTools
from fedrag_flwr.sources.sql.source import SqlSource
from fedrag_flwr.sources.text_search import TextSearch
from simulations.bench.frame import Bench
from simulations.bench.measure import seconds_of
from simulations.bench.plan import named
from simulations.corpora.synthea import (
    Listed,
    RecordQuestion,
    asked_rows,
    questions_of,
    read_synthea,
    write_database,
    write_graph,
)

KINDS = ("text", "sql", "graph")
WARM_UP, SEED = 100, 7
RESTART, DWELL, MEMORY = 0.15, 0.25, 0.2  # of a request; else it goes on to a neighbour
REMEMBERED = 5  # records that a session goes back to
EVERY = 10  # test requests of which one is also served without caches
REASONS = ("asked before", "one-hop input", "answer within two hops")
PREFETCHING = (  # name, whether inputs one hop away are made, and answers after each request
    ("none", False, 0),
    ("one-hop inputs", True, 0),
    *((f"and {count} answers within two hops", True, count) for count in (1, 2, 4, 8)),
)
DEVICE = "ward"


def run(
    bench: Bench,
    kinds: Annotated[str, typer.Option(help="Sources to serve: text, sql, graph; none: only hit rates.")] = "sql,graph",
    each: Annotated[int, typer.Option(help="Questions of each kind and split.")] = 25,
    rows: Annotated[int, typer.Option(help="Rows of each table that are searched.")] = 1_200,
    requests: Annotated[int, typer.Option(help="Test requests, after the warm-up.")] = 500,
) -> None:
    """Show hit rates with more and less prefetching, then latency with caches and without."""
    settings = Settings.from_config(
        {"models.generation-cache": False, "privacy.operators": "erasure, presidio", **bench.changes}
    )
    tables = read_synthea(bench.data() / "synthea_112.tar.gz")
    each, walked = bench.sized(each, 1), bench.sized((WARM_UP, requests), (4, 8))
    questions = questions_of(tables, each, SEED)
    found = []
    for name, inputs, answers in PREFETCHING:  # over tiers whose inputs and answers are empty
        tiers = Tiers(fresh(bench.out / "rates"), settings)
        one = measure(tiers, questions, walked, answers, inputs=inputs)
        found.append({"prefetching": name, **rates(one), "of": len(questions)})
    bench.table("rates", DataFrame(found).round(1))
    wanted = named("" if kinds == "none" else kinds, KINDS, "kind")
    if not wanted:
        return
    tools = load_models(settings.models, fedrag_home(settings.home))
    opened = sources(tables, questions, bench.out, tools, bench.sized(rows, 5))
    kept = bench.rows("served", tools.generator_id, f"{each} {rows} {walked} {settings.flat()}")
    served = []
    for kind in wanted:
        given = (kind, opened[kind], bench.out / kind, settings, tools, questions, walked)
        served.append(kept.row(kind, latency, *given))
    bench.table("latency", DataFrame(served).round(3))


def fresh(folder: Path) -> Path:
    """A folder of which nothing is left."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def rates(requests: DataFrame) -> dict[str, Any]:
    """Of the test requests, by what had been there and why, in per cent; and what was prefetched."""
    tested = requests[requests["tested"]]
    shares = {why: 100 * float((tested["reason"] == why).mean()) for why in REASONS}
    asked, foreseen = set(requests["record"]), {name for names in requests["foreseen"] for name in names}
    return {
        "records asked for": len(asked),
        **shares,
        "total": sum(shares.values()),
        "answer ready": 100 * float(tested["ready"].mean()),
        "inputs made": int(requests["inputs"].sum()),
        "answers": int(requests["foreseen"].map(len).sum()),
        "never used": len(foreseen - asked),
    }


def latency(
    kind: str,
    source: SearchableSource,
    folder: Path,
    settings: Settings,
    tools: Models,
    questions: Sequence[RecordQuestion],
    requests: tuple[int, int],
) -> dict[str, Any]:
    """Seconds of a request to a device over a source and its server, with the caches and without."""
    found = measure(Served(source, fresh(folder), settings, tools), questions, requests, answers=2)
    seconds, without = found[found["tested"]]["seconds"].mean(), found["without"].mean()
    told = {"s with": seconds, "s without": without, "times": without / seconds}
    return {"source": kind, **rates(found), **told, "prefetch, s a request": found["prefetch"].mean()}


def walk(graph: AssociationGraph, records: Sequence[str], draw: np.random.Generator) -> Iterator[str]:
    """Requests for records without end; a session begins anew at a record that has the more neighbours the likelier."""
    degrees = np.array([1.0 + len(graph.adjacent[record]) for record in records])
    session: list[str] = []
    while True:
        drawn = draw.random()
        near = graph.adjacent[session[-1]] if session else ()
        if not session or drawn < RESTART:
            session = [str(draw.choice(records, p=degrees / degrees.sum()))]
        elif drawn < RESTART + DWELL:
            session.append(session[-1])
        elif drawn < RESTART + DWELL + MEMORY or not near:
            session.append(str(draw.choice(session[-REMEMBERED:])))
        else:
            weights = np.array([weight for _, weight in near])
            session.append(str(draw.choice([name for name, _ in near], p=weights / weights.sum())))
        yield session[-1]


def measure(
    tiers: Tiers, questions: Sequence[RecordQuestion], requests: tuple[int, int], answers: int, *, inputs: bool = True
) -> DataFrame:
    """Serve the requests of a walk, those of the warm-up first, prefetching after each; a row of each."""
    by_id = {question.id: question for question in questions}
    graph = AssociationGraph.of({question.id: question.told for question in questions})
    warm_up, count = requests
    visits = walk(graph, sorted(by_id), np.random.default_rng(SEED))
    rows, reason = [], dict[str, str]()
    tiers.anew(questions[0])  # models and indexes are loaded
    for number, record in enumerate(islice(visits, warm_up + count)):
        question, tested = by_id[record], number >= warm_up
        row: dict[str, Any] = {"record": record, "tested": tested, "reason": reason.get(record, "nothing")}
        row |= {"ready": tiers.deepest(question) == "answer", "seconds": seconds_of(tiers.answer, question)}
        reason[record] = "asked before"
        start = time.perf_counter()
        near = [name for name in graph.neighbours(record) if tiers.deepest(by_id[name]) == "nothing"] if inputs else []
        for name in near:
            tiers.input(by_id[name])
            reason.setdefault(name, REASONS[1])
        far = [name for name in graph.neighbours(record, hops=2) if tiers.deepest(by_id[name]) != "answer"][:answers]
        for name in far:
            tiers.answer(by_id[name])
            reason[name] = REASONS[2]
        row |= {"inputs": len(near), "foreseen": far, "prefetch": time.perf_counter() - start}
        rows.append(row | {"without": seconds_of(tiers.anew, question) if tested and number % EVERY == 0 else np.nan})
    return DataFrame(rows)


class Tiers:
    """The server's tiers over something that makes inputs and answers; here both are empty, which shows rates."""

    versions: Mapping[str, str] = {DEVICE: "1"}

    def __init__(self, root: Path, settings: Settings) -> None:
        self.caches = FusionCaches(root / "server", settings.caching.bytes)

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


class Served(Tiers):
    """One device over one source, and the server that answers from what it says."""

    def __init__(self, source: SearchableSource, root: Path, settings: Settings, tools: Models) -> None:
        super().__init__(root, settings)
        self.device = EdgeDevice(DEVICE, None, root / "device", settings, tools)
        vars(self.device.sources)["sources"] = (source,)  # in place of what would be opened by name
        self.reporter = Reporter.of(settings, tools, "extractive")
        self._records = settings.hybrid.records
        self.versions = {DEVICE: self.device.summaries.answer(HitsRequest(())).version}

    def anew(self, question: RecordQuestion) -> None:
        """Serve a question as if there were no cache, at the device neither."""
        self.device.summaries.forget()
        super().anew(question)

    def made(self, question: RecordQuestion) -> tuple[EvidenceUnit, ...]:
        """What the device says to a question, as the model reads it."""
        request = HitsRequest((AskedQuestion(question.id, question.text),), self._records)
        batch = self.device.summaries.answer(request)
        self.versions = {DEVICE: batch.version}
        return self.reporter.input(question.text, batch.summaries[0].units)

    def written(self, question: RecordQuestion, units: Sequence[EvidenceUnit]) -> Answer:
        """The server's answer."""
        return self.reporter.answer(Question(question.id, question.text, DEVICE), units)


def sources(
    tables: Mapping[str, list[dict[str, str]]],
    questions: Sequence[RecordQuestion],
    out: Path,
    models: Models,
    most: int,
) -> dict[str, SearchableSource]:
    """At most so many rows of each table in three forms, those that are asked for first."""
    tools = SearchTools(models.encoder, models.pipeline, LateInteractionReranker(models.encoder))
    held = asked_rows(tables, questions, most)
    sql = SqlSource(write_database(held, out / "records.db"), tools)
    graph = GraphSource(write_graph(held, out / "records.lbug"), tools)
    return {"text": TextSearch(Listed(sql.read().documents), tools), "sql": sql, "graph": graph}
