"""Does the nearest summary name the right device, and are routed answers better (DGRAG tables 2 and 3, figs. 2 and 3)?

Each device knows one domain: OpenStax textbooks, or NIH collections (MedQuAD). Their graphs are built once and kept
under ``$FEDRAG_HOME/summary-routing``; a stopped build, and a stopped run, go on.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from pandas import DataFrame

from client_app.app import app
from fedrag_flwr.evaluation.metrics import accuracy, f1
from fedrag_flwr.knowledge_graph.retrieval import LEVELS, Level, RetrievalSettings
from fedrag_flwr.knowledge_graph.routing import SummaryIndex
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Answer
from fedrag_flwr.text.segment import document_of
from fedrag_flwr.text.support import evidence_texts, is_supported
from simulations.bench.frame import Bench
from simulations.bench.plan import named
from simulations.bench.systems import VARIANTS
from simulations.corpora.domain_data import DomainQuestion
from simulations.corpora.domain_devices import DomainDevices, as_asked, build, texts_of
from simulations.reporting.kept_rows import RowFile, this_code
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
Row = dict[str, Any]


def run(
    bench: Bench,
    domains: Annotated[str, typer.Option("--set", help="openstax or medquad.")] = "openstax",
    documents: Annotated[int, typer.Option(help="Of a device, those with most questions; 0: all.")] = 0,
    tables: Annotated[str, typer.Option(help="Names separated by commas.")] = ",".join(TABLES),
    systems: Annotated[
        str, typer.Option(help="Whose answers; systems without a part are named as in `federation`.")
    ] = ("local-rag,local-graph,summary-routing"),
    home: Annotated[int, typer.Option(help="Questions of its own domain for each device.")] = 52,
    foreign: Annotated[int, typer.Option(help="Questions of each other domain.")] = 16,
    answers_at: Annotated[str, typer.Option(help="home or server.")] = "home",
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
        bench.table("retrieval", DataFrame(retrieval(made)).round(1))
    if "answers" in wanted:
        asked = made.domains.dealt("dev", bench.sized(home, 1), bench.sized(foreign, 0), seed=7)
        chosen = bench.sized(systems, "summary-routing").split(",")
        found = [row for name in chosen for row in answers(bench, made, name, asked, answers_at)]
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
    rows = []
    for measure, found in (("hit", hit), ("routed", right)):
        rates = dict(zip((f"m = {m}" for m in range(1, MOST + 1)), 100 * np.mean(found, axis=0), strict=True))
        rows.append({"summaries": detail, "number": len(index), "measure": measure, **rates})
    return rows


def retrieval(made: DomainDevices) -> list[Row]:
    """What each level of retrieval finds at home (table 3, -KG); every dev question at the device with its document.

    Rates of the questions of which a sentence of that document is among the units, and of those of which the units hold
    the answer's words together, where the answer stands in the document at all. No model is asked.
    """
    found: defaultdict[str, list[bool]] = defaultdict(list)
    held: defaultdict[str, list[bool]] = defaultdict(list)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for name in made.devices:
        asked = [one for one in made.domains.questions if one.split == "dev" and one.domain == name]
        vectors = made.models.encoder.encode(texts_of(asked))
        texts = {document.id: document.text for document in made.domains.documents[name]}
        with made.device(name) as device:
            for variant, levels in RETRIEVALS.items():
                retriever = device.graph.retriever().with_settings(RetrievalSettings(levels=levels))
                for one, vector in zip(asked, vectors, strict=True):
                    start = time.perf_counter()
                    units = retriever.retrieve(vector, UNITS)
                    seconds[variant].append(time.perf_counter() - start)
                    found[variant].append(any(document_of(unit.id) == one.document for unit in units))
                    if is_supported(one.answer, [texts[one.document]]):
                        held[variant].append(is_supported(one.answer, evidence_texts(units)))
    return [
        {
            "levels": name,
            "questions": len(found[name]),
            "its document %": 100 * np.mean(found[name]),
            "answer in the document": len(held[name]),
            "the answer %": 100 * np.mean(held[name]) if held[name] else float("nan"),
            "ms a question": 1e3 * np.mean(seconds[name]),
        }
        for name in RETRIEVALS
    ]


# --- answers --------------------------------------------------------------------------------------


def answers(
    bench: Bench, made: DomainDevices, system: str, asked: Mapping[str, Sequence[DomainQuestion]], where: str
) -> list[Row]:
    """The answers of a system; those given before are read back. Seconds by phase (fig. 3b) are of those asked now."""
    strategy_name, changes = VARIANTS.get(system, (system, {}))
    changed = {key.replace(".", "__").replace("-", "_"): value for key, value in changes.items()}
    settings = made.settings(strategy=strategy_name, routing__answers_at=where, **changed)
    used = this_code(made.models.generator_id, made.name, str(made.most), str(settings.flat()))
    kept = RowFile(bench.out / f"answers-{system}.jsonl", used)
    known = {row["id"]: row for row in kept.rows()}
    golds = {as_asked(one, home).id: (one, home) for home, questions in asked.items() for one in questions}
    waiting = [name for name in golds if name not in known]
    if waiting:
        tools = ServerTools(settings)
        tools.__dict__["models"] = made.models
        nodes = [{"partition-id": number} for number in range(len(made.devices))]
        grid = LocalGrid(app, nodes, settings.flat(), run_id=os.getpid())  # two calls side by side are two runs
        strategy = make_strategy(strategy_name, settings, (), tools)
        strategy.prepare(grid, str(grid.run.run_id))
        for start in range(0, len(waiting), AT_ONCE):
            batch = waiting[start : start + AT_ONCE]
            strategy.ask([as_asked(*golds[name]) for name in batch])
            rows = [marked(strategy.answers[name], *golds[name], system) for name in batch]
            kept.add(*rows)
            known.update({row["id"]: row for row in rows})
            bench.tell(f"{system}: {start + len(batch)}/{len(waiting)}")
        for phase, one in strategy.outcome().traffic.by_phase.items():
            bench.tell(f"{system}: {phase} took {one.seconds:.2f} s for {len(waiting)} questions")
    return [known[name] for name in golds]


def marked(answer: Answer, question: DomainQuestion, home: str, system: str) -> Row:
    """An answer with its marks; `option` says whether the right option was chosen, None where there are none."""
    return {
        "id": answer.question_id,
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


def summed(rows: Any) -> Any:
    """Means of each system on home and on foreign questions, in per cent where shares."""
    rows["declined"] = rows["path"] == "abstained"
    shares = ["F1", "ACC", "option", "declined", "sent"]
    rows[shares] = 100 * rows[shares].astype(float)
    groups = rows.groupby(["system", "asked"], sort=False)
    means = groups[[*shares, "llm_calls", "seconds"]].mean()
    means.insert(0, "questions", groups.size())
    return means.reset_index()
