"""Answers over devices of one domain each: naive, local and routed by summaries (DGRAG 4.5 and 4.6).

    python simulations/bench_summary_routing.py --set openstax --documents 25 [--home 12] [--foreign 4]
        [--systems local-rag,local-graph,summary-routing] [--answers-at home] [--judged 10] [--change KEY=VALUE]

Each device is asked dev questions of its own domain and of each other. `local-rag` is the paper's Naive RAG,
`local-graph` its Local RAG. Answers are kept as they come, so that a stopped run goes on. Graphs are built by
`bench_routing_hits.py`, or here where they are not. Systems without a part, such as
`summary-routing-no-graph` (DGRAG table 3), are named as in `fedrag bench`. Beside marks come seconds by phase (DGRAG
fig. 3b).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from client_app.app import app
from fedrag_flwr.cli.console import changed
from fedrag_flwr.evaluation.metrics import accuracy, f1
from fedrag_flwr.evaluation.pairwise import CRITERIA, Judge, Pair, agreement, count_wins
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Answer
from simulations.bench.systems import VARIANTS
from simulations.corpora.domain_data import DomainQuestion
from simulations.fixtures.summary_world import SummaryWorld, as_asked, world
from simulations.reporting.folders import out_folder
from simulations.reporting.row_file import RowFile, this_code
from strategies import ServerTools, make_strategy
from strategies.outcome import RunOutcome

SYSTEMS = "local-rag,local-graph,summary-routing"
AT_ONCE = 8  # questions of one round


@dataclass(frozen=True, slots=True)
class Row:
    """One answer with its marks; `option` says whether the right option was chosen, None where there are none."""

    id: str
    system: str
    home: str
    at_home: bool
    text: str
    path: str
    sent: bool
    seconds: float
    llm_calls: int
    f1: float
    acc: float
    option: float | None


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds by phase for so many questions; for none: before the first of a call."""

    asked: int
    seconds: dict[str, float]


def answers(made: SummaryWorld, system: str, asked: Mapping[str, Sequence[DomainQuestion]], where: str) -> list[Row]:
    """The answers of a system; those given before are read back."""
    kept = _kept(made, system, where)
    known = {row["id"]: Row(**row) for row in kept.rows()}
    golds = {as_asked(one, home).id: (one, home) for home, questions in asked.items() for one in questions}
    waiting = [name for name in golds if name not in known]
    if waiting:
        strategy_name, changes = VARIANTS.get(system, (system, {}))
        changed = {key.replace(".", "__").replace("-", "_"): value for key, value in changes.items()}
        settings = made.settings(strategy=strategy_name, routing__answers_at=where, **changed)
        tools = ServerTools(settings)
        tools.__dict__["models"] = made.models
        nodes = [{"partition-id": number} for number in range(len(made.devices))]
        grid = LocalGrid(app, nodes, settings.flat(), run_id=os.getpid())  # two calls side by side are two runs
        strategy = make_strategy(strategy_name, settings, (), tools)
        strategy.prepare(grid, str(grid.run.run_id))
        spent = _seconds(strategy.outcome())
        _spend(kept, 0, {}, spent)
        for start in range(0, len(waiting), AT_ONCE):
            batch = waiting[start : start + AT_ONCE]
            strategy.ask([as_asked(*golds[name]) for name in batch])
            before, spent = spent, _seconds(strategy.outcome())
            _spend(kept, len(batch), before, spent)
            for name in batch:
                known[name] = marked(strategy.answers[name], *golds[name], system)
            kept.add(*(asdict(known[name]) for name in batch))
            print(f"{system}: {start + len(batch)}/{len(waiting)}", flush=True)
    return [known[name] for name in golds]


def _kept(made: SummaryWorld, system: str, where: str) -> RowFile:
    """Where a system's answers are kept."""
    variant = f"{system}-{where}" if system.startswith("summary-routing") else system
    told = json.dumps(dict(made.changes), sort_keys=True)
    mark = f"-{hashlib.sha256(told.encode()).hexdigest()[:6]}" if made.changes else ""
    path = made.home / f"answers-{made.name}-{made.most}-{variant}{mark}.jsonl"
    return RowFile(path, this_code(made.models.generator_id))


def _beside(kept: RowFile) -> RowFile:
    """The seconds that each call spent for these answers."""
    return replace(kept, path=kept.path.with_suffix(".phases"))


def _seconds(outcome: RunOutcome) -> dict[str, float]:
    waited = {phase: one.seconds for phase, one in outcome.traffic.by_phase.items()}
    return {**waited, "the server's own work": outcome.server_seconds}


def _spend(kept: RowFile, asked: int, before: Mapping[str, float], after: Mapping[str, float]) -> None:
    spent = Spent(asked, {phase: seconds - before.get(phase, 0.0) for phase, seconds in after.items()})
    _beside(kept).add(asdict(spent))


def phases(system: str, spent: Sequence[Spent]) -> list[str]:
    """Rows of a phase's seconds before the first question, the most of any call, and of a question on average."""
    asked = sum(one.asked for one in spent)
    rows = []
    for phase in dict.fromkeys(phase for one in spent for phase in one.seconds):
        before = max((one.seconds.get(phase, 0.0) for one in spent if not one.asked), default=0.0)
        each = sum(one.seconds.get(phase, 0.0) for one in spent if one.asked) / asked
        rows.append(f"| {system} | {phase} | {before:.1f} | {each:.2f} |")
    return rows


