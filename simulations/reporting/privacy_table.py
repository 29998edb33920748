"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(line)} |" for line in (headings, ["---"] * len(headings), *cells)]
