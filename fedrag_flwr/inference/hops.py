"""The second hop over memory: items about a name that the first matches lead to and the question does not say.

"Which rocket launched the observatory that mapped the microwave background?" matches an item about Planck; items that
name Planck and fit what is asked ("Which rocket launched Planck?") are the second hop, wherever they come from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from fedrag_flwr.inference.fitting import Misfit
from fedrag_flwr.inference.support import tokens
from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.records import Match, Vector
from fedrag_flwr.text.base import QuestionAnalysis

COMMONEST = 0.02  # a name in more of the items than this leads everywhere
EACH = 2  # memories of one origin that say a name
FEWEST = 20  # but one in at most so many items is never too common
_NAME = re.compile(r"[A-Z0-9][\w'’.-]*(?: (?:of the |of |the )?[A-Z0-9][\w'’.-]*)*")
_LETTER = re.compile(r"[A-Z]")
_MONTH_DATE = re.compile(r"\d+ [A-Z][a-z]+( \d+)?")


class Hops:
    """Finds second-hop memories by the names in them.

    Parameters
    ----------
    matcher
        Holds the memories.
    misfit
        Why an item cannot answer a question.
    """

    def __init__(self, matcher: Matcher, misfit: Misfit) -> None:
        self._matcher = matcher
        self._misfit = misfit
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for row, item in enumerate(matcher.items):
            for name in {*names_in(item.question), *names_in(item.answer, inside=False)}:
                self._by_name[name].append(row)
        self._most = max(FEWEST, int(COMMONEST * len(matcher.items)))

    def follow(
        self, question: str, analysis: QuestionAnalysis, vector: Vector, first: Sequence[Match], k: int
    ) -> list[Match]:
        """The k best second-hop memories for a question, best first; none where k is 0.

        Parameters
        ----------
        question, analysis, vector
            The question's text, analysis and embedding of shape (dimension,).
        first
            The first hop: the memories that match the question as it is.
        k
            Most memories.
        """
        if k < 1:
            return []
        scored: dict[int, float] = {}
        seen = {match.item.id for match in first[:k]}
        for name, reached in self._bridges(question, first).items():
            for row in self._by_name[name]:
                near = float(self._matcher.vectors[row] @ vector)
                scored[row] = max(scored.get(row, 0.0), 0.5 * (reached + near))
        found: list[Match] = []
        answers: set[str] = set()
        for row, score in sorted(scored.items(), key=lambda pair: (-pair[1], pair[0])):
            item = self._matcher.items[row]
            if item.id in seen or item.answer.casefold() in answers or self._misfit(question, analysis, item):
                continue
            answers.add(item.answer.casefold())
            found.append(Match(item, score, float(self._matcher.vectors[row] @ vector), 0.0))
            if len(found) == k:
                break
        return found

    def about(self, name: str, vector: Vector, k: int) -> list[Match]:
        """The k memories that say a name and come nearest to a vector of shape (dimension,), two of each origin."""
        rows = self._by_name.get(" ".join(tokens(name)), [])
        near = {row: float(self._matcher.vectors[row] @ vector) for row in rows}
        found: dict[str, list[Match]] = defaultdict(list)
        for row in sorted(near, key=lambda row: (-near[row], row)):
            item = self._matcher.items[row]
            if len(found[item.origin]) < EACH:
                found[item.origin].append(Match(item, near[row], near[row], 0.0))
        return sorted((m for ms in found.values() for m in ms), key=lambda m: (-m.score, m.item.id))[:k]

    def _bridges(self, question: str, first: Sequence[Match]) -> dict[str, float]:
        """Names that the first hop leads to, each with the best score of a memory that holds it."""
        said = set(tokens(question))
        bridges: dict[str, float] = {}
        for match in first:
            for name in {*names_in(match.item.question), *names_in(match.item.answer, inside=False)}:
                rows = self._by_name.get(name, ())
                if rows and len(rows) <= self._most and not set(name.split()) <= said:
                    bridges[name] = max(bridges.get(name, 0.0), match.score)
        return bridges


def names_in(text: str, *, inside: bool = True) -> Iterator[str]:
    """Normal forms of the capitalised names in a text; with `inside` its first word, a question word, is left out."""
    body = text.partition(" ")[2] if inside else text
    for found in _NAME.finditer(body):
        name = found[0].rstrip(".'’").removesuffix("'s").removesuffix("’s")
        if _LETTER.search(name) and not _MONTH_DATE.fullmatch(name):
            yield " ".join(tokens(name))
