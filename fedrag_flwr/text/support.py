"""Whether texts hold what an answer or a question says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.segment import under_title
from fedrag_flwr.text.words import normalise_anchor, spell_signs


@lru_cache(maxsize=65_536)
def _singular(word: str) -> str:
    return normalise_anchor(word)


def forms(text: str) -> list[str]:
    """Tokens in the form in which they compare: a plural is its singular wherever it stands, and signs are told."""
    return [_singular(word) for word in normalise_anchor(spell_signs(text)).split()]


def is_supported(answer: str, texts: Iterable[str]) -> bool:
    """Whether the answer's words stand together in one of the texts; yes and no are supported by any evidence."""
    wanted = forms(answer)
    if not wanted:
        return False
    if wanted in (["yes"], ["no"]):
        return True
    return any(_contains(forms(text), wanted) for text in texts)


def evidence_texts(units: Sequence[EvidenceUnit]) -> list[str]:
    """The texts that an answer may be taken from: units under their titles."""
    return [under_title(unit.title, unit.text) for unit in units]


def coverage(anchors: Sequence[str], texts: Sequence[str]) -> float:
    """Share of a question's anchors whose words all occur in the evidence; 1 where it has none."""
    if not anchors:
        return 1.0
    seen = {word for text in texts for word in forms(text)}
    return sum(all(word in seen for word in forms(anchor)) for anchor in anchors) / len(anchors)


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    width = len(wanted)
    return any(list(words[i : i + width]) == list(wanted) for i in range(len(words) - width + 1))
