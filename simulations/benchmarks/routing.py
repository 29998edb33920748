"""Does the nearest summary name the right device, and are routed answers better (DGRAG tables 2 and 3, figs. 2 and 3)?

Each device knows one domain: OpenStax textbooks, or NIH collections (MedQuAD). Their graphs are built once and kept
under ``$FEDRAG_HOME/summary-routing``; a stopped build, and a stopped run, go on.
"""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from pandas import DataFrame

from fedrag_flwr.evaluation.metrics import accuracy, f1
from fedrag_flwr.knowledge_graph.retrieval import LEVELS, Level
from fedrag_flwr.knowledge_graph.routing import SummaryIndex
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.text.segment import document_of
from fedrag_flwr.text.support import evidence_texts, is_supported
from simulations.bench.asking import ask_waiting
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.plan import named
from simulations.bench.systems import VARIANTS
from simulations.corpora.domain_data import DomainQuestion
from simulations.corpora.domain_devices import DomainDevices, as_asked, build, texts_of
from simulations.fixtures.simulated import simulated
from strategies import ServerTools, make_strategy

TABLES = ("hits", "retrieval", "answers")
MOST = 5  # nearest summaries that are looked at
UNITS = 4  # of evidence that a level of retrieval gives
RETRIEVALS: dict[str, frozenset[Level]] = {
    "chunks alone (-KG)": frozenset({"chunk"}),
    "entities": frozenset({"entity"}),
    "relations": frozenset({"relation"}),
    "entities and relations": frozenset({"entity", "relation"}),
    "all": LEVELS,
}
AT_ONCE = 8  # questions of one round


def run(
    bench: Bench,
    domains: Annotated[str, typer.Option(help="openstax or medquad.")] = "openstax",
    documents: Annotated[int, typer.Option(help="Of a device, those with most questions; 0: all.")] = 0,
    tables: Annotated[str, typer.Option(help="Names separated by commas.")] = ",".join(TABLES),
    systems: Annotated[
        str, typer.Option(help="Whose answers; systems without a part are named as in `federation`.")
    ] = ("local-rag,local-graph,summary-routing"),
    home: Annotated[int, typer.Option(help="Questions of its own domain for each device.")] = 52,
    foreign: Annotated[int, typer.Option(help="Questions of each other domain.")] = 16,
) -> None:
    """Build graphs, route questions, and ask them."""
    made = DomainDevices(domains, bench.sized(documents, 1), bench.data(), bench.changes)
    wanted = named(tables, TABLES, "table")
    bench.table("devices", DataFrame(build(made, bench.tell)))
    if "hits" in wanted:
        questions = [one for one in made.domains.questions if one.split == "dev"]
        vectors = made.models.encoder.encode(texts_of(questions))
        rows = [row for detail in ("full", "erased") for row in hits(detail, made.index(detail), questions, vectors)]
        bench.table("hits", DataFrame(rows).round(1), f"{len(questions)} questions")
    if "retrieval" in wanted:
        bench.table("retrieval", retrieval(made).round(1))
    if "answers" in wanted:
        asked = made.domains.dealt("dev", bench.sized(home, 1), bench.sized(foreign, 0), seed=7)
        chosen = bench.sized(systems, "summary-routing").split(",")
        found = [row for name in chosen for row in answers(bench, made, name, asked)]
        bench.table("answers", summed(DataFrame(found)).round(2))


def hits(
    detail: str, index: SummaryIndex, questions: Sequence[DomainQuestion], vectors: NDArray[np.float32]
) -> list[Row]:
    """Hit rates and rightly routed questions in per cent, for m = 1 .. 5.

    A question is a hit at m if one of the m nearest summaries is its own device's, and rightly routed if that device is
    the first of the route over m.
    """
    hit: list[list[bool]] = []
    right: list[list[bool]] = []
    for one, vector in zip(questions, vectors, strict=True):
        near = index.nearest(vector, MOST)
        hit.append([any(found.owner == one.domain for found in near[:m]) for m in range(1, MOST + 1)])
        right.append([index.route(vector, m, 1).owners == (one.domain,) for m in range(1, MOST + 1)])
    rows: list[Row] = []
    for measure, found in (("hit", hit), ("routed", right)):
        rates = dict(zip((f"m = {m}" for m in range(1, MOST + 1)), 100 * np.mean(found, axis=0), strict=True))
        rows.append({"summaries": detail, "number": len(index), "measure": measure, **rates})
    return rows


