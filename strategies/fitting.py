"""What goes into one letter of what several devices gave, so that who gives too much takes no other's room."""

from __future__ import annotations

from collections.abc import Sequence


def fitting(sizes: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """The places of as many parts as fit into so much room together, and of the others, which are the largest."""
    kept: list[int] = []
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        room -= sizes[place]
        if room < 0:
            break
        kept.append(place)
    return sorted(kept), sorted(set(range(len(sizes))).difference(kept))
