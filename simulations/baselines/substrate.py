"""What all baselines of one device share: its documents with their vectors, the models, and first stages over them."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.answering.read import Reader
from fedrag_flwr.errors import EmptySourceError, StoreMismatchError
from fedrag_flwr.files import replace_file
from fedrag_flwr.models.base import Completion, Encoder, Generator, Grammar, Prompt
from fedrag_flwr.models.generator import GenerationCache
from fedrag_flwr.records import Document, EvidenceTuple, EvidenceUnit, Passage, Sentence
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.sparse import Bm25Retriever
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.tuples import ParseExtractor


class Keep:
    """Completions and vectors on disk, with the seconds that they took; without a folder nothing is kept."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder, self.spared = folder, 0.0
        self._completions = GenerationCache(folder / "completions") if folder else None

    def complete(
        self, generator: Generator, prompt: Prompt, grammar: Grammar, max_tokens: int, seed: int
    ) -> Completion:
        """The completion of a prompt by a model, as it was made the first time."""
        kept = self._completions
        key = kept.key(generator.id, prompt, grammar, max_tokens, 1, seed, 0.0) if kept else ""
        if kept and (known := kept.get(key)):
            self.spared += known[0].seconds
            return known[0]
        made = generator.complete(prompt, grammar=grammar, max_tokens=max_tokens, seed=seed)
        if kept:
            kept.put(key, made)
        return made[0]

    def encode(self, encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts by an encoder, shape (n, dimension)."""
        if self.folder is None:
            return encoder.encode(texts)
        path = self.folder / f"{hashlib.sha256(json.dumps([encoder.id, *texts]).encode()).hexdigest()}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as kept:
                self.spared += float(kept["seconds"])
                return np.asarray(kept["vectors"], dtype=np.float32)
        start, file = time.perf_counter(), io.BytesIO()
        vectors = encoder.encode(texts)
        np.savez(file, vectors=vectors, seconds=time.perf_counter() - start)
        replace_file(path, file.getvalue())
        return vectors


Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that all baselines of a run share (FD-RAG C.3: one evidence budget, one answer length)."""

    passages: int = 4  # what a single stage of retrieval takes
    words: int = 400  # most words of evidence in one prompt, titles included
    rounds: int = 3  # most rounds of retrieval
    answer_tokens: int = 200  # longest answer
    # output tokens of the model that construction may take for each 1,000 tokens of the corpus
    tokens_per_kilotoken: int = 20

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The bounds that a run's settings ask for."""
        return cls(passages=settings.inference.passages, answer_tokens=settings.inference.max_answer_tokens)


@dataclass(frozen=True)
class Substrate:
    """One device's documents, read and encoded once for all baselines.

    Raises EmptySourceError: there is no passage. Raises StoreMismatchError: there is not one vector for each passage
    and each sentence.
    """

    device: str  # the device's name, the origin of all evidence
    documents: tuple[Document, ...]  # where the passages come from
    passages: tuple[Passage, ...]  # length p, each with its sentences
    passage_vectors: Floats  # shape (p, dimension), unit rows
    sentence_vectors: Floats  # shape (s, dimension), unit rows; one for each sentence of the passages, in their order
    questions: QuestionVectors  # encodes questions by the encoder that made the vectors
    pipeline: Pipeline  # types what questions name
    generator: Callable[[], Generator]  # gives the model; called when it is first needed
    limits: Limits = field(default_factory=Limits)  # of the run
    seed: int = 0  # of whatever is drawn
    keep: Keep = field(default_factory=Keep)  # holds what construction makes, for the next time

    def __post_init__(self) -> None:
        if not self.passages:
            raise EmptySourceError("there is no passage to answer from", where=self.device, fix="add documents")
        if len(self.passage_vectors) != len(self.passages) or len(self.sentence_vectors) != len(self.sentences):
            raise StoreMismatchError("there is not one vector for each passage and sentence", where=self.device)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """All sentences, in the order of the passages."""
        return tuple(sentence for passage in self.passages for sentence in passage.sentences)

    @cached_property
    def tuples(self) -> list[EvidenceTuple]:
        """What the documents state, by rule from their parse."""
        extractor = ParseExtractor()
        return [one for parsed in self.pipeline.parse(self.documents) for one in extractor.extract(parsed)]

    @cached_property
    def by_id(self) -> dict[str, Passage]:
        """Passages by their ids."""
        return {passage.id: passage for passage in self.passages}

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each passage and each sentence stands among its own kind."""
        kinds: tuple[Sequence[Passage | Sentence], ...] = (self.passages, self.sentences)
        return {unit.id: place for units in kinds for place, unit in enumerate(units)}

    @cached_property
    def dense(self) -> DenseRetriever:
        """Ranks passages by the cosine of their vectors."""
        return DenseRetriever([passage.id for passage in self.passages], self.passage_vectors, self.questions)

    @cached_property
    def sparse(self) -> Bm25Retriever:
        """Ranks passages by BM25."""
        return Bm25Retriever(self.passages)

    @cached_property
    def reader(self) -> Reader:
        """The one reader of all baselines: the floor's prompt, without judgement."""
        return Reader(self.generator, self.limits.answer_tokens, self.seed)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts, shape (n, dimension)."""
        return self.questions.encoder.encode(texts)

    def encode_kept(self, texts: Sequence[str]) -> Floats:
        """Encode what is made of the documents, shape (n, dimension)."""
        return self.keep.encode(self.questions.encoder, texts)

    def complete_kept(self, prompt: Prompt, grammar: Grammar, max_tokens: int) -> Completion:
        """Let the model write what is made of the documents."""
        return self.keep.complete(self.generator(), prompt, grammar, max_tokens, self.seed)

    @property
    def spared(self) -> float:
        """Seconds that the use of what was kept has spared so far."""
        return self.keep.spared

    def sentence_scores(self, query: str) -> Floats:
        """The cosine of every sentence with a query, shape (s,)."""
        return np.asarray(self.sentence_vectors @ self.questions.whole(query), dtype=np.float32)

    def nearest(self, query: str) -> list[str]:
        """The passages that single-stage dense retrieval takes, best first."""
        return [found.passage_id for found in self.dense.rank(query, self.limits.passages)]

    def passage_units(self, question: str, ids: Sequence[str]) -> list[EvidenceUnit]:
        """Passages as evidence, each once in the order of their ids; the score is the cosine with the question."""
        scores = self.dense.scores(question)
        found = [self.by_id[name] for name in dict.fromkeys(ids)]
        return [self.unit(one.id, one.text, float(scores[self.places[one.id]]), one.title) for one in found]

    def sentence_units(self, question: str, ids: Sequence[str]) -> list[EvidenceUnit]:
        """Sentences as evidence, in the same way."""
        scores = self.sentence_scores(question)
        found = [self.sentences[self.places[name]] for name in dict.fromkeys(ids)]
        return [
            self.unit(one.id, one.text, float(scores[self.places[one.id]]), self.by_id[one.passage_id].title)
            for one in found
        ]

    def unit(self, name: str, text: str, cosine: float, title: str = "") -> EvidenceUnit:
        """A piece of evidence of this device."""
        return EvidenceUnit(name, text, self.device, min(max(cosine, -1.0), 1.0), title)