def retrieval(made: DomainDevices) -> DataFrame:
    """What each level of retrieval finds at home (table 3, -KG); every dev question at the device with its document.

    Rates of the questions of which a sentence of that document is among the units, and of those of which the units hold
    the answer's words together, where the answer stands in the document at all. No model is asked.
    """
    rows = []
    for name in made.devices:
        asked = [one for one in made.domains.questions if one.split == "dev" and one.domain == name]
        vectors = made.models.encoder.encode(texts_of(asked))
        texts = {document.id: document.text for document in made.domains.documents[name]}
        with made.device(name) as device:
            for variant, levels in RETRIEVALS.items():
                retriever = device.graph.retriever().at(levels)
                for one, vector in zip(asked, vectors, strict=True):
                    start = time.perf_counter()
                    units = retriever.retrieve(vector, UNITS)
                    seconds = time.perf_counter() - start
                    found = any(document_of(unit.id) == one.document for unit in units)
                    there = is_supported(one.answer, [texts[one.document]])
                    held = 100 * is_supported(one.answer, evidence_texts(units)) if there else None
                    rows.append((variant, 100 * found, held, 1e3 * seconds))
    columns = ["levels", "its document %", "the answer %", "ms a question"]
    groups = DataFrame(rows, columns=columns).astype({"the answer %": float}).groupby("levels", sort=False)
    counts = {"questions": groups.size(), "answer in the document": groups["the answer %"].count()}
    return groups.mean().assign(**counts).reset_index()


def answers(bench: Bench, made: DomainDevices, system: str, asked: Mapping[str, Sequence[DomainQuestion]]) -> list[Row]:
    """The answers of a system; those given before are read back. Seconds by phase (fig. 3b) are of those asked now."""
    strategy_name, changes = VARIANTS.get(system, (system, {}))
    settings = made.settings({"strategy": strategy_name, **changes})
    used = (made.models.generator_id, made.name, str(made.most), str(settings.flat()))
    kept = bench.rows(f"answers-{system}", *used)
    golds = {as_asked(one, home).id: (one, home) for home, questions in asked.items() for one in questions}
    waiting = [name for name in golds if name not in kept]
    if waiting:
        tools = ServerTools(settings)
        tools.__dict__["models"] = made.models
        grid = simulated(settings, run_id=os.getpid())  # two calls side by side are two runs
        strategy = make_strategy(strategy_name, settings, (), tools)

        def rows_of(batch: Sequence[Question]) -> list[Row]:
            return [marked(strategy.answers[one.id], *golds[one.id], system) for one in batch]

        asking = [as_asked(*golds[name]) for name in waiting]
        traffic = ask_waiting(bench, system, strategy, tools, grid, kept, asking, AT_ONCE, rows_of)
        for phase, one in traffic.by_phase.items():
            bench.tell(f"{system}: {phase} took {one.seconds:.2f} s for {len(waiting)} questions")
    return [kept[name] for name in golds]


def marked(answer: Answer, question: DomainQuestion, home: str, system: str) -> Row:
    """An answer with its marks; `option` says whether the right option was chosen, None where there are none."""
    return {
        "system": system,
        "asked": "home" if question.domain == home else "foreign",
        "path": answer.path,
        "sent": any(one.step == "routing" for one in answer.decisions),
        "seconds": answer.cost.seconds,
        "llm_calls": answer.cost.llm_calls,
        "F1": f1(answer.text, [question.answer]),
        "ACC": accuracy(answer.text, [question.answer]),
        "option": option_chosen(answer.text, question),
    }


def option_chosen(text: str, question: DomainQuestion) -> float | None:
    """Whether the option that is most like the answer is the right one; an answer unlike all chooses none."""
    if not question.choices:
        return None
    scores = [f1(text, [choice]) for choice in question.choices]
    best = int(np.argmax(scores))
    return float(scores[best] > 0 and question.choices[best] == question.answer)


def summed(rows: DataFrame) -> DataFrame:
    """Means of each system on home and on foreign questions, in per cent where shares."""
    rows["declined"] = rows["path"] == "abstained"
    shares = ["F1", "ACC", "option", "declined", "sent"]
    rows[shares] = 100 * rows[shares].astype(float)
    groups = rows.groupby(["system", "asked"], sort=False)
    means = groups[[*shares, "llm_calls", "seconds"]].mean()
    means.insert(0, "questions", groups.size())
    return means.reset_index()
