"""A device's passages as a controller sees them: the rankings of its sources, and the answer paths behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError
from fedrag_flwr.hypergraph import PRESETS, HyperedgeKeys, PathExplainer, TupleTable, VertexSeeds, answer_paths
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.reranker import TokenEncoder
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval import (
    Bm25Retriever,
    ControllerFeatures,
    DenseRetriever,
    KeySpaceRetriever,
    LateInteractionRetriever,
    QuestionVectors,
    Retriever,
    TextEncoder,
    TokenTable,
)
from fedrag_flwr.text import Extractor, read_tuples, tuple_files, write_tuples
from fedrag_flwr.text.base import Pipeline

FEATURES = ControllerFeatures(("dense", "BM25", "weighted answer paths"))
SHARPNESS = 3.0  # of seeds among a whole device's vertices
_TUPLES, _TOKENS = "tuples.jsonl", "tokens.npz"


@dataclass(frozen=True, slots=True)
class Sources:
    """Retrievers over the same passages in the order of ``FEATURES``, and what explains the last one's choices."""

    retrievers: tuple[Retriever, ...]
    explainer: PathExplainer

    @classmethod
    def over(
        cls,
        passages: Sequence[Passage],
        vectors: NDArray[np.float32],
        tuples: Sequence[EvidenceTuple],
        questions: QuestionVectors,
    ) -> Sources:
        """Index passages, whose vectors, (n, dimension), are the encoder's of `questions`, and their tuples."""
        ids = [passage.id for passage in passages]
        table = TupleTable.of(tuples, ids)
        paths = HyperedgeKeys("weighted", table, answer_paths(table, PRESETS["paper"]))
        sparse = Bm25Retriever(passages)
        seeds = VertexSeeds(table.vertices, by_rarity=True, sharpness=SHARPNESS)
        dense = DenseRetriever(ids, vectors, questions)
        return cls((dense, sparse, KeySpaceRetriever(paths, seeds, sparse)), PathExplainer(paths, seeds, tuples))


class DeviceSources:
    """The sources over a store's passages; made when they are first needed, and anew when the store has changed.

    Parameters
    ----------
    store
        The passages and their vectors.
    root
        The folder beside the store, where tuples are kept.
    encoder, pipeline
        Those that the store was made with.
    extractor
        Gives what finds evidence tuples; called when it is first needed.
    tokens
        Encodes tokens for late interaction; None: the encoder does.
    """

    def __init__(
        self,
        store: MemoryStore,
        root: Path,
        encoder: TextEncoder,
        pipeline: Pipeline,
        extractor: Callable[[], Extractor],
        tokens: TokenEncoder | None = None,
    ) -> None:
        self._store = store
        self._kept = root / _TUPLES
        self._tokens = root / _TOKENS
        self._questions = QuestionVectors(encoder, tokens=tokens)
        self._pipeline = pipeline
        self._extractor = extractor
        self._made: tuple[int, Sources] | None = None

    @property
    def id(self) -> tuple[str, str]:
        """What tuples depend on besides the documents: the text pipeline and the extractor."""
        return (self._pipeline.id, self._extractor().id)

    def present(self) -> Sources:
        """The sources over all passages of the store's present version."""
        if self._made is None or self._made[0] != self._store.version:
            units = self._store.units("paragraph")
            passages = self._store.passages(units.ids)
            made = Sources.over(passages, units.vectors, self._tuples(), self._questions)
            self._made = (self._store.version, made)
        return self._made[1]

    def late_interaction(self) -> LateInteractionRetriever:
        """Late interaction over the passages that come nearest; their tokens are encoded once for each version."""
        units = self._store.units("paragraph")
        encoder = self._questions.token_encoder.id
        key = hashlib.sha256(json.dumps([self._store.id, self._store.version, encoder]).encode()).hexdigest()
        try:
            tokens = TokenTable.load(self._tokens, units.ids, key)
        except StoreMismatchError:  # none yet, or of other documents or another encoder
            tokens = TokenTable.of(self._store.passages(units.ids), self._questions)
            tokens.save(self._tokens, key)
        dense = DenseRetriever(units.ids, units.vectors, self._questions)
        return LateInteractionRetriever(tokens, self._questions, dense)

    def forget(self) -> None:
        """Drop the tuples and tokens of documents as they were."""
        for kept in (*tuple_files(self._kept), self._tokens):
            kept.unlink(missing_ok=True)

    def _tuples(self) -> list[EvidenceTuple]:
        """The tuples of all documents, extracted once for each state of them."""
        digests = sorted(self._store.digests().items())
        extractor = self._extractor()
        made_by, pipeline = extractor.id, self._pipeline.id
        with suppress(StoreCorruptError, StoreMismatchError):  # none yet, or of other documents or rules
            return read_tuples(self._kept, digests, extractor=made_by, pipeline=pipeline)[0]
        documents = (self._store.document(name) for name, _ in digests)
        found = [one for parsed in self._pipeline.parse(documents) for one in extractor.extract(parsed)]
        write_tuples(self._kept, found, digests, extractor=made_by, pipeline=pipeline, dropped=extractor.dropped)
        return found
