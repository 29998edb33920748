"""Extremes: "Which boat is the longest?" is answered by comparing the rows of a table, which a small model cannot do.

The question's superlative tells what is compared and in which direction. The column whose head comes nearest to it is
compared over all rows of the table, or over those rows that tell a word of the question that other rows do not tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedrag_flwr.answering.cells import (
    NUMERIC,
    Cell,
    RowAnswer,
    asks_person,
    cells_of,
    name_of,
    of_persons,
    tells_names,
)
from fedrag_flwr.answering.sentences import content_words
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Vector
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.quantities import numeric_spans

_PRICE, _LENGTH, _SIZE, _AGE = "price cost fee", "length distance duration", "size area capacity", "age, year built"
_SPEED = "speed time"
# What a superlative compares, and whether it asks for the least of it.
_MEASURES: Mapping[str, tuple[str, bool]] = {
    **dict.fromkeys(("cheapest", "least expensive"), (_PRICE, True)),
    **dict.fromkeys(("dearest", "costliest", "priciest", "most expensive"), (_PRICE, False)),
    "longest": (_LENGTH, False),
    "shortest": (_LENGTH, True),
    **dict.fromkeys(("largest", "biggest"), (_SIZE, False)),
    "smallest": (_SIZE, True),
    "oldest": (_AGE, False),
    "youngest": (_AGE, True),
    "newest": (_AGE, True),
    "tallest": ("height", False),
    "deepest": ("depth", False),
    "widest": ("width", False),
    "heaviest": ("weight", False),
    "lightest": ("weight", True),
    **dict.fromkeys(("warmest", "hottest"), ("temperature", False)),
    **dict.fromkeys(("coldest", "coolest"), ("temperature", True)),
    "fastest": (_SPEED, False),
    "slowest": (_SPEED, True),
    "quickest": ("time", True),
    "earliest": ("time departure", True),
    "latest": ("time departure", False),
    **dict.fromkeys(("most", "highest", "greatest"), ("", False)),
    **dict.fromkeys(("least", "fewest", "lowest"), ("", True)),
}
_WORDS = "|".join(sorted(_MEASURES, key=len, reverse=True))
# Not of limits: "at most two dogs", "the longest that you can stay".
_SUPERLATIVE = re.compile(
    rf"(?<!\bat )(?<!\bat the )\b(?P<word>{_WORDS})\b"
    r"(?! (?:of|I|you|we|he|she|they|it|one (?:can|may)|an?|any|each|that|time)\b)",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(r"\W*what(?:['’]s| is| was) the $", re.IGNORECASE)
_NOUNS = re.compile(
    r"(?:\s+(?!(?:is|are|was|in|of|at|on|for|to|with|from|before|the|an?|ones?|I|we|you|they|that)\b)[^\W\d]+){1,3}"
)
_ASKS_OTHER = re.compile(r"\W*(?:when|where|(?:at|by|until|from) what)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_VERB = re.compile(r"[^\W\d]+(?=\s+(?:the\s+)?$)")
_NUMBER = re.compile(r"(?:[^\w\s]{1,2}\s?|[A-Z]{3}\s)?(?P<number>[-−]?\d+(?:[.:]\d+)*)(?!\d)")
_THOUSANDS = re.compile(r"(?<=\d)[,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_TIME = re.compile(r"\b(?:time|duration|day|week|hour|minute|second)s?\b", re.IGNORECASE)
_COLUMN_TOLD = 0.3  # what a column's head that the question tells adds to the cosines
_QUESTION = 0.5  # the weight of the whole question's cosine
_MOST_ALIKE = 3  # rows that may share the extreme


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers."""

    head: str
    numbers: Mapping[int, float]  # of the rows that have one

    @property
    def years(self) -> bool:
        return all(1000 <= number < 2200 and number == int(number) for number in self.numbers.values())


def asks_extreme(question: str) -> bool:
    """Whether a question asks for the most or the least of something."""
    return _SUPERLATIVE.search(question) is not None


