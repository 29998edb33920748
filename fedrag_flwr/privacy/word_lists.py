"""Word lists of the recognisers: words that are no names, given names, clinical terms."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fedrag_flwr.privacy.normalise import normal_name

_LISTS: dict[str, list[str]] = dict(json.loads(Path(__file__).with_name("word_lists.json").read_text(encoding="utf-8")))

STOP_WORDS = frozenset(_LISTS["stop words"])
"""In lower case, with straight apostrophes."""

THINGS = frozenset(_LISTS["things"])
"""Words that end names of things, such as "the James Webb Space Telescope"."""

THINGS_OR_SURNAMES = frozenset(_LISTS["things or surnames"])
"""Words that end names of things, but for one that begins with a given name: "Ashby Lock", not "Sarah Lock"."""

GIVEN_NAMES = frozenset(_LISTS["given names"])
"""Common given names of many languages, in lower case."""

ALSO_WORDS = frozenset(_LISTS["names that are also words"])
"""Names that stand for something else as often: persons only beside another name or where the parser says so."""

TITLES = frozenset(_LISTS["titles"])
"""Words before a name."""

SHORT_TITLES = frozenset({"dr", "mr", "mrs", "ms", "mx", "prof"})
"""Those of them that are written before a name alone, so that any word with a capital after them is one."""

PARTICLES = frozenset(_LISTS["particles"])
"""Words inside names that are no names by themselves."""


_NAMED = (
    r"(?:'?s)?\s+(?:disease|syndrome|lymphoma|sarcoma|palsy|sign|reflex|test|catheter|ulcer|score|scale|index|method|"
    r"criteria|stain|fracture|tumou?r|chorea|ataxia|dementia|contracture|phenomenon|disorder|cells?|fever|virus|"
    r"an(?:a)?emia|procedure|man(?:o)?euvre|maneuver|classification|triad|law|formula|ultrasound|effect)\b"
)
_EPONYM = re.compile(_NAMED, re.IGNORECASE)
_TITLED = re.compile(rf"\b(?:{'|'.join(sorted(TITLES))})\b\.?\s+$", re.IGNORECASE)

ALLOWED = frozenset(map(normal_name, _LISTS["terms"]))


def is_ordinary(word: str) -> bool:
    """Tell whether a lower-case word is an everyday word rather than a name."""
    return word.casefold() in STOP_WORDS or word.casefold() in ALSO_WORDS


def is_clinical(text: str, start: int, end: int) -> bool:
    """Tell whether a found name is a clinical or common term, or names a disease, sign or method ("Crohn's disease").

    It stands from `start` to `end` in the text.
    """
    name = normal_name(text[start:end])
    if not name or name in ALLOWED or all(word in ALLOWED for word in name.split()):
        return True
    return _EPONYM.match(text, end) is not None and _TITLED.search(text[:start]) is None
