"""Fit how likely a table's cell answers a question, on the training questions over tables.

Each question is asked as it is; where its cell is found it is asked twice more, without the row and without the column
that hold it, so that nothing answers it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from pandas import DataFrame

from fedrag_flwr.answering.cells import CELL_FEATURES, Cell, best_cell, cells_of
from fedrag_flwr.answering.judge import SHIPPED, cell_features
from fedrag_flwr.answering.logistic import Logistic
from fedrag_flwr.answering.sentences import RankedText
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.sources.tables import told_row
from simulations.answers.sets import judged, open_set, read_set
from simulations.bench.fitting import fit_logistic
from simulations.bench.frame import Bench

FOLDS = 8
LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7)
PULL = 0.1  # inverse strength of the pull of weights towards 0


@dataclass(frozen=True, slots=True)
class Example:
    """A question's best cell; `asked` is the question's place, `whole` whether nothing was taken out."""

    asked: int
    whole: bool
    values: tuple[float, ...]
    right: bool


def run(
    bench: Bench, write: Annotated[bool, typer.Option(help="Put the fitted model into the package.")] = False
) -> None:
    """Ask, fit, and print what each level keeps of questions left out of the fit."""
    asked = read_set("tables", bench.data(), "train")
    asked = bench.sized(asked, asked.small(8, 1))
    with open_set(asked, bench.settings, memories=False) as device:
        questions = asked.together().questions
        found = [one for place, gold in enumerate(questions) for one in _examples(device, place, gold)]
    if bench.quick:
        bench.tell(f"{sum(one.right for one in found)} of {len(found)} cells are right")
        return
    bench.table(
        "levels", _left_out(found), f"{len(questions)} questions; {sum(one.right for one in found)} cells right"
    )
    if write:
        file = json.loads(SHIPPED.read_text(encoding="utf-8"))
        file["cells"] = _fitted(found).model_dump()
        replace_file(SHIPPED, (json.dumps(file, indent=1) + "\n").encode())


def _examples(device: EdgeDevice, place: int, gold: GoldQuestion) -> Iterator[Example]:
    engine = device.engine
    asked, ranked = engine.asked(gold.text), engine.ranked(gold.text)
    cell = best_cell(gold.text, asked.vector, ranked, engine.encoder)
    if cell is None:
        return
    right = judged(gold, cell.text) == "right"
    yield Example(place, True, cell_features(asked.analysis, cell), right)
    for texts in _without(cell, ranked) if right else ():
        if other := best_cell(gold.text, asked.vector, texts, engine.encoder):
            yield Example(place, False, cell_features(asked.analysis, other), judged(gold, other.text) == "right")


def _without(cell: Cell, ranked: Sequence[RankedText]) -> Iterator[Sequence[RankedText]]:
    """The passages without the cell's row, and without its column."""
    row = ranked[cell.passage]
    kept = [pair for pair in cells_of(" ".join(row.sentences)) if pair[0] != cell.head]
    yield [one for one in ranked if one is not row]
    yield [replace(one, sentences=[told_row(*zip(*kept, strict=True))]) if one is row else one for one in ranked]


def _fitted(found: Sequence[Example]) -> Logistic:
    return fit_logistic(CELL_FEATURES, [one.values for one in found], [one.right for one in found], C=PULL)


def _left_out(found: Sequence[Example]) -> DataFrame:
    """What each level keeps, each question judged by a model that was fitted without its fold."""
    rows = []
    models = [_fitted([one for one in found if one.asked % FOLDS != fold]) for fold in range(FOLDS)]
    sure = [(one, models[one.asked % FOLDS].of(one.values)) for one in found]
    for level in LEVELS:
        kept = [one for one, chance in sure if chance >= level]
        whole = [one for one in kept if one.whole]
        right = sum(one.right for one in whole)
        rows.append((level, right, len(whole) - right, len(kept) - len(whole)))
    return DataFrame(rows, columns=["level", "right", "wrong", "given though nothing answers"])
