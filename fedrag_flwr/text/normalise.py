"""Text in one form: NFKC, no format or control characters, plain spaces."""

from __future__ import annotations

import re
import unicodedata

_DROPPED = {"Cf", "Cc", "Cs", "Co"}
_SPACES = re.compile(r"[^\S\n]+")
_LINE_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")  # and what parts fields and records


def plain_breaks(text: str) -> str:
    """Every line break, page break and separator of fields as ``\\n``: dropped, they would join two words to one."""
    return _LINE_BREAKS.sub("\n", text)


def normalise_text(text: str) -> str:
    """Bring a text to NFKC without format characters, tabs or odd spaces; line breaks become ``\\n`` and are kept.

    A zero-width space or a full-width digit defeats recognisers and exact matching, so it goes before anything else.
    """
    text = plain_breaks(text).replace("\t", " ")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    kept = "".join(char for char in text if char == "\n" or unicodedata.category(char) not in _DROPPED)
    if not kept.isascii():  # dropping characters can bring a base letter and its accent together
        kept = unicodedata.normalize("NFKC", kept)
    return "\n".join(_SPACES.sub(" ", line).strip() for line in kept.split("\n")).strip("\n")


def normalise_line(text: str) -> str:
    """Bring a title or another one-line text to its normal form, without line breaks."""
    return " ".join(normalise_text(text).split())
