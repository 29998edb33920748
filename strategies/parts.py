"""Questions in parts, so that what a part takes fits into rounds and their messages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from fedrag_flwr.records import Question

_OF_ONE_HOME = 128  # a device has `federation.round-timeout` for them: seven seconds for each, unless it is set
_AT_ONCE = 4_096  # all of them may go to one owner, in one message with a vector for each


def in_parts(questions: Sequence[Question]) -> list[tuple[Question, ...]]:
    """Divide questions so that every home works on its share of a part at the same time as the others.

    Those of a part keep their order. Without any there is one part, which is empty.
    """
    parts: defaultdict[int, list[Question]] = defaultdict(list)
    seen: Counter[str] = Counter()
    for question in questions:
        parts[seen[question.home] // _OF_ONE_HOME].append(question)
        seen[question.home] += 1
    return [
        tuple(part[start : start + _AT_ONCE]) for part in parts.values() for start in range(0, len(part), _AT_ONCE)
    ] or [()]
