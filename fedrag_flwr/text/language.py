"""The language of a document: what is made for English does not read others."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH = "en"
_RULED_OUT = 1e-5  # probability of English below which a text is in another language; of 266 English ones all have 0.99
_MOST = 5_000  # characters that are looked at


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; English where that is not sure, as of a list of names."""
    ranked = _identifier().rank(text[:_MOST])
    return str(ranked[0][0]) if dict(ranked)[ENGLISH] < _RULED_OUT else ENGLISH


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