def extreme_cells(
    asked: str, vector: Vector, analysis: QuestionAnalysis, rows: Sequence[str], encoder: Encoder, title: str = ""
) -> RowAnswer | None:
    """The cells with the most or the least of what a question compares, and the answer; None where none is clear.

    Parameters
    ----------
    asked, vector, analysis
        The question, its vector of shape (dimension,), and its analysis.
    rows
        The table's rows as passages (`fedrag_flwr.sources.tables.told_row`).
    encoder
        Encodes heads.
    title
        The table's.
    """
    found = _SUPERLATIVE.search(asked)
    table = [dict(cells_of(row)) for row in rows]
    columns = _columns(table) if found is not None else []
    if (
        found is None
        or not columns
        or _ASKS_OTHER.match(asked)
        or (asks_person(asked) and not of_persons([name_of(row) for row in table]))
    ):
        return None
    measure, least = _MEASURES[found["word"].casefold()]
    nouns = _NOUNS.match(asked, found.end())
    behind = nouns[0] if nouns else ""
    column = _compared(asked, vector, found, behind, columns, encoder)
    if (measure == _AGE and column.years) or (measure == _SPEED and _TIME.search(column.head)):
        least = not least
    things = not measure or content_words(behind) <= content_words(" ".join([title, *rows]))
    parting = content_words(asked) - content_words(f"{column.head} {found[0]} {behind} {analysis.asks}")
    among = [at for at in _asked_rows(parting, table) if at in column.numbers]
    best = (min if least else max)((column.numbers[at] for at in among), default=0.0)
    cells = [Cell(at, name_of(table[at]), column.head, table[at][column.head], 1.0) for at in among]
    cells = [cell for cell in cells if column.numbers[cell.passage] == best]
    compared = [title, *(rows[at] for at in among)]
    numbers = set(_DIGITS.findall(asked)) <= set(_DIGITS.findall(" ".join(compared)))
    if len(among) < 2 or len(cells) > _MOST_ALIKE or not (things and numbers and tells_names(asked, compared)):
        return None
    head = content_words(behind) & content_words(column.head)
    number = analysis.answer_type in NUMERIC or (head and _ASKS_NUMBER.fullmatch(asked[: found.start()]))
    return RowAnswer(cells, cells[0].said if number else " and ".join(cell.row for cell in cells), True)


def _columns(table: Sequence[Mapping[str, str]]) -> list[_Column]:
    """The columns behind the first in which nearly all rows have a number; dates are none, but years are."""
    found = []
    for head in dict.fromkeys(head for row in table for head in list(row)[1:]):
        cells = {at: row[head] for at, row in enumerate(table) if head in row}
        if any(kind == "DATE" for cell in cells.values() for _, _, kind in numeric_spans(cell)):
            continue
        found_in = {at: _NUMBER.match(_THOUSANDS.sub("", cell)) for at, cell in cells.items()}
        numbers = {at: _value(number["number"]) for at, number in found_in.items() if number is not None}
        if len(numbers) > 1 and len(numbers) >= 0.8 * len(cells):
            found.append(_Column(head, numbers))
    return found


def _value(number: str) -> float:
    """A number, or a time in the smallest of its units."""
    value = 0.0
    for part in number.replace("−", "-").split(":"):
        value = value * 60 + float(part if part.count(".") < 2 else part.replace(".", ""))
    return value


def _compared(
    question: str, vector: Vector, found: re.Match[str], behind: str, columns: Sequence[_Column], encoder: Encoder
) -> _Column:
    """The column that the superlative compares; `behind` are the nouns behind it."""
    measure, verb = _MEASURES[found["word"].casefold()][0], _VERB.search(question, 0, found.start())
    [asked, *heads] = encoder.encode(
        [measure or behind or (verb[0] if verb else question), *(one.head for one in columns)]
    )
    words = content_words(question)

    def near(place: int) -> float:
        named = content_words(columns[place].head)
        told = _COLUMN_TOLD * len(words & named) / max(len(named), 1)
        years = _COLUMN_TOLD * (measure == _AGE and columns[place].years)
        return float(heads[place] @ asked + _QUESTION * heads[place] @ vector) + told + years

    return columns[max(range(len(columns)), key=near)]


def _asked_rows(asked: frozenset[str], table: Sequence[Mapping[str, str]]) -> list[int]:
    """The rows that tell most of those words of the question that some rows tell and others do not."""
    told = [asked & content_words(" ".join(row.values())) for row in table]
    parting = frozenset.union(*told) - frozenset.intersection(*told)
    most = max(len(words & parting) for words in told)
    return [at for at, words in enumerate(told) if len(words & parting) == most]