def marked(answer: Answer, question: DomainQuestion, home: str, system: str) -> Row:
    """An answer with its marks."""
    return Row(
        id=answer.question_id,
        system=system,
        home=home,
        at_home=question.domain == home,
        text=answer.text,
        path=answer.path,
        sent=any(one.step == "routing" for one in answer.decisions),
        seconds=answer.cost.seconds,
        llm_calls=answer.cost.llm_calls,
        f1=f1(answer.text, [question.answer]),
        acc=accuracy(answer.text, [question.answer]),
        option=_option(answer.text, question),
    )


def _option(text: str, question: DomainQuestion) -> float | None:
    """Whether the option that is most like the answer is the right one; an answer unlike all chooses none."""
    if not question.choices:
        return None
    scores = [f1(text, [choice]) for choice in question.choices]
    best = int(np.argmax(scores))
    return float(scores[best] > 0 and question.choices[best] == question.answer)


def summed(rows: Sequence[Row]) -> dict[str, str]:
    """Means in per cent and seconds."""
    options = [row.option for row in rows if row.option is not None]
    return {
        "questions": str(len(rows)),
        "F1": _per_cent(row.f1 for row in rows),
        "ACC": _per_cent(row.acc for row in rows),
        "option": _per_cent(options),
        "declined": _per_cent(row.path == "abstained" for row in rows),
        "sent": _per_cent(row.sent for row in rows),
        "LLM calls": f"{np.mean([row.llm_calls for row in rows]):.2f}",
        "mean s": f"{np.mean([row.seconds for row in rows]):.2f}",
    }


def judged(made: SummaryWorld, rows: Mapping[str, Sequence[Row]], most: int) -> list[str]:
    """Win rates of the last system over the others, on so many home and foreign questions, of all devices in turn."""
    names = list(rows)
    judge = Judge(made.models.generator)
    texts = {as_asked(one, home).id: one.text for one in made.domains.questions for home in made.devices}
    lines = ["| against | questions | criterion | win rate | ties | agrees with F1 |", "|---|---|---|---|---|---|"]
    for other in names[:-1]:
        for at_home in (True, False):
            both = in_turn((a, b) for a, b in zip(rows[names[-1]], rows[other], strict=True) if a.at_home == at_home)
            pairs = [Pair(texts[a.id], a.text, b.text) for a, b in both[:most]]
            for criterion in CRITERIA:
                winners = [judge.compare(pair, criterion) for pair in pairs]
                found, agreed = (
                    count_wins(winners),
                    agreement(winners, [a.f1 for a, _ in both[:most]], [b.f1 for _, b in both[:most]]),
                )
                lines.append(
                    f"| {other} | {'home' if at_home else 'foreign'} | {criterion} | {100 * found.rate:.1f} "
                    f"| {100 * found.tied:.1f} | {'-' if agreed is None else f'{100 * agreed:.0f}'} |"
                )
    return lines


def in_turn(pairs: Iterable[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    """Answers of two systems to one question each: the first of every home, then the second of every home, and on."""
    by_home: defaultdict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for pair in pairs:
        by_home[pair[0].home].append(pair)
    return [pair for turn in zip_longest(*by_home.values()) for pair in turn if pair is not None]


def table(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """All systems, on home and on foreign questions."""
    lines: list[str] = []
    for name, found in rows.items():
        for where in (True, False):
            cells = summed([row for row in found if row.at_home == where])
            if not lines:
                lines = [f"| system | asked | {' | '.join(cells)} |", "|---" * (len(cells) + 2) + "|"]
            lines.append(f"| {name} | {'home' if where else 'foreign'} | {' | '.join(cells.values())} |")
    return lines


def _per_cent(values: Iterable[float | bool | None]) -> str:
    found = [float(value) for value in values if value is not None]
    return f"{100 * np.mean(found):.1f}" if found else "-"


def main() -> None:
    """Ask, mark, judge, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("openstax", "medquad"), default="openstax")
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--systems", default=SYSTEMS)
    parser.add_argument("--answers-at", choices=("home", "server"), default="home")
    parser.add_argument("--home", type=int, default=60, help="questions of its own domain for each device")
    parser.add_argument("--foreign", type=int, default=20, help="of each other domain")
    parser.add_argument("--judged", type=int, default=0, help="home and foreign questions that the model judges")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--change", action="append", default=[], metavar="KEY=VALUE", help="a setting of all systems")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    made = world(arguments.set, arguments.documents, arguments.data, changed(arguments.change))
    asked = made.domains.dealt("dev", arguments.home, arguments.foreign, arguments.seed)
    rows = {name: answers(made, name, asked, arguments.answers_at) for name in arguments.systems.split(",")}
    lines = table(rows)
    if arguments.judged:
        lines += ["", *judged(made, rows, arguments.judged)]
    lines += ["", "| system | phase | before, s | a question, s |", "|---|---|---|---|"]
    for name in rows:
        lines += phases(name, [Spent(**one) for one in _beside(_kept(made, name, arguments.answers_at)).rows()])
    print("\n".join(lines))
    at = "" if arguments.answers_at == "home" else "_server"
    target = arguments.out / f"summary_routing_{arguments.set}{at}.md"
    target.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
