"""How texts fall into words for lexical matching."""

from __future__ import annotations

import re
from collections.abc import Callable

Words = Callable[[str], list[str]]
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The runs of letters, digits and ``_`` of a text in any script, case-folded."""
    return _WORD.findall(text.casefold())
