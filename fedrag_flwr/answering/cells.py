"""Cells: what one row of a table answers is answered by its cell, without the generator.

A row is a passage in which each cell stands behind its column's head (`fedrag_flwr.sources.tables.told_row`). A small
model that reads one often names the cell of another column or row. The cell is chosen whose row and head come nearest
to the question; no cell answers that the question tells itself, or that says yes or no.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.answering.recall import names_of
from fedrag_flwr.answering.sentences import RankedText, content_words
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Vector
from fedrag_flwr.text.quantities import numeric_spans
from fedrag_flwr.text.support import forms
from fedrag_flwr.text.words import told_words

CELL_FEATURES = (
    "near",
    "lead",
    "head",
    "row told",
    "head told",
    "name told",
    "names told",
    "rank",
    "passage",
    "wrong kind",
)
NUMERIC = frozenset({"DATE", "YEAR", "TIME", "CARDINAL", "QUANTITY", "PERCENT", "MONEY"})  # kinds of answers
WHOLE_TABLE = 0.75  # confidence of an answer that compares rows, or looks for one by its cells
PASSAGES = 6  # that are looked at
_ROW_TOLD = 0.4  # what the share of the question that the row tells adds to the cosines
_HEAD_TOLD = 0.2  # what the share of the head that the question tells adds
_CELL = re.compile(r"(?P<head>[^:;\n]{1,60}): (?P<text>.*)")
_SENTENCE = re.compile(r"\w\w\w[.!?] [A-Z]")  # ends within: prose that has a colon
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "June", "July", "August", "September", "October")
_LONG_NAMES = {name[:3]: name for name in (*_DAYS, *_MONTHS, "November", "December")} | {"Sept": "September"}
_UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]$")  # "Weight (kg)"
_SAYS_NO_MORE = frozenset({"yes", "no", "true", "false"})  # cells that answer no question but a yes-no one
_CURRENCIES = frozenset("£$€¥₹")
_CURRENCY = re.compile(r"[A-Z]{3}")
_PLAIN_NUMBER = re.compile(r"[-+−]?\d[\d.,’' ]*")
_CODE = re.compile(r"[A-Z]{0,3}[-. ]?\d+[.a-z]?")
_ASKS_PERSON = re.compile(
    r"\W*(?:(?:to|for|with|from|by) )?(?:who(?:m|se|['’]s)?|(?:what is the )?name of the \w+ who)\b", re.I
)
_SHORT = re.compile(rf"\b(?:{'|'.join(_LONG_NAMES)})\b")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that may answer."""

    passage: int  # the row's place among the ranked passages
    # row, head, text: the row's first cell, the column's head, the cell.
    row: str
    head: str
    text: str
    near: float  # how near row and head come to the question
    features: tuple[float, ...] = ()  # what is known of it, in the order of `CELL_FEATURES` but the last

    @property
    def said(self) -> str:
        """The cell; a plain number with the unit that its head tells: "Weight (kg): 12" says "12 kg"."""
        found = _UNIT.search(self.head)
        if found is None or not _PLAIN_NUMBER.fullmatch(self.text):
            return self.text
        if found[1] in _CURRENCIES:
            return f"{found[1]}{self.text}{'0' * (self.text[-2:-1] == '.')}"
        whole = f"{self.text} {found[1]}"
        measured = any((start, end) == (0, len(whole)) for start, end, _ in numeric_spans(whole))
        return whole if measured or _CURRENCY.fullmatch(found[1]) else self.text


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """What the rows of a whole table answer."""

    cells: Sequence[Cell]  # of the rows that answer; a cell's `passage` is its row's place in the table
    said: str  # the answer
    first: bool  # whether it comes before what a single cell answers


def cells_of(text: str) -> list[tuple[str, str]]:
    """The heads and cells of a passage that is a table's row; none where it is not."""
    found: list[tuple[str, str]] = []
    for part in text.split("; "):
        if (cell := _CELL.fullmatch(part)) and not _SENTENCE.search(cell["head"]):
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
    told = set(told_words(question))
    places = [
        (place, cells, at)
        for place, one in enumerate(ranked[:PASSAGES])
        for cells in [cells_of(" ".join(one.sentences))]
        for at, (_, text) in enumerate(cells)
        if at and text.casefold() not in _SAYS_NO_MORE and not set(told_words(text)) <= told
    ]
    if not places:
        return None
    heads = [spelt(cells[at][0]) for _, cells, at in places]
    texts = [f"{cells[0][1]}: {head}" for (_, cells, _), head in zip(places, heads, strict=True)]
    cosines = (encoder.encode([*texts, *heads]) @ vector).reshape(2, -1).T.tolist()
    found = [
        _described(question, ranked[place], place, cells, at, *near)
        for (place, cells, at), near in zip(places, cosines, strict=True)
    ]
    best = max(found, key=lambda cell: cell.near)
    lead = best.near - max((cell.near for cell in found if cell.text != best.text), default=0.0)
    return replace(best, features=(best.near, lead, *best.features))


def _described(
    question: str, row: RankedText, place: int, cells: Sequence[tuple[str, str]], at: int, both: float, alone: float
) -> Cell:
    """A cell with what is known of it; `both` and `alone`: the question's cosines to row with head, and to the head."""
    head, text = cells[at]
    asked, names = content_words(spelt(question)), names_of(question)
    others = [row.title, *(own for number, (_, own) in enumerate(cells) if number != at)]
    of_row = len(asked & content_words(spelt(" ".join(others)))) / max(len(asked), 1)
    named, name = content_words(spelt(head)), content_words(cells[0][1])
    of_head, of_name = len(asked & named) / max(len(named), 1), len(asked & name) / max(len(name), 1)
    said = set(forms(" ".join([row.title, *(f"{own} {cell}" for own, cell in cells)])))
    of_names = len(names & said) / len(names) if names else 1.0
    near = both + alone + _ROW_TOLD * of_row + _HEAD_TOLD * of_head
    known = (alone, of_row, of_head, of_name, of_names, float(place), row.bounded_odds)
    return Cell(place, cells[0][1], head, text, near, known)


def name_of(row: Mapping[str, str]) -> str:
    """What a row is of, by its cells behind their heads: the first cell that is no number or code."""
    cells = list(row.values())
    return next((cell for cell in cells if not _CODE.fullmatch(cell)), cells[0])


def of_persons(cells: Sequence[str]) -> bool:
    """Whether most cells name somebody: by two words or more that begin with capitals."""
    names = [cell.split() for cell in cells]
    persons = [len(words) > 1 and all(word[0].isupper() and word.isalpha() for word in words) for words in names]
    return sum(persons) * 2 > len(names)


def asks_person(question: str) -> bool:
    """Whether a question asks for somebody."""
    return _ASKS_PERSON.match(question) is not None


def tells_names(question: str, rows: Sequence[str]) -> bool:
    """Whether a table's rows tell all names of a question."""
    names = names_of(question)
    return not names or names <= set(forms(" ".join(rows)))


def spelt(text: str) -> str:
    """A text with the names of weekdays and months in full."""
    return _SHORT.sub(lambda found: _LONG_NAMES[found.group()], text)
