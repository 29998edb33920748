"""Evidence and other running text at the export filter: as bundles, and why a rewritten one may not leave."""

from __future__ import annotations

from fedrag_flwr.privacy.items import TOO_LONG, words
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import MOST_LINE, EvidenceUnit

TEXT_EMPTY = "text-empty"
MOST_PARAGRAPH = 20_000  # characters
MASKED_FOR_ONE = 3  # near sentences for each that leaves: which ones do is chosen by what they say when masked


def evidence_bundle(unit: EvidenceUnit, question: str) -> Bundle:
    """Its title and text, beside the question that it is to answer."""
    return Bundle((clean(unit.title), clean(unit.text)), question=clean(question))


def is_too_long(bundle: Bundle) -> bool:
    """Whether title or text of evidence is longer than may leave."""
    title, text = bundle.prose
    return len(text) > MOST_PARAGRAPH or len(title) > MOST_LINE


def evidence_refusal(bundle: Bundle) -> str:
    """Say why evidence may not leave with these texts; empty where it may."""
    return bundle.refusal or (TOO_LONG if is_too_long(bundle) else text_refusal(bundle.prose[1], MOST_PARAGRAPH))


def text_refusal(text: str, most: int) -> str:
    """Say whether a text is longer than `most` characters, or nothing is left of it; empty where it may leave."""
    return TOO_LONG if len(text) > most else "" if words(text) else TEXT_EMPTY
