"""The language of a document or a question: what is made for English does not read others."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH = "en"
_RULED_OUT = 1e-5  # probability of English below which a text is in another language; of 266 English ones all have 0.99
_SHORT = 1e-2  # the same of a question or a passage: of 60 German and French questions and 148 passages all have less,
# of 472 English questions none
_FEWEST = 4  # words from which a language can be told
_MOST = 5_000  # characters that are looked at


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; English where that is not sure, as of a list of names."""
    ranked = _identifier().rank(text[:_MOST])
    return str(ranked[0][0]) if dict(ranked)[ENGLISH] < _RULED_OUT else ENGLISH


def is_english(text: str) -> bool:
    """Whether a question or a passage is in English, which may name things of other languages; so are few words."""
    if len(text.split()) < _FEWEST:
        return True
    return bool(dict(_identifier().rank(text[:_MOST]))[ENGLISH] >= _SHORT)


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
