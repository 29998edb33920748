"""`fedrag bench answers`: the seven sets of the floor, each on one device, answered by several systems in turn.

A row of each question and system is written as it comes: the same command goes on where it was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fedrag_flwr.answering.engine import Engine
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.models.base import Generator
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Plain, Settings
from simulations.answers.scoring import judged
from simulations.answers.sets import EVERYTHING, MADE_UP, SETS, read_set
from simulations.answers.world import open_world
from simulations.bench.systems import order_of

FIVE, EIGHT = 5, 8
Ask = Callable[[Engine, Question], Answer]

# Each system: how a question is asked, and the settings under which it differs.
SYSTEMS: Mapping[str, tuple[Ask, Mapping[str, Plain]]] = {
    "plain": (lambda engine, question: engine.plain(question), {}),
    "engine": (lambda engine, question: engine.at_home(question), {}),
    "memory-only": (lambda engine, question: engine.at_home(question, reading=False), {}),
    "no-memory": (lambda engine, question: engine.at_home(question, memory=False), {}),
    "no-quotes": (lambda engine, question: engine.at_home(question), {"inference.quotes": False}),
    "answer-always": (lambda engine, question: engine.at_home(question), {"inference.abstain-below": 0.0}),
    "windows": (lambda engine, question: engine.at_home(question), {"inference.words": 220}),
}


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One question, one system. No text of a document or an answer.

    `confidence` is the answer's, before it was declined; `found_five` the share of gold documents among the ranking's
    first five passages, `found_all` whether all are among its first eight (-1 where there is no gold document).
    """

    set: str
    system: str
    id: str
    kind: str
    verdict: str
    path: str
    confidence: float
    seconds: float
    calls: int
    tokens_in: int
    tokens_out: int
    found_five: float
    found_all: int


def run_sets(
    names: Sequence[str],
    systems: Sequence[str],
    data: Path,
    split: str,
    settings: Settings,
    out: Path,
    tell: Callable[[str], None],
    most: int | None = None,
) -> list[AnswerRow]:
    """Ask all systems the questions of sets that they were not asked yet; give all rows.

    Parameters
    ----------
    names, systems
        Sets of `SETS`, systems of `SYSTEMS`.
    data
        The folder of evaluation data.
    split
        ``train`` or ``test``.
    settings
        Of all systems; the generation cache is never used.
    out
        The folder of the rows.
    tell
        Told of each step.
    most
        Questions of each set, if not all.
    """
    out.mkdir(parents=True, exist_ok=True)
    file = out / "rows.jsonl"
    rows = read_rows(file)
    done = {(row.set, row.system, row.id) for row in rows}
    with file.open("a", encoding="utf-8") as kept, (out / "answers.jsonl").open("a", encoding="utf-8") as answers:
        for name in names:
            asked = read_set(name, data, split)
            questions = asked.together().questions[:most]
            if all((name, system, one.question_id) in done for one in questions for system in systems):
                continue
            tell(f"{name}: {len(questions)} questions; documents are read")
            with open_world(asked, settings) as device:
                engines = {system: _engine(device, SYSTEMS[system][1], settings) for system in systems}
                for turn, gold in enumerate(questions):
                    found = _found(engines[systems[0]], gold)
                    for system in order_of(list(systems), turn):
                        if (name, system, gold.question_id) in done:
                            continue
                        answer = _ask(engines[system], SYSTEMS[system][0], gold)
                        row = _row(name, system, gold, answer, found)
                        rows.append(row)
                        kept.write(json.dumps(asdict(row)) + "\n")
                        kept.flush()
                        answers.write(_said(row, gold, answer))
                        answers.flush()
                    if turn % 10 == 9:
                        tell(f"{name}: {turn + 1} of {len(questions)}")
    return rows


def read_rows(file: Path) -> list[AnswerRow]:
    """The rows of a file; a last line that was cut off is left out."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    if lines[-1]:
        file.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    return [AnswerRow(**json.loads(line)) for line in lines[:-1]]


def _engine(device: EdgeDevice, changes: Mapping[str, Plain], settings: Settings) -> Engine:
    """The device's engine under a system's settings."""
    if not changes:
        return device.engine
    changed = Settings.from_config({**settings.flat(), **changes})
    return device.engine_under(changed)


def _ask(engine: Engine, ask: Ask, gold: GoldQuestion) -> Answer:
    _forget(engine.reader.generator())
    return ask(engine, Question(gold.question_id, gold.text, EVERYTHING))


def _forget(generator: Generator) -> None:
    """No system profits from the prompt of the one before it."""
    if isinstance(generator, LlamaGenerator):
        generator.forget_prompt()


def _found(engine: Engine, gold: GoldQuestion) -> tuple[float, int]:
    if not gold.documents or engine.order is None:
        return -1.0, -1
    ranked = [one.passage_id.rpartition("#")[0] for one in engine.order.rank(gold.text, EIGHT)]
    wanted = set(gold.documents)
    return len(wanted & set(ranked[:FIVE])) / len(wanted), int(wanted <= set(ranked))


def _row(name: str, system: str, gold: GoldQuestion, answer: Answer, found: tuple[float, int]) -> AnswerRow:
    cost = answer.cost
    return AnswerRow(
        name,
        system,
        gold.question_id,
        gold.kind if gold.answer else "unanswerable",
        judged(gold, answer.text),
        answer.path,
        round(answer.score, 4),
        round(cost.seconds, 3),
        cost.llm_calls,
        cost.tokens_in,
        cost.tokens_out,
        round(found[0], 3),
        found[1],
    )


def _said(row: AnswerRow, gold: GoldQuestion, answer: Answer) -> str:
    """What was said, for whoever reads answers; it holds document text and is not published."""
    told = {"set": row.set, "system": row.system, "id": row.id, "verdict": row.verdict, "question": gold.text}
    told |= {"gold": gold.answer, "answer": answer.text, "explanation": answer.explanation}
    return json.dumps(told, ensure_ascii=False) + "\n"


def known_sets() -> tuple[str, ...]:
    """The names of all sets."""
    return *SETS, *MADE_UP
