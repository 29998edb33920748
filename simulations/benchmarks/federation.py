"""Which strategy answers best over several devices, and at what cost (FD-RAG's Table 1)?

All systems answer the same questions over the same devices, in turn: first where each home holds what its questions
need, then where documents are dealt at random. `--sets` names multi-hop files of the data folder, or `guides` and
`demo`: documents of five departments, each question asked at home and elsewhere. `answers.csv` has a line of each
question and system. The two settings may run side by side, as two commands with `--setting` and `--out`.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from pandas import DataFrame, concat

from fedrag_flwr.cli.console import out
from fedrag_flwr.demo import QUESTIONS
from simulations.bench.frame import Bench
from simulations.bench.outcome import accuracy_of, answer_frame, difference_of, groups, prepared_frame, write_outcome
from simulations.bench.plan import DEPARTMENTS, BenchPlan, Setting, named
from simulations.bench.run import run_plan
from simulations.bench.systems import SYSTEMS, refuse_clashes
from simulations.bench.tables import with_interval

# Of the paper's rows those that are here (`local-memory` is its FD-RAG without fusion), the floor and others.
TABLE = {
    "local": ("fd-rag-local", "plain"),
    "federated": (
        *("local-rag", "confidential-broadcast", "rag-route", "local-memory", "memory-fusion"),
        *("fedrag", "summary-routing", "hybrid-fusion", "no-rag", "centralized"),
    ),
}
SETS = "hotpotqa,2wikimultihopqa,musique"
REFERENCES = {"local": "plain", "federated": "local-rag"}
QUICK = {"setting": "federated", "sets": "hotpotqa", "systems": "local-rag,fedrag"}
QUICK_QUESTIONS, QUICK_DEVICES = 2, 2


def run(
    bench: Bench,
    systems: Annotated[str, typer.Option(help="Names separated by commas; `list` names all. Else the table's.")] = "",
    sets: Annotated[str, typer.Option(help="Files of the data folder without their ending, or paths.")] = "",
    setting: Annotated[str, typer.Option(help="local or federated; both without it.")] = "",
    devices: Annotated[int, typer.Option(help="Number of devices.")] = 5,
    questions: Annotated[int, typer.Option(help="Questions of each set.")] = 40,
    seed: Annotated[int, typer.Option(help="Fixes the dealing of documents.")] = 7,
    after: Annotated[int, typer.Option(help="Rows of each multi-hop set that are passed over.")] = 0,
    split: Annotated[str, typer.Option(help="dev to report, train to choose settings.")] = "dev",
) -> None:
    """Ask all systems the same questions over the same devices; print ACC, seconds, who answered, and costs."""
    if systems == "list":
        out.print("\n".join(SYSTEMS))
        return
    if bench.quick:
        setting, sets, systems = setting or QUICK["setting"], sets or QUICK["sets"], systems or QUICK["systems"]
        questions, devices = min(questions, QUICK_QUESTIONS), QUICK_DEVICES if devices == 5 else devices
    settings = named(setting or ",".join(TABLE), get_args(Setting), "setting")
    chosen = {one: named(systems, SYSTEMS) if systems else TABLE[one] for one in settings}
    fixed = {"questions": questions, "seed": seed, "changes": bench.changes, "after": after, "split": split}
    plans = [
        BenchPlan(file_of(bench, name.strip()), names, cast("Setting", one), devices, **fixed)  # type: ignore[arg-type]
        for one, names in chosen.items()
        for name in (sets or SETS).split(",")
    ]
    for plan in plans:
        refuse_clashes(plan.systems, plan.base(), plan.changes)
    answers, prepared = [], []
    for plan in plans:
        start = time.monotonic()
        folder = bench.out / f"{plan.setting}-{plan.dataset}-{plan.devices}"
        fixture, rows = run_plan(plan, folder, bench.tell)
        write_outcome(plan, fixture, rows, folder, time.monotonic() - start)
        answers.append(answer_frame(plan, fixture, rows))
        prepared.append(prepared_frame(plan, fixture, rows))
    every = concat(answers, ignore_index=True)
    every.to_csv(bench.out / "answers.csv", index=False)
    bench.table("accuracy", accuracy_table(every), "ACC in per cent (mean over devices), and mean seconds")
    bench.table("over_all", over_all_table(every), "Over all sets; the difference is paired")
    bench.table("documents", documents_table(every), "By where a question's documents lie: right / wrong / declined")
    bench.table("paths", path_table(every), "By who answered: questions / right in per cent / mean seconds")
    bench.table("costs", cost_table(every), "Means of a question")
    bench.table("prepared", concat(prepared, ignore_index=True), "Before the first question, all devices together")


def spread(answers: DataFrame, *keys: str, cells: Callable[[str, DataFrame], dict[str, object]]) -> DataFrame:
    """A line for the values of all keys but the last; each value of the last gives some cells of it."""
    lines: dict[tuple[str, ...], dict[str, object]] = {}
    for values, own in groups(answers, *keys):
        line = lines.setdefault(values[:-1], dict(zip(keys[:-1], values[:-1], strict=True)))
        line |= cells(values[-1], own)
    return DataFrame(list(lines.values())).fillna("")


def accuracy_table(answers: DataFrame) -> DataFrame:
    """ACC and seconds of each system, with two columns for each set."""

    def cells(name: str, own: DataFrame) -> dict[str, object]:
        return {f"{name}: ACC": round(accuracy_of(own).value, 1), f"{name}: s": round(own["seconds"].mean(), 2)}

    return spread(answers, "setting", "system", "set", cells=cells)


def over_all_table(answers: DataFrame) -> DataFrame:
    """Right answers, ACC and its interval over all sets, beside the setting's reference."""
    lines = []
    for (setting, system), own in groups(answers, "setting", "system"):
        beside = answers[(answers["setting"] == setting) & (answers["system"] == REFERENCES[setting])]
        line: dict[str, object] = {"setting": setting, "system": system, "questions": len(own)}
        line["right"] = int(own["right"].sum())
        line["ACC"] = with_interval(accuracy_of(own))
        if len(beside) == len(own) and system != REFERENCES[setting]:
            line[f"minus {REFERENCES[setting]}"] = with_interval(difference_of(own, beside), "+")
        lines.append(line)
    return DataFrame(lines).fillna("")


