"""How often is an answer right, and what does it cost, beside plainly asking the same model?

The questions of the floor's sets, each set on one device with all of its documents. Systems take turns question by
question. `rows.jsonl` and `answers.csv` have a line of each and no text; `said.jsonl` has the texts.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from pandas import DataFrame, concat

from fedrag_flwr.answering.engine import Engine
from fedrag_flwr.cli.console import out
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.modes import Engines
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from simulations.answers.sets import EVERYTHING, SETS, AnswerSet, judged, known_sets, open_set, read_set
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.outcome import groups
from simulations.bench.plan import named
from simulations.bench.systems import order_of
from simulations.bench.tables import difference

FLOOR = "plain"
FIVE, EIGHT = 5, 8
BINS = 10
NEAR = 0.8
LEVELS = (0.0, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)  # of confidence, whose cost a table shows
QUICK_QUESTIONS, QUICK_BESIDE = 2, 1
VERDICTS = ("right", "wrong", "declined")
Ask = Callable[[Engine, Question], Answer]

# Each system: how a question is asked, and the settings under which it differs.
SYSTEMS: Mapping[str, tuple[Ask, Mapping[str, Plain]]] = {
    "plain": (lambda engine, question: engine.plain(question), {}),
    "engine": (lambda engine, question: engine.at_home(question), {}),
    "memory-only": (lambda engine, question: engine.at_home(question, reading=False), {}),
    "no-memory": (lambda engine, question: engine.at_home(question, memory=False), {}),
    "no-quotes": (lambda engine, question: engine.at_home(question), {"inference.quotes": False}),
    "answer-always": (lambda engine, question: engine.at_home(question), {"inference.abstain-below": 0.0}),
}


def run(
    bench: Bench,
    sets: Annotated[str, typer.Option(help="Names separated by commas; the seven without it. `list` names all.")] = "",
    systems: Annotated[str, typer.Option(help="Names separated by commas; `list` names all.")] = "plain,engine",
    split: Annotated[str, typer.Option(help="test to report, train to fit.")] = "test",
) -> None:
    """Ask the sets' questions; print right, wrong and declined answers, their cost, and the difference to `plain`."""
    if "list" in (sets, systems):
        out.print("\n".join(SYSTEMS if systems == "list" else known_sets()))
        return
    asked = named(sets or bench.sized(",".join(SETS), "demo"), known_sets(), "set")
    chosen = named(systems, tuple(SYSTEMS))
    if split not in ("train", "test"):
        raise SettingError(f"'{split}' is no split", where="--split", fix="train or test")
    settings = Settings.from_config({**bench.settings.flat(), "models.generation-cache": False})
    found: list[Row] = []
    for name in asked:
        one = read_set(name, bench.data(), split)
        found += ask_set(name, bench.sized(one, one.small(QUICK_QUESTIONS, QUICK_BESIDE)), chosen, settings, bench)
    report(bench, found, chosen)


def ask_set(name: str, asked: AnswerSet, systems: Sequence[str], settings: Settings, bench: Bench) -> list[Row]:
    """Ask all systems the questions of a set that they were not asked yet; give a row of each."""
    questions = asked.together().questions
    bench.tell(f"{name}: {len(questions)} questions; documents are read")
    found: list[Row] = []
    with open_set(asked, settings) as device:
        rows = bench.rows("rows", device.models.generator_id, str(settings.digest()))
        changed = {system: Settings.from_config({**settings.flat(), **SYSTEMS[system][1]}) for system in systems}
        engines = {
            name: engine_under(device, own) if own != settings else device.engine for name, own in changed.items()
        }
        nearest = nearest_memories(device, questions)
        for turn, gold in enumerate(questions):
            for system in order_of(list(systems), turn):
                key = f"{name}/{system}/{gold.question_id}"
                row = rows.row(key, answered, name, system, engines[system], gold, bench)
                found.append({**row, "nearest": nearest[turn]})
            if turn % 10 == 9:
                bench.tell(f"{name}: {turn + 1} of {len(questions)}")
    return found


