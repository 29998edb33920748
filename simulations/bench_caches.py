"""What the three tiers of caches save: hit rates, latency with and without them, and what prefetching costs.

    python simulations/bench_caches.py --data FOLDER [--kinds text,sql,graph] [--each 25] [--rates]

The protocol is HyFedRAG's (4.3): a random walk with restart, dwell and session memory over a graph of records and the
entities that they share gives 100 warm-up and 500 test requests. The records are rows of Synthea's tables, as text, as
an SQLite database and as a Ladybug graph (`corpora/synthea.py`), each with a question that it answers. A device
searches, erases and masks; the server reads and answers with the generator. After each request the inputs of the
records one hop away are prepared (tier 2), and at most ``--answers`` answers to records two hops away (tier 3); that
time is counted apart, as nobody waits for it. Without caches every tenth test request is served anew, right after it
was served with them. A kind that is finished is kept in ``$FEDRAG_HOME/bench_caches`` and not run again. Writes
``caches.json`` and prints Markdown. ``--rates`` shows hit rates alone, with more and with less prefetching.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from fedrag_flwr.caching import AssociationGraph
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models.reranker import LateInteractionReranker
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.source_search import SearchTools
from simulations.corpora.sentences import find_data
from simulations.corpora.synthea import RecordQuestion, questions_of, read_synthea
from simulations.fixtures.cache_world import Tiers, World, sources
from simulations.reporting.folders import out_folder
from simulations.reporting.privacy_table import markdown
from simulations.reporting.row_file import RowFile, this_code

KINDS = ("text", "sql", "graph")
WARM_UP, TEST = 100, 500  # requests
RESTART, DWELL, MEMORY = 0.15, 0.25, 0.2  # of a request; else it goes on to a neighbour
REMEMBERED = 5  # records that a session goes back to
_EVERY = 10
REASONS = ("asked before", "one-hop input", "answer within two hops")
PREFETCHING = (  # name, whether inputs one hop away are made, and answers after each request
    ("none", False, 0),
    ("one-hop inputs", True, 0),
    *((f"and {count} answers within two hops", True, count) for count in (1, 2, 4, 8)),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A walk's seed, the most answers prefetched after a request, the test requests, and whether inputs are made."""

    seed: int
    answers: int
    requests: int = TEST
    inputs: bool = True


@dataclass(slots=True)
class Result:
    """What one kind of source gave. Seconds are lists, one for each request."""

    kind: str
    records: int = 0
    distinct: int = 0
    served: dict[str, int] = field(default_factory=dict)  # by the deepest tier that had something
    because: dict[str, int] = field(default_factory=dict)  # why it was there
    seconds: list[float] = field(default_factory=list)
    without: list[float] = field(default_factory=list)
    prefetch_seconds: float = 0.0
    prefetched_inputs: int = 0
    prefetched_answers: int = 0
    unused_answers: int = 0
    bytes: dict[str, int] = field(default_factory=dict)


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


def measure(kind: str, world: Tiers, questions: Sequence[RecordQuestion], plan: Plan) -> Result:
    """Serve all requests of a walk, prefetching after each."""
    by_id = {question.id: question for question in questions}
    graph = AssociationGraph.of({question.id: question.told for question in questions})
    visits = walk(graph, sorted(by_id), np.random.default_rng(plan.seed))
    result, reason = Result(kind, len(by_id)), dict[str, str]()
    served, because, asked, foreseen = Counter[str](), Counter[str](), set[str](), set[str]()
    world.anew(questions[0])  # models and indexes are loaded
    for number in range(WARM_UP + plan.requests):
        record = next(visits)
        question, tested = by_id[record], number >= WARM_UP
        if tested:
            tier = world.deepest(question)
            served[tier] += 1
            because[reason.get(record, "nothing")] += 1
        start = time.perf_counter()
        world.answer(question)
        seconds = time.perf_counter() - start
        asked.add(record)
        reason[record] = "asked before"
        _prefetch(world, graph, by_id, record, reason, foreseen, plan, result)
        if tested:
            result.seconds.append(seconds)
            if number % _EVERY == 0:
                start = time.perf_counter()
                world.anew(question)
                result.without.append(time.perf_counter() - start)
        if number % 50 == 0 and type(world) is World:
            print(f"{kind}: {number} requests, {dict(because)}", flush=True)
    result.distinct, result.served, result.because = len(asked), dict(served), dict(because)
    result.unused_answers = len(foreseen - asked)
    result.bytes = {stats.name: stats.bytes for stats in world.caches.stats()}
    return result


