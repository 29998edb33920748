"""Reverse lookups: "Which course costs 95 €?" asks for the row of a table whose other cells the question tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fedrag_flwr.answering.cells import Cell, asks_person, cells_of, name_of, of_persons, spelt, tells_names
from fedrag_flwr.answering.sentences import content_words
from fedrag_flwr.text.support import forms

_MOST_ALIKE = 3  # rows that may answer together
_ASKS = r"\W*(?:(?:in|on|at|for|of|to|from|by|with) )?(?:which|what)(?:['’]s| is| are| was)?(?: the)?((?: [\w-]+){1,3})"
_ASKS_THING = re.compile(_ASKS, re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WHOLE = re.compile(r"[.:]0+$")
_SIGNS = {"€": " euro ", "£": " pound ", "$": " dollar ", "%": " percent "}


def reverse_cells(question: str, rows: Sequence[str], title: str = "") -> tuple[list[Cell], str] | None:
    """The cells that a question tells, of the rows that it asks for, and the rows' names; None where none is clear.

    Parameters
    ----------
    question
        The question.
    rows
        The table's rows as passages (`fedrag_flwr.sources.tables.told_row`); a cell's `passage` is a place among them.
    title
        The table's.
    """
    table = [dict(cells_of(row)) for row in rows]
    asked = _words(question)
    if (
        not tells_names(question, [title, *rows])
        or not _asks_first(question, table)
        or any(_words(name_of(row)) <= asked for row in table)
    ):
        return None
    told = [_told(row, asked) for row in table]
    counts = [sum(map(len, cells.values())) for cells in told]
    parting = frozenset.union(*(frozenset().union(*cells.values()) for cells in told))
    most = max(counts)
    best = [at for at, count in enumerate(counts) if count == most]
    if not parting or len(best) > _MOST_ALIKE or len(best) == len(table):
        return None
    found = []
    for at in best:
        head, _ = max(told[at].items(), key=lambda cell: len(cell[1]))
        found.append(Cell(at, name_of(table[at]), head, table[at][head], float(most)))
    return found, " and ".join(cell.row for cell in found)


def _asks_first(question: str, table: Sequence[Mapping[str, str]]) -> bool:
    """Whether a question asks for what stands in the first column."""
    if thing := _ASKS_THING.match(question):
        return not set(forms(next(iter(table[0])))).isdisjoint(forms(thing[1]))
    return asks_person(question) and of_persons(table)


def _told(row: Mapping[str, str], asked: frozenset[str]) -> dict[str, frozenset[str]]:
    """The words of a question that the cells behind the first tell; a number alone tells nothing."""
    found = {}
    for head, cell in list(row.items())[1:]:
        words = _words(cell) & asked
        numbers = frozenset(word for word in words if _NUMBER.fullmatch(word))
        beside = _words(f"{head} {_NUMBER.sub(' ', cell)}") & asked
        bare = words == numbers and len(numbers) < 2 and not beside
        found[head] = frozenset() if bare else words
    return found


def _words(text: str) -> frozenset[str]:
    """The words of a text that tell something: 12:00 and 12.0 are 12, and signs of money are words."""
    numbers = [_WHOLE.sub("", number.replace(",", "")) for number in _NUMBER.findall(text)]
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    return content_words(spelt(_NUMBER.sub(" ", text))) | frozenset(numbers)