def documents_table(answers: DataFrame) -> DataFrame:
    """Right, wrong and declined answers by where the documents lie that a question needs."""

    def cells(place: str, own: DataFrame) -> dict[str, object]:
        right, declined = int(own["right"].sum()), int(own["declined"][own["right"] == 0].sum())
        return {place: f"{right} / {len(own) - right - declined} / {declined}"}

    return spread(answers, "setting", "set", "system", "documents", cells=cells)


def path_table(answers: DataFrame) -> DataFrame:
    """How many questions each path answered, what share rightly, and how fast."""

    def cells(path: str, own: DataFrame) -> dict[str, object]:
        return {path: f"{len(own)} / {100 * own['right'].mean():.0f} / {own['seconds'].mean():.2f}"}

    return spread(answers, "setting", "system", "path", cells=cells)


def cost_table(answers: DataFrame) -> DataFrame:
    """Mean costs of a question."""
    columns = ["seconds", "calls", "tokens in", "tokens out", "messages", "bytes", "server s"]
    return answers.groupby(["setting", "system"], sort=False)[columns].mean().round(2).reset_index()


def file_of(bench: Bench, name: str) -> Path:
    """A set's file by its path or its name in the data folder."""
    if name == "demo":
        return QUESTIONS
    if name in DEPARTMENTS:
        return bench.data() / name / QUESTIONS.name
    return Path(name) if Path(name).is_file() else bench.data() / f"{name}.jsonl.gz"
