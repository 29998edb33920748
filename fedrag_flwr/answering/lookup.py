"""Lookups: "Which course costs 95 €?" asks for a cell of that row of a table whose other cells the question tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fedrag_flwr.answering.cells import Cell, RowAnswer, asks_person, cells_of, name_of, of_persons, spelt, tells_names
from fedrag_flwr.answering.sentences import content_words
from fedrag_flwr.text.support import forms

_MOST_ALIKE = 3  # rows that may answer together
_PART, _HEAD = 0.5, 0.25  # what a word counts of a cell that is not told whole, and a told head beside it
_LEAST_TOLD = 2 / 3  # of the question's words, where another cell than a row's first is asked for
_ASKS = r"\W*(?:(?:in|on|at|for|of|to|from|by|with) )?(?:which|what)(?:['’]s| is| are| was)?(?: the)?((?: [\w-]+){1,3})"
_ASKS_THING = re.compile(_ASKS, re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WHOLE = re.compile(r"[.:]0+$")
_SIGNS = {"€": " euro ", "£": " pound ", "$": " dollar ", "%": " percent "}


def looked_up(question: str, rows: Sequence[str], title: str = "") -> RowAnswer | None:
    """The cells that a question asks for, of the rows that it tells best, and the answer; None where none is clear.

    Parameters
    ----------
    question
        The question.
    rows
        The table's rows as passages (`fedrag_flwr.sources.tables.told_row`).
    title
        The table's.
    """
    table = [dict(cells_of(row)) for row in rows]
    column, asked = _asked_column(question, table), _words(question)
    if column is None or not tells_names(question, [title, *rows]):
        return None
    first = column == next(iter(table[0]))
    if first and any(_words(name_of(row)) <= asked for row in table):
        return None
    told = [_told(row, column, asked) for row in table]
    most = max(told)
    best = [at for at, much in enumerate(told) if much == most and column in table[at]]
    if not most or not best or len(best) == len(table):
        return None
    if not first and len(asked & _words(f"{title} {rows[best[0]]}")) < _LEAST_TOLD * len(asked):
        return None
    cells = [Cell(at, name_of(table[at]), column, table[at][column], most) for at in best]
    answers = list(dict.fromkeys(cell.said for cell in cells))
    return None if len(answers) > _MOST_ALIKE else RowAnswer(cells, " and ".join(answers), first)


def _asked_column(question: str, table: Sequence[Mapping[str, str]]) -> str | None:
    """The head of the column that a question asks for: the one that it names, or the first of persons."""
    heads = list(dict.fromkeys(head for row in table for head in row))
    if thing := _ASKS_THING.match(question):
        named = set(forms(thing[1]))
        return next((head for head in heads if not named.isdisjoint(forms(head))), None)
    columns = ({at: row[head] for at, row in enumerate(table) if head in row} for head in heads)
    persons = (head for head, cells in zip(heads, columns, strict=True) if of_persons(list(cells.values())))
    return next(persons, None) if asks_person(question) else None


def _told(row: Mapping[str, str], column: str, asked: frozenset[str]) -> float:
    """How much of a question the cells of a row tell, the column that is asked for aside; a number alone is nothing."""
    worth: dict[str, float] = {}
    for head, cell in row.items():
        words, named = _words(cell), _words(head)
        told = frozenset() if head == column else words & asked
        numbers = frozenset(word for word in told if _NUMBER.fullmatch(word))
        beside = (named | _words(_NUMBER.sub(" ", cell))) & asked
        if told == numbers and len(numbers) < 2 and not beside:
            continue
        for word in told:
            much = (1.0 if words <= asked else _PART) + _HEAD * bool(named & asked)
            worth[word] = max(worth.get(word, 0.0), much)
    return sum(worth.values())


def _words(text: str) -> frozenset[str]:
    """The words of a text that tell something: 12:00 and 12.0 are 12, and signs of money are words."""
    numbers = [_WHOLE.sub("", number.replace(",", "")) for number in _NUMBER.findall(text)]
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    return content_words(spelt(_NUMBER.sub(" ", text))) | frozenset(numbers)
