"""One pass over the text: segmentation, typed facts, anchors and evidence tuples."""

from fedrag_flwr.text.base import ParsedPassage, Pipeline, QuestionAnalysis
from fedrag_flwr.text.facts import TypedSpan, facts_between, typed_spans
from fedrag_flwr.text.model_tuples import ModelExtractor, extractor_of
from fedrag_flwr.text.pipeline import SpacyPipeline
from fedrag_flwr.text.questions import matches_type
from fedrag_flwr.text.segment import TITLE_SEPARATOR, document_title
from fedrag_flwr.text.tuple_cache import (
    TupleManifest,
    drop_changed,
    read_unchanged,
    unchanged,
    write_tuples,
)
from fedrag_flwr.text.tuples import Extractor, ParseExtractor
from fedrag_flwr.text.words import anchors_of, normalise_anchor, normalise_line, normalise_text

__all__ = [
    "TITLE_SEPARATOR",
    "Extractor",
    "ModelExtractor",
    "ParseExtractor",
    "ParsedPassage",
    "Pipeline",
    "QuestionAnalysis",
    "SpacyPipeline",
    "TupleManifest",
    "TypedSpan",
    "anchors_of",
    "document_title",
    "drop_changed",
    "extractor_of",
    "facts_between",
    "matches_type",
    "normalise_anchor",
    "normalise_line",
    "normalise_text",
    "read_unchanged",
    "typed_spans",
    "unchanged",
    "write_tuples",
]
