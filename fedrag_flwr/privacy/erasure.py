"""Query-focused erasure: of evidence only what its question needs leaves (HyFedRAG 3.4, after Eraser4RAG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.operators import Bundle, Change
from fedrag_flwr.privacy.replacement import PLACEHOLDER, placeholder
from fedrag_flwr.records import Vector
from fedrag_flwr.text.base import QuestionAnalysis
from fedrag_flwr.text.facts import TypedSpan, typed_spans
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.questions import matches_type
from fedrag_flwr.text.segment import sentence_spans

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

SENTENCE = "SENTENCE"
ERASED_TYPES = frozenset(
    {"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "DATE", "YEAR", "TIME", "EVENT", "PRODUCT", "WORK_OF_ART", "NAME"}
)
KEEP = 0.5  # least score of a sentence that stays, as a share of the best one's (fitted)
_WORDS_WEIGHT = 0.5  # of the question's words in a sentence, beside its nearness


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a parsed text, as tokens [start, end), and how much it says to the question."""

    doc: Doc
    field: int
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class _Question:
    """A question's content words as lemmas, what it expects, and its vector."""

    words: frozenset[str]
    analysis: QuestionAnalysis
    vector: Vector


@dataclass(frozen=True, slots=True)
class QueryFocusedErasure:
    """Keeps the sentences that come near to the question, and in them the names that it may ask for.

    A bundle's best sentence stays always. In what stays, a typed span becomes its type unless the question names it,
    its type is one that may answer the question, or it is what the text is about (it stands in the bundle's first
    text, its title). A bundle without a question passes as it is.
    """

    name = "erasure"
    # pipeline, encoder: read and encode sentences.
    pipeline: Pipeline
    encoder: Encoder

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Erase from each bundle what its question does not need."""
        asked = list(dict.fromkeys(bundle.question for bundle in bundles if bundle.question))
        vectors = self.encoder.encode(asked) if asked else ()
        read = zip(asked, self._docs(asked), self.pipeline.questions(asked), vectors, strict=True)
        questions = {text: _Question(_words(doc), analysis, vector) for text, doc, analysis, vector in read}
        return [self._erase(bundle, questions[bundle.question]) if bundle.question else bundle for bundle in bundles]

    def _erase(self, bundle: Bundle, asked: _Question) -> Bundle:
        sentences = self._scored(bundle.prose, asked)
        best = max((one.score for one in sentences), default=0.0)
        title = _anchors(self._docs(bundle.prose[:1]))
        prose, changes = list(bundle.prose), list(bundle.changes)
        for field in range(1, len(bundle.prose)):
            own = [one for one in sentences if one.field == field]
            kept = [one for one in own if one.score >= KEEP * best]
            changes += [Change(field, SENTENCE, masked=True)] * (len(own) - len(kept))
            written = []
            for one in kept:
                text, erased = self._written(one, asked.analysis, title)
                written.append(text)
                changes += [Change(field, kind, masked=True) for kind in erased]
            if own:
                prose[field] = " ".join(written)
        # What comes after reads the whole for names: a sentence alone may not show that a word is one.
        beside = (*bundle.beside, " ".join(bundle.prose))
        return replace(bundle, prose=tuple(prose), changes=tuple(changes), beside=beside)

    def _scored(self, prose: Sequence[str], asked: _Question) -> list[_Sentence]:
        """Every sentence but the title's, by its cosine with the question and its share of the question's words."""
        found = [
            (doc, field, start, end)
            for field, doc in enumerate(self._docs(prose))
            if field
            for start, end in sentence_spans(doc)
        ]
        if not found:
            return []
        near = self.encoder.encode([f"{prose[0]}: {doc[start:end].text}" for doc, _, start, end in found])
        scores = []
        for (doc, _, start, end), cosine in zip(found, near @ asked.vector, strict=True):
            shared = asked.words & _words(doc[start:end])
            share = len(shared) / max(1, len(asked.words))
            scores.append((1 - _WORDS_WEIGHT) * max(0.0, float(cosine)) + _WORDS_WEIGHT * share)
        return [_Sentence(*place, score) for place, score in zip(found, scores, strict=True)]

    def _written(self, sentence: _Sentence, asked: QuestionAnalysis, title: frozenset[str]) -> tuple[str, list[str]]:
        """A sentence without the spans that the question does not need, and their types."""
        doc = sentence.doc
        pieces, erased, at = [], [], sentence.start
        for span in typed_spans(doc):
            if sentence.start <= span.start and span.end <= sentence.end and self._is_idle(doc, span, asked, title):
                pieces += [doc[at : span.start].text_with_ws, placeholder(span.type), doc[span.end - 1].whitespace_]
                erased.append(span.type)
                at = span.end
        return "".join([*pieces, doc[at : sentence.end].text]).strip(), erased

    @staticmethod
    def _is_idle(doc: Doc, span: TypedSpan, asked: QuestionAnalysis, title: frozenset[str]) -> bool:
        if span.type not in ERASED_TYPES or PLACEHOLDER.search(doc[max(0, span.start - 1) : span.end + 1].text):
            return False
        if span.anchor in title or any(_share_word(span.anchor, anchor) for anchor in asked.anchors):
            return False
        return bool(asked.answer_type) and not matches_type(asked.answer_type, span.type)

    def _docs(self, texts: Sequence[str]) -> list[Doc]:
        return list(self.pipeline.language.pipe(texts))


def _anchors(docs: Sequence[Doc]) -> frozenset[str]:
    """The anchors of all typed spans of parsed texts."""
    return frozenset(span.anchor for doc in docs for span in typed_spans(doc))


def _words(span: Doc | Span) -> frozenset[str]:
    """The content words of a text as lemmas."""
    return frozenset(token.lemma_.casefold() for token in span if token.is_alpha and not token.is_stop)


def _share_word(first: str, second: str) -> bool:
    return not set(first.split()).isdisjoint(second.split())
