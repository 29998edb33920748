"""How texts fall into words for lexical matching."""

from __future__ import annotations

import re
from collections.abc import Callable

Words = Callable[[str], list[str]]
_WORD = re.compile(r"\w+")
_RUN = re.compile(r"\w+(?:[-/.]\w+)*")


def words(text: str) -> list[str]:
    """The runs of letters, digits and ``_`` of a text in any script, case-folded."""
    return _WORD.findall(text.casefold())


def content_words(text: str) -> list[str]:
    """The words of a text without English function words; what hyphens, slashes or dots join stands there whole, too.

    A date like 2020-11-05 so is more than a year, a month and a day.
    """
    from spacy.lang.en.stop_words import STOP_WORDS

    runs = _RUN.findall(text.casefold())
    return [word for run in runs for word in dict.fromkeys((*words(run), run)) if word not in STOP_WORDS]
