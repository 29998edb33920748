"""Cells: what one row of a table answers is answered by its cell, without the generator.

A row is a passage in which each cell stands behind its column's head (`fedrag_flwr.sources.tables.told_row`). A small
model that reads one often names the cell of another column or row. The cell is chosen whose row and head come nearest
to the question; no cell answers that the question tells itself.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.answering.sentences import RankedText, content_words
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Vector
from fedrag_flwr.text.words import told_words

CELL_FEATURES = ("near", "lead", "row told", "head told", "rank", "passage", "wrong kind")
PASSAGES = 6  # that are looked at
_ROW_TOLD = 0.4  # what the share of the question that the row tells adds to the cosines
_HEAD_TOLD = 0.2  # what the share of the head that the question tells adds
_LEAST, _MOST = -6.0, 5.0  # of a passage's log-odds
_CELL = re.compile(r"(?P<head>[^:;\n]{1,60}): (?P<text>.*)")
_LONG_NAMES = {
    short: long
    for names in ((calendar.day_abbr, calendar.day_name), (calendar.month_abbr, calendar.month_name))
    for short, long in zip(*names, strict=True)
    if short
}
_SHORT = re.compile(rf"\b(?:{'|'.join(_LONG_NAMES)})\b")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that may answer.

    Parameters
    ----------
    passage
        The row's place among the ranked passages.
    row, head, text
        The row's first cell, the column's head, the cell.
    near
        How near row and head come to the question.
    features
        What is known of it, in the order of `CELL_FEATURES` but the last.
    """

    passage: int
    row: str
    head: str
    text: str
    near: float
    features: tuple[float, ...] = ()


def cells_of(text: str) -> list[tuple[str, str]]:
    """The heads and cells of a passage that is a table's row; none where it is not."""
    found: list[tuple[str, str]] = []
    for part in text.split("; "):
        if cell := _CELL.fullmatch(part):
            found.append((cell["head"], cell["text"]))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}; {part}")
        else:
            return []
    return found if len(found) > 1 else []


def best_cell(question: str, vector: Vector, ranked: Sequence[RankedText], encoder: Encoder) -> Cell | None:
    """The cell of a ranked row that answers most likely; None where the first passages hold no rows.

    Parameters
    ----------
    question, vector
        The question, and its vector of shape (dimension,).
    ranked
        The passages, best first.
    encoder
        Encodes heads.
    """
    rows = [(place, one, cells_of(" ".join(one.sentences))) for place, one in enumerate(ranked[:PASSAGES])]
    asked, told = content_words(_spelt(question)), set(told_words(question))
    places = [
        (place, one, cells, at)
        for place, one, cells in rows
        for at, (_, text) in enumerate(cells)
        if at and not set(told_words(text)) <= told
    ]
    if not places:
        return None
    texts = [f"{cells[0][1]}: {_spelt(cells[at][0])}" for _, _, cells, at in places]
    heads = [_spelt(cells[at][0]) for _, _, cells, at in places]
    cosines = (encoder.encode([*texts, *heads]) @ vector).reshape(2, -1).sum(axis=0).tolist()
    found = []
    for (place, one, cells, at), cosine in zip(places, cosines, strict=True):
        head, text = cells[at]
        others = content_words(_spelt(" ".join([one.title, *(own for n, (_, own) in enumerate(cells) if n != at)])))
        of_row = len(asked & others) / max(len(asked), 1)
        named = content_words(_spelt(head))
        of_head = len(asked & named) / max(len(named), 1)
        near = cosine + _ROW_TOLD * of_row + _HEAD_TOLD * of_head
        odds = min(max(one.log_odds, _LEAST), _MOST)
        found.append(Cell(place, cells[0][1], head, text, near, (of_row, of_head, float(place), odds)))
    best = max(found, key=lambda cell: cell.near)
    lead = best.near - max((cell.near for cell in found if cell.text != best.text), default=0.0)
    return Cell(best.passage, best.row, best.head, best.text, best.near, (best.near, lead, *best.features))


def _spelt(text: str) -> str:
    """A text with the names of weekdays and months in full."""
    return _SHORT.sub(lambda found: _LONG_NAMES[found.group()], text)
