"""What no device alone decides where memories of several are composed: which answer holds, which of them are kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TypeVar

from fedrag_flwr.records import MemoryItem

Owners = Callable[[MemoryItem], Collection[str]]  # the devices that stand behind a memory
Key = TypeVar("Key", bound=Hashable)


def told(items: Sequence[MemoryItem], key: Callable[[str], Key], owners: Owners) -> dict[str, Key | None]:
    """The answer that more devices than any other give to a question in lower case; None where as many say otherwise.

    A device that gives several answers says that there are several, and has no voice for one of them.

    Parameters
    ----------
    items
        What devices say.
    key
        The form in which answers compare.
    owners
        The devices that stand behind an item.
    """
    answers: dict[str, dict[str, Key | None]] = defaultdict(dict)
    for item in items:
        said, answer = answers[item.question.lower()], key(item.answer)
        for owner in owners(item):
            said[owner] = answer if said.get(owner, answer) == answer else None
    found: dict[str, Key | None] = {}
    for question, said in answers.items():
        (first, most), *others = Counter(said.values()).most_common(2)
        found[question] = None if others and others[0][1] == most else first
    return found


def uncommon(items: Sequence[MemoryItem], most: float, owners: Owners) -> list[bool]:
    """Which of the items that say one name are kept: not those of a device alone that says it in more than `most`.

    None where all say it too often even without the device that says it most: none makes it too common for others.
    """
    counts = Counter(owner for item in items for owner in owners(item))
    loudest = max(counts, key=lambda name: (counts[name], name), default="")
    kept = [any(counts[owner] <= most for owner in owners(item)) for item in items]
    others = sum(keep and set(owners(item)) != {loudest} for keep, item in zip(kept, items, strict=True))
    return kept if others <= most else [False] * len(items)


def in_turns(order: Sequence[int], origins: Sequence[tuple[str, ...]]) -> list[int]:
    """The rows in an order in which the first of all origins stand before the second of any, so that all have room."""
    seen: Counter[tuple[str, ...]] = Counter()
    turns = {}
    for row in order:
        turns[row] = seen[origins[row]]
        seen[origins[row]] += 1
    return sorted(order, key=turns.__getitem__)