def engine_under(device: EdgeDevice, settings: Settings) -> Engine:
    """A device's inference engine over all memories under other settings of reading and answering."""
    models = load_models(settings.models, fedrag_home(settings.home))
    return Engines(device.name, device.store, settings, models, device.order).over("all")


def nearest_memories(device: EdgeDevice, questions: Sequence[GoldQuestion]) -> list[float]:
    """The cosine of each question to the nearest memory question (FD-RAG fig. 5); -1 where there is no memory."""
    memories = [item.embedding for item in device.store.items()]
    if not memories:
        return [-1.0] * len(questions)
    asked = device.models.encoder.encode([one.text for one in questions])
    return [round(float(one), 4) for one in (asked @ np.stack(memories).T).max(axis=1)]


def answered(name: str, system: str, engine: Engine, gold: GoldQuestion, bench: Bench) -> Row:
    """A system's answer to a question, without any text; the texts go to ``said.jsonl``.

    `confidence` is the answer's, before it was declined; `found five` the share of gold documents among the ranking's
    first five passages, `found all` whether all are among its first eight (-1 where there is no gold document).
    """
    generator = engine.reader.generator()
    if isinstance(generator, LlamaGenerator):  # no system profits from the prompt of the one before it
        generator.forget_prompt()
    answer = SYSTEMS[system][0](engine, Question(gold.question_id, gold.text, EVERYTHING))
    row: dict[str, Any] = {"set": name, "system": system, "id": gold.question_id, "verdict": judged(gold, answer.text)}
    told = row | {"question": gold.text, "gold": gold.answer, "answer": answer.text, "explanation": answer.explanation}
    with (bench.out / "said.jsonl").open("a", encoding="utf-8") as out_file:
        out_file.write(json.dumps(told, ensure_ascii=False) + "\n")
    five, every, wanted = -1.0, -1, set(gold.documents)
    if wanted and engine.order is not None:
        ranked = [one.passage_id.rpartition("#")[0] for one in engine.order.rank(gold.text, EIGHT)]
        five, every = round(len(wanted & set(ranked[:FIVE])) / len(wanted), 3), int(wanted <= set(ranked))
    return {
        **row,
        "kind": gold.kind if gold.answer else "unanswerable",
        "path": answer.path,
        "confidence": round(answer.score, 4),
        "seconds": round(answer.cost.seconds, 3),
        "calls": answer.cost.llm_calls,
        "tokens in": answer.cost.tokens_in,
        "tokens out": answer.cost.tokens_out,
        "found five": five,
        "found all": every,
    }


def report(bench: Bench, found: Sequence[Row], systems: Sequence[str]) -> None:
    """Print and keep all tables, and a reliability diagram for each system that tells its confidence."""
    rows = DataFrame([dict(one) for one in found])
    rows.to_csv(bench.out / "answers.csv", index=False)
    bench.table("answers", answer_table(rows))
    bench.table("kinds", kind_table(rows), "Right / wrong / declined by kind of question")
    bench.table("ranking", ranking_table(rows), "Gold documents that the ranking finds")
    bench.table("nearest", nearest_table(rows), "Cosine of questions to the nearest memory question")
    for system in systems:
        if system != FLOOR:
            bins = reliability(rows[rows["system"] == system])
            caption = f"{system}: expected calibration error {calibration_error(bins):.3f}"
            bench.table(f"reliability_{system}", bins.round(2), caption)
            lines = bins.set_index("told")[["right"]].assign(**{"as told": bins["told"].to_numpy()})
            bench.chart(f"reliability_{system}", lines, "confidence", "share of answers that are right")
        if system == "answer-always":
            bench.table("levels", level_table(rows[rows["system"] == system], LEVELS), "What each level would cost")


def answer_table(rows: DataFrame) -> DataFrame:
    """One line for each set and system, and over all sets."""
    whole = concat([rows, rows.assign(set="all")]) if rows["set"].nunique() > 1 else rows
    lines = []
    for (name, system), own in groups(whole, "set", "system"):
        floor = whole[(whole["set"] == name) & (whole["system"] == FLOOR)]
        line: dict[str, object] = {"set": name, "system": system, "n": len(own)}
        line |= {verdict: int((own["verdict"] == verdict).sum()) for verdict in VERDICTS}
        line["right - plain"] = "" if system == FLOOR else _against(own, floor)
        line["mean s"] = round(own["seconds"].mean(), 2)
        line["p95 s"] = round(own["seconds"].quantile(0.95), 2)
        line["read"] = round(own["tokens in"].mean())
        line["written"] = round(own["tokens out"].mean(), 1)
        line["calls"] = round(own["calls"].mean(), 2)
        lines.append(line)
    return DataFrame(lines)


