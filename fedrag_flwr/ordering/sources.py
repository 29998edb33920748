"""A device's passages as a controller sees them: the rankings of its sources, and the answer paths behind them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError
from fedrag_flwr.hypergraph import GrowingPaths, GrowingSeeds, PathExplainer
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.reranker import TokenEncoder
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval import (
    Bm25Retriever,
    ControllerFeatures,
    DenseRetriever,
    GrowingPathRetriever,
    LateInteractionRetriever,
    QuestionVectors,
    Retriever,
    SecondHopRetriever,
    TextEncoder,
    TokenTable,
)
from fedrag_flwr.text import Extractor, read_tuples, tuple_files, write_tuples
from fedrag_flwr.text.base import Pipeline

FEATURES = ControllerFeatures(("dense", "BM25", "weighted answer paths", "second hop"))
SHARPNESS = 3.0  # of seeds among a whole device's vertices
_MOST_WASTE = 0.5  # share of tuples that are gone from which keys are made anew
_TUPLES, _TOKENS = "tuples.jsonl", "tokens.npz"
_Tuples = dict[str, list[EvidenceTuple]]  # by passage


@dataclass(frozen=True, slots=True)
class Sources:
    """Retrievers over the same passages in the order of ``FEATURES``, and what explains the choices of answer paths."""

    retrievers: tuple[Retriever, ...]
    explainer: PathExplainer

    @classmethod
    def over(
        cls,
        passages: Sequence[Passage],
        vectors: NDArray[np.float32],
        keys: PathKeys,
        questions: QuestionVectors,
    ) -> Sources:
        """Index passages, whose vectors, (n, dimension), are the encoder's of `questions`, beside their paths."""
        sparse = Bm25Retriever(passages)
        dense = DenseRetriever([passage.id for passage in passages], vectors, questions)
        paths = GrowingPathRetriever(keys.paths, sparse)
        second = SecondHopRetriever(dense, passages)
        return cls((dense, sparse, paths, second), PathExplainer(keys.paths, keys.tuples))


@dataclass(slots=True)
class PathKeys:
    """Answer paths over passages, and the tuples that they are made of."""

    paths: GrowingPaths = field(default_factory=lambda: GrowingPaths(GrowingSeeds(SHARPNESS)))
    tuples: _Tuples = field(default_factory=dict)

    def change(self, removed: Iterable[str], added: Mapping[str, list[EvidenceTuple]]) -> None:
        """Take passages out and put passages with their tuples in; made anew where most of it would be waste."""
        gone = set(removed)
        self.tuples = {name: own for name, own in self.tuples.items() if name not in gone} | dict(added)
        self.paths.update(gone, added)
        if self.paths.waste > _MOST_WASTE:
            self.paths = GrowingPaths(GrowingSeeds(SHARPNESS))
            self.paths.update((), self.tuples)


class DeviceSources:
    """The sources over a store's passages; made when they are first needed, and changed where the store has changed.

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
        self._make_extractor = extractor
        self._made_extractor: Extractor | None = None
        self._keys = PathKeys()
        self._digests: dict[str, str] = {}  # of the documents that the keys know
        self._made: tuple[int, Sources] | None = None
        self._changing = threading.Lock()

    @property
    def id(self) -> tuple[str, str]:
        """What tuples depend on besides the documents: the text pipeline and the extractor."""
        return (self._pipeline.id, self._extractor().id)

    def present(self) -> Sources:
        """The sources over all passages of the store's present version."""
        with self._changing:
            if self._made is None or self._made[0] != self._store.version:
                units = self._store.units("paragraph")
                self._follow(units.ids)
                made = Sources.over(self._store.passages(units.ids), units.vectors, self._keys, self._questions)
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
        """Drop from disk the tuples and tokens of documents as they were."""
        for kept in (*tuple_files(self._kept), self._tokens):
            kept.unlink(missing_ok=True)

    def _extractor(self) -> Extractor:
        if self._made_extractor is None:
            self._made_extractor = self._make_extractor()
        return self._made_extractor

    def _follow(self, passages: Sequence[str]) -> None:
        """Bring the keys up to date: only documents that are new or have changed are read again."""
        digests = self._store.digests()
        stay = {name for name, digest in self._digests.items() if digests.get(name) == digest}
        kept = None if stay else self._read()
        found = kept if kept is not None else self._extract([name for name in sorted(digests) if name not in stay])
        removed = [name for name in self._keys.tuples if _document(name) not in stay]
        self._keys.change(removed, {name: found.get(name, []) for name in passages if _document(name) not in stay})
        self._digests = dict(digests)
        if kept is None:
            self._write()

    def _extract(self, documents: Sequence[str]) -> _Tuples:
        extractor = self._extractor()
        parsed = self._pipeline.parse(self._store.document(name) for name in documents)
        return by_passage(one for passages in parsed for one in extractor.extract(passages))

    def _read(self) -> _Tuples | None:
        """The tuples of all documents as they were kept; None where none are, or of other documents or rules."""
        pipeline, extractor = self.id
        digests = sorted(self._store.digests().items())
        try:
            return by_passage(read_tuples(self._kept, digests, extractor=extractor, pipeline=pipeline)[0])
        except (StoreCorruptError, StoreMismatchError):
            return None

    def _write(self) -> None:
        pipeline, extractor = self.id
        every = [one for name in sorted(self._keys.tuples) for one in self._keys.tuples[name]]
        dropped = self._extractor().dropped
        digests = sorted(self._digests.items())
        write_tuples(self._kept, every, digests, extractor=extractor, pipeline=pipeline, dropped=dropped)


def by_passage(tuples: Iterable[EvidenceTuple]) -> _Tuples:
    """Tuples in lists, one for each passage that has any."""
    found: _Tuples = {}
    for one in tuples:
        found.setdefault(one.passage_id, []).append(one)
    return found


def _document(passage: str) -> str:
    return passage.rpartition("#")[0]
