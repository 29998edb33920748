"""Accuracy against latency as the Memorizer's threshold varies, on HotpotQA (FD-RAG fig. 2 and Table 2).

    python simulations/delta_sweep.py [--data FOLDER] [--questions 100] [--rows 100] [--tokens 20]
                                      [--split dev|train] [--out docs/benchmarks]

The local setting: one device with the paragraphs of the first dev rows, remembered as by `bench_construction.py` (same
options; built first where it is not kept), asked these rows' questions. The Cognizer answers each question once, with
the Memorizer switched off; the Memorizer is asked once for each threshold, and where it answers, its answer and its
seconds stand in the Cognizer's place. So each threshold's result is what the device would do, but for noise in its
clock. All other settings are the defaults. The generation cache lets a run that was cut short go on (replayed answers
count with the seconds that they took once). Prints a Markdown table and writes ``delta_sweep.json`` and
``delta_sweep.svg``. With `--split train` it is the train rows, on which a threshold may be chosen, and the files are
``delta_sweep_train``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from fedrag_flwr.evaluation.bootstrap import mean_interval
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.verdicts import judge
from fedrag_flwr.inference.engine import Engine
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Settings
from simulations.bench_construction import MEASURED, add_options
from simulations.corpora.sentences import find_data
from simulations.dataset_memory import DEVICE, benchmark_of, kept_memory, open_device
from simulations.reporting.line_chart import line_chart

DELTAS = tuple(round(0.4 + 0.05 * step, 2) for step in range(13))
NEVER = 2.0  # no score reaches it
SEED = 7


@dataclass(frozen=True, slots=True)
class Said:
    """What one path answered, how right that was, and its seconds and calls."""

    text: str
    acc: float
    f1: float
    seconds: float
    llm_calls: int


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold's result: shares of all questions, mean seconds, and how right each path was where it answered."""

    delta: float
    acc: float
    low: float
    high: float
    f1: float
    seconds: float
    llm_calls: float
    memorizer: float
    memorizer_acc: float
    cognizer_acc: float


def said(gold: GoldQuestion, answer: Answer) -> Said:
    """Judge an answer."""
    verdict = judge(gold, answer)
    return Said(answer.text, verdict.acc, verdict.f1, answer.cost.seconds, answer.cost.llm_calls)


def at_delta(engine: Engine, delta: float) -> Engine:
    """The same engine with another threshold of the Memorizer."""
    memorizer = replace(engine.leads.memorizer, delta=delta)
    return replace(engine, leads=replace(engine.leads, memorizer=memorizer))


def reasoned(engine: Engine, questions: Sequence[GoldQuestion]) -> list[Said]:
    """The Cognizer's answers to all questions."""
    slow = at_delta(engine, NEVER)
    found = []
    for done, gold in enumerate(questions, 1):
        found.append(said(gold, slow.finish(Question(gold.question_id, gold.text, DEVICE), ())))
        print(f"cognizer {done}/{len(questions)}", file=sys.stderr, flush=True)
    return found


def recalled(engine: Engine, delta: float, questions: Sequence[GoldQuestion]) -> list[Said | None]:
    """The Memorizer's answers at a threshold; None where it leaves a question to the Cognizer."""
    fast = at_delta(engine, delta)
    found: list[Said | None] = []
    for gold in questions:
        start = time.perf_counter()
        lead = fast.leads.lead(gold.text)
        seconds = time.perf_counter() - start
        if lead.known is None:
            found.append(None)
        else:
            verdict = judge(gold, Answer(gold.question_id, lead.known.item.answer, "memorizer", lead.known.score))
            found.append(Said(lead.known.item.answer, verdict.acc, verdict.f1, seconds, 0))
    return found


def point(delta: float, fast: Sequence[Said | None], slow: Sequence[Said]) -> Point:
    """What the device would do at a threshold: memory where it knows, the model elsewhere."""
    taken = [known or other for known, other in zip(fast, slow, strict=True)]
    acc = np.array([one.acc for one in taken])
    interval = mean_interval(acc, rng=np.random.default_rng(SEED))
    by_memory = [known.acc for known in fast if known]
    by_model = [other.acc for known, other in zip(fast, slow, strict=True) if not known]
    return Point(
        delta=delta,
        acc=float(acc.mean()),
        low=interval.low,
        high=interval.high,
        f1=float(np.mean([one.f1 for one in taken])),
        seconds=float(np.mean([one.seconds for one in taken])),
        llm_calls=float(np.mean([one.llm_calls for one in taken])),
        memorizer=len(by_memory) / len(fast),
        memorizer_acc=float(np.mean(by_memory)) if by_memory else float("nan"),
        cognizer_acc=float(np.mean(by_model)) if by_model else float("nan"),
    )


def table(points: Sequence[Point], fitted: float) -> str:
    """The sweep as a Markdown table; the product's threshold is marked."""
    lines = [
        "| delta | ACC (95 %) | F1 | mean s | LLM calls | Memorizer | its ACC | the Cognizer's ACC |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in points:
        name = (
            "Cognizer alone" if one.delta == NEVER else f"{one.delta:.2f}{' (default)' if one.delta == fitted else ''}"
        )
        shares = (one.memorizer, one.memorizer_acc, one.cognizer_acc)
        cells = [
            name,
            f"{100 * one.acc:.1f} ({100 * one.low:.0f}-{100 * one.high:.0f})",
            f"{100 * one.f1:.1f}",
            f"{one.seconds:.2f}",
            f"{one.llm_calls:.2f}",
            *("-" if np.isnan(share) else f"{100 * share:.0f}" for share in shares),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def chart(points: Sequence[Point]) -> str:
    """ACC over mean seconds, each threshold's name beside the first point that differs from the one before."""
    places = [(round(one.seconds, 2), one.acc) for one in points]
    return line_chart(
        {"threshold of the Memorizer": [100 * acc for _, acc in places]},
        "mean seconds a question",
        "ACC, %",
        [seconds for seconds, _ in places],
        {n: f"{one.delta:g}" for n, one in enumerate(points) if n == 0 or places[n] != places[n - 1]},
    )


def main() -> None:
    """Answer by both paths, replay the sweep, print and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    settings = Settings()
    add_options(parser)
    parser.add_argument("--questions", type=int, default=100, help="ask the first so many of the rows' questions")
    parser.add_argument("--split", choices=("dev", "train"), default="dev")
    arguments = parser.parse_args()
    data, rows, split = find_data(arguments.data), arguments.rows, arguments.split
    row = kept_memory(data, MEASURED, rows, arguments.tokens, half=False, split=split)
    questions = benchmark_of(data, MEASURED, rows, split).questions[: arguments.questions]
    fitted = settings.memory.delta
    with open_device(row) as device:
        slow = reasoned(device.engine, questions)
        deltas = sorted({*DELTAS, fitted, NEVER})
        points = [point(delta, recalled(device.engine, delta, questions), slow) for delta in deltas]
    print(f"{len(questions)} questions, {row['items']:,} memories, alpha {settings.memory.alpha}\n")
    print(table(points, fitted))
    arguments.out.mkdir(parents=True, exist_ok=True)
    result = {"questions": len(questions), "memories": row["items"], "points": [asdict(one) for one in points]}
    name = "delta_sweep" if split == "dev" else f"delta_sweep_{split}"
    (arguments.out / f"{name}.json").write_text(
        json.dumps(result, indent=1).replace("NaN", "null") + "\n", encoding="utf-8"
    )
    (arguments.out / f"{name}.svg").write_text(chart(points), encoding="utf-8")


if __name__ == "__main__":
    main()