def _prefetch(
    world: Tiers,
    graph: AssociationGraph,
    by_id: dict[str, RecordQuestion],
    record: str,
    reason: dict[str, str],
    foreseen: set[str],
    plan: Plan,
    result: Result,
) -> None:
    """Prepare inputs one hop away, and some answers within two hops, nearest first."""
    start = time.perf_counter()
    for name in graph.neighbours(record) if plan.inputs else ():
        if world.deepest(by_id[name]) == "nothing":
            world.input(by_id[name])
            reason.setdefault(name, "one-hop input")
            result.prefetched_inputs += 1
    far = [name for name in graph.neighbours(record, hops=2) if world.deepest(by_id[name]) != "answer"]
    for name in far[: plan.answers]:
        world.answer(by_id[name])
        foreseen.add(name)
        reason[name] = "answer within two hops"
        result.prefetched_answers += 1
    result.prefetch_seconds += time.perf_counter() - start


def rates(data: Path, each: int, seed: int, work: Path, settings: Settings) -> str:
    """Hit rates with more and less prefetching, over tiers whose inputs and answers are empty, as Markdown."""
    questions = questions_of(read_synthea(data / "synthea_112.tar.gz"), each, seed)
    rows = []
    for name, inputs, answers in PREFETCHING:
        shutil.rmtree(work / "rates", ignore_errors=True)
        one = measure(name, Tiers(work / "rates", settings), questions, Plan(seed, answers, TEST, inputs))
        shares = [100 * one.because.get(why, 0) / TEST for why in REASONS]
        cells = [*shares, sum(shares), 100 * one.served.get("answer", 0) / TEST]
        made = (str(one.prefetched_inputs), f"{one.prefetched_answers} ({one.unused_answers})")
        rows.append([name, f"{one.distinct} of {one.records}", *(f"{cell:.1f}" for cell in cells), *made])
    heads = (
        "prefetching",
        "records asked for",
        *REASONS,
        "total",
        "answer ready",
        "inputs made",
        "answers (never used)",
    )
    return "\n".join(markdown(heads, rows))


def table(results: Sequence[Result]) -> str:
    """Rates and latencies as Markdown."""
    rows = []
    for one in results:
        count = sum(one.because.values())
        rates = [one.because.get(why, 0) / count for why in REASONS]
        gain = float(np.mean(one.without) / np.mean(one.seconds))
        rows.append(
            [
                one.kind,
                *(f"{100 * rate:.1f}" for rate in rates),
                f"{100 * sum(rates):.1f}",
                f"{100 * one.served.get('answer', 0) / count:.1f}",
                f"{np.mean(one.seconds):.3f}",
                f"{np.mean(one.without):.3f}",
                f"{gain:.1f}",
                f"{one.prefetch_seconds / (WARM_UP + count):.2f}",
                f"{one.prefetched_answers} ({one.unused_answers})",
            ]
        )
    heads = ("source", "asked before", "one hop", "two hops", "total", "answer ready", "s with", "s without", "times")
    return "\n".join(markdown((*heads, "prefetch, s a request", "answers prefetched (never used)"), rows))


def main() -> None:
    """Measure each kind of source that is not measured yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--each", type=int, default=25, help="questions of each kind and split")
    parser.add_argument("--answers", type=int, default=2, help="answers prefetched after a request, at most")
    parser.add_argument("--rates", action="store_true", help="only hit rates, without device and model")
    parser.add_argument("--requests", type=int, default=TEST, help="test requests, after the warm-up")
    parser.add_argument("--rows", type=int, default=1_200, help="rows of each table that are searched")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    given = parser.parse_args()
    settings = Settings.from_config({"models.generation-cache": False, "privacy.operators": "erasure, presidio"})
    work = fedrag_home() / "bench_caches" / f"{given.each}-{given.answers}-{given.requests}-{given.rows}-{given.seed}"
    work.mkdir(parents=True, exist_ok=True)
    data = find_data(given.data)
    if given.rates:
        print(rates(data, given.each, given.seed, work, settings))
        return
    tools = load_models(settings.models, fedrag_home())
    search = SearchTools(tools.encoder, tools.pipeline, LateInteractionReranker(tools.encoder))
    opened, questions = sources(data, work, given.each, given.seed, search, given.rows)
    kept = RowFile(work / "results.jsonl", this_code(tools.generator_id))
    known = {row["kind"]: Result(**row) for row in kept.rows()}
    results = []
    for kind in given.kinds.split(","):
        if kind not in known:
            shutil.rmtree(work / kind, ignore_errors=True)
            world = World(opened[kind], work / kind, settings, tools)
            known[kind] = measure(kind, world, questions, Plan(given.seed, given.answers, given.requests))
            kept.add(asdict(known[kind]))
        results.append(known[kind])
        print(table(results[-1:]), flush=True)
    dumped = [asdict(one) for one in results]
    (given.out / "caches.json").write_text(json.dumps(dumped, indent=1) + "\n", encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