def _against(own: DataFrame, floor: DataFrame) -> str:
    """The paired difference to the floor, in points, with its interval."""
    pairs = own.merge(floor[["set", "id", "verdict"]], on=["set", "id"], suffixes=("", " there"))
    if len(pairs) < 2:
        return ""
    first, second = ((pairs[name] == "right").astype(float).to_numpy() for name in ("verdict", "verdict there"))
    return difference(first, second, 7, times=100)


def _counts(rows: DataFrame) -> str:
    return " / ".join(str((rows["verdict"] == verdict).sum()) for verdict in VERDICTS)


def kind_table(rows: DataFrame) -> DataFrame:
    """Right, wrong and declined, by set and kind of question, for each system."""
    lines = []
    for (name, kind), own in groups(rows, "set", "kind"):
        line: dict[str, object] = {"set": name, "kind": kind, "n": own["id"].nunique()}
        for (system,), of in groups(own, "system"):
            line[system] = _counts(of)
        lines.append(line)
    return DataFrame(lines)


def ranking_table(rows: DataFrame) -> DataFrame:
    """How much of the gold documents the ranking finds, by set."""
    own = rows[rows["found all"] >= 0].drop_duplicates(["set", "id"])
    found = own.groupby("set", sort=False).agg(
        **{"n": ("id", "size"), "R@5": ("found five", "mean"), "all gold at 8": ("found all", "mean")}
    )
    found[["R@5", "all gold at 8"]] = (100 * found[["R@5", "all gold at 8"]]).round(1)
    return found.reset_index()


def nearest_table(rows: DataFrame) -> DataFrame:
    """How near questions come to memories, by set: quantiles, and the share above 0.8."""
    lines = []
    for (name,), own in groups(rows.drop_duplicates(["set", "id"]), "set"):
        near = own["nearest"].to_numpy(dtype=np.float64)
        line: dict[str, object] = {"set": name, "n": len(near)}
        line |= {f"{level} %": round(float(np.percentile(near, level)), 3) for level in (10, 50, 90)}
        lines.append(line | {f"above {NEAR}, %": round(100 * float(np.mean(near > NEAR)))})
    return DataFrame(lines)


def reliability(rows: DataFrame) -> DataFrame:
    """Given answers by confidence in bins of equal width: how many, their mean confidence, the share that is right."""
    given = rows[rows["path"] != "abstained"]
    place = (given["confidence"] * BINS).astype(int).clip(upper=BINS - 1)
    found = (
        given.assign(right=given["verdict"] == "right")
        .groupby(place)
        .agg(answers=("right", "size"), told=("confidence", "mean"), right=("right", "mean"))
    )
    found.insert(0, "confidence", [f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}" for at in found.index])
    return found.reset_index(drop=True)


def calibration_error(bins: DataFrame) -> float:
    """Expected calibration error of given answers (Guo et al. 2017, eq. 3)."""
    return float((bins["answers"] * (bins["told"] - bins["right"]).abs()).sum() / max(bins["answers"].sum(), 1))


def level_table(rows: DataFrame, levels: Sequence[float]) -> DataFrame:
    """What each level of confidence, below which nothing is answered, would have cost."""
    right, nothing = rows["verdict"] == "right", rows["kind"] == "unanswerable"
    lines = []
    for level in levels:
        kept = (rows["path"] != "abstained") & (rows["confidence"] >= level)
        lines.append(
            {
                "level": level,
                "right answers": int((kept & right).sum()),
                "wrong answers": int((kept & ~right).sum()),
                "answerable declined, %": round(100 - 100 * kept[~nothing].mean()),
                "unanswerable declined, %": round(100 - 100 * kept[nothing].mean()) if nothing.any() else "",
            }
        )
    return DataFrame(lines)
