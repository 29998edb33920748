"""One federation asked in the open, by downloaded vectors and encrypted: the same devices, and the same answers?

    python simulations/compare_exchanges.py [--strategies summary-routing,fedrag] [--limit 0] [--out docs/benchmarks]

Asks the training questions of the demo (0: all) at its five devices, each leaving home: the gate trusts nobody, memory
answers nothing and home's own reading closes nothing. SmolLM2 is the generator, and what it wrote is kept, so that
equal prompts give equal answers at once. Under `summary-routing` devices hold no overview in the open, as the gate
would otherwise see more there. Prints a table and writes ``exchanges.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from client_app.app import app
from fedrag_flwr.demo import QUESTIONS
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from simulations.reporting.folders import out_folder
from strategies import ServerTools, SummaryRouting, make_strategy

DEVICES = 5
HIDDEN = ("download", "encrypted")
HEADS = ("strategy", "exchange", "questions", "devices asked", "same devices", "equal answers where they are")
COST = ("KB a question before evidence", "server's scoring, ms a question")


@dataclass(frozen=True, slots=True)
class Compared:
    """One exchange beside the open one.

    `asked` is the mean number of devices that a question went to, `same` counts questions for which these are the same
    devices in both exchanges, `equal` those of them with one answer.
    """

    strategy: str
    exchange: str
    questions: int
    asked: float
    same: int
    equal: int
    kilobytes: float
    scoring_ms: float


def compare(home: Path, strategy: str, asked: Sequence[Question]) -> list[Compared]:
    """Ask a strategy in all exchanges, over the same devices and the same bank."""
    run(home, strategy, "plain", asked[:1])  # names that a device learns at its first build leave other memories later
    opened = run(home, strategy, "plain", asked)
    return [_beside(opened, run(home, strategy, exchange, asked), exchange) for exchange in HIDDEN]


def _beside(opened: SummaryRouting, private: SummaryRouting, exchange: str) -> Compared:
    routed = [name for name in opened.routes if name in private.routes]
    same = [name for name in routed if set(opened.routes[name]) == set(private.routes[name])]
    equal = [name for name in same if opened.answers[name].text == private.answers[name].text]
    phases = private.outcome().traffic.by_phase
    before = [phases[name] for name in ("query.encrypt", "query.route") if name in phases]
    return Compared(
        strategy=private.name,
        exchange=exchange,
        questions=len(routed),
        asked=sum(len(private.routes[name]) for name in routed) / max(1, len(routed)),
        same=len(same),
        equal=len(equal),
        kilobytes=sum(one.bytes_up + one.bytes_down for one in before) / 1000 / max(1, len(routed)),
        scoring_ms=private.counts["scoring-ms"] / max(1, private.counts["scored"]),
    )


def run(home: Path, strategy: str, exchange: str, asked: Sequence[Question]) -> SummaryRouting:
    """One strategy over the demo's devices, which are built once."""
    changes: dict[str, Plain] = {"routing.overview": 0} if strategy == "summary-routing" else {"memory.delta": 1.0}
    settings = Settings.from_config(
        {
            "strategy": strategy,
            "exchange": exchange,
            "home": str(home),
            "models.generator": "smollm2-135m",
            "models.context-tokens": 2048,
            "inference.max-answer-tokens": 8,
            "inference.abstain-below": 0.0,  # answers that were declined would all be equal
            "fedrag.cache": False,
            "fedrag.reading": False,
            "gate.candidates": 1,
            "gate.threshold": 1.0,
            "routing.quota": 1_000_000,
            "federation.poll-seconds": 0.01,
            **changes,
        }
    )
    tools = ServerTools(settings)
    made = make_strategy(strategy, settings, asked, tools)
    if not isinstance(made, SummaryRouting):
        raise SettingError(f"{strategy} does not route by summaries", where="strategies", fix="leave it out")
    nodes: list[dict[str, Plain]] = [{"partition-id": n, "num-partitions": DEVICES} for n in range(DEVICES)]
    made.run(LocalGrid(app, nodes, settings.flat()), "1")
    tools.close()
    return made


def table(rows: Sequence[Compared]) -> str:
    """The figures in Markdown."""
    lines: list[Sequence[str]] = [(*HEADS, *COST), ("---",) * (len(HEADS) + len(COST))]
    for row in rows:
        told = (f"{row.same} of {row.questions}", f"{row.equal} of {row.same}", f"{row.kilobytes:.0f}")
        scoring = f"{row.scoring_ms:.0f}" if row.exchange == "encrypted" else "-"
        lines.append((row.strategy, row.exchange, str(row.questions), f"{row.asked:.1f}", *told, scoring))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Ask, compare and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategies", default="summary-routing,fedrag")
    parser.add_argument("--limit", type=int, default=0, help="ask the first so many questions")
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    gold = [one for one in read_gold(QUESTIONS) if one.split == "train"]
    asked = [Question(one.question_id, one.text, one.home) for one in gold][: options.limit or None]
    home = fedrag_home() / "exchanges"
    rows = [row for name in options.strategies.split(",") for row in compare(home, name, asked)]
    print(table(rows))
    if options.out is not None:
        told = json.dumps([asdict(row) for row in rows], indent=1)
        (options.out / "exchanges.json").write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
