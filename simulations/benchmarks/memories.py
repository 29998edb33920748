"""What does a model remember of documents, and how many questions does memory answer rightly (FD-RAG table 2)?

One device holds a set's documents. The model writes memories within each budget, beside those of the templates; then
memory alone is asked the set's questions. `sheet.csv` holds memories with their sentences, for a reader to judge.
"""

from collections.abc import Sequence
from typing import Annotated

import pandas as pd
import typer

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.records import MemoryItem, Question
from fedrag_flwr.settings import Settings
from simulations.answers.sets import EVERYTHING, AnswerSet, judged, known_sets, open_set, read_set
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.plan import named

TEMPLATES = "templates"
SHEET = 100  # memories of a set that a reader judges


def run(
    bench: Bench,
    sets: Annotated[str, typer.Option(help="Names separated by commas; `fedrag bench answers --sets list`.")] = "demo",
    generators: Annotated[str, typer.Option(help="Models that write, and `templates` for none.")] = "",
    tokens: Annotated[str, typer.Option(help="Budgets: output tokens for each 1,000 of the documents.")] = "58",
    first: Annotated[
        bool, typer.Option("--first", help="Write of the questions' documents before all others.")
    ] = False,
) -> None:
    """Build and write memories, ask memory, and print what came of it; a stopped run goes on where it stopped."""
    models = generators or bench.sized(f"{TEMPLATES},qwen2.5-coder-0.5b-q8,qwen2.5-coder-1.5b", TEMPLATES)
    rows: list[Row] = []
    sheets: list[Row] = []
    for name in named(sets, known_sets(), "set"):
        asked = read_set(name, bench.data(), "test")
        asked = bench.sized(asked, asked.small(2, 1))
        for model in models.split(","):
            for budget in ("0",) if model == TEMPLATES else tokens.split(","):
                row, sheet = _measured(name, asked, model, int(budget), first, bench)
                rows.append(row)
                sheets += sheet
    bench.table("memories", pd.DataFrame(rows), "Memories, their cost, and what memory alone answers.")
    pd.DataFrame(sheets).to_csv(bench.out / "sheet.csv", index=False)


def _measured(name: str, asked: AnswerSet, model: str, budget: int, first: bool, bench: Bench) -> tuple[Row, list[Row]]:
    own = {} if model == TEMPLATES else {"models.generator": model}
    settings = Settings.from_config({**bench.settings.flat(), **own, "memory.tokens-per-kilotoken": budget})
    bench.tell(f"{name}, {model}, {budget} tokens: building")
    with open_set(asked, settings, first=first) as device:
        counts, by_model, spent = device.store.counts(), device.store.written_by_model(), device.store.asked()
        row: dict[str, object] = {
            "set": name,
            "generator": model,
            "tokens": budget,
            "sentences": counts.sentences,
            "asked about": len(spent),
            "written": sum(spent.values()),
            "memories": counts.items,
            "by the model": len(by_model),
        }
        questions = asked.together().questions
        row |= {"questions": len(questions), **_answered(device, asked)}
        sheet: list[Row] = [
            {
                "set": name,
                "generator": model if item.id in by_model else TEMPLATES,
                "id": item.id[:12],
                "question": item.question,
                "answer": item.answer,
                "sentence": " ".join(one.text for one in device.store.sentences(item.support)),
            }
            for item in _spread([item for item in device.store.items() if (item.id in by_model) == bool(budget)])
        ]
    return row, sheet


def _answered(device: EdgeDevice, asked: AnswerSet) -> Row:
    """How many questions memory answers, and how many of these rightly; ids of both, for whoever looks closer."""
    engine = device.engines.over("own")
    verdicts = {}
    for gold in asked.together().questions:
        answer = engine.at_home(Question(gold.question_id, gold.text, EVERYTHING), reading=False)
        if answer.text:
            verdicts[gold.question_id] = judged(gold, answer.text)
    right = [one for one, verdict in verdicts.items() if verdict == "right"]
    return {"answered": len(verdicts), "right": len(right), "ids": " ".join(sorted(right))}


def _spread(items: Sequence[MemoryItem]) -> Sequence[MemoryItem]:
    """As many as a reader judges, evenly over all."""
    step = max(1, len(items) // SHEET)
    return items[::step][:SHEET]
