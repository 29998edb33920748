"""A device's passages as a controller sees them: the rankings of its sources, and the answer paths behind them."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreError, StoreMismatchError
from fedrag_flwr.files import best_effort
from fedrag_flwr.hypergraph.answer_paths import PRESETS, HyperedgeKeys, PathExplainer, answer_paths
from fedrag_flwr.hypergraph.tuples import TupleTable, VertexSeeds
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.tuple_store import TupleStore, Version
from fedrag_flwr.models.base import TextEncoder
from fedrag_flwr.records import Document, EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import Retriever, searchable_text
from fedrag_flwr.retrieval.controller import ControllerFeatures
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.late import LateInteractionRetriever, TokenTable
from fedrag_flwr.retrieval.sparse import Bm25Retriever
from fedrag_flwr.retrieval.structured import KeySpaceRetriever, SecondHopRetriever
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.model_tuples import Extractor
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.segment import document_of
from fedrag_flwr.text.tuples import ParseExtractor

FEATURES = ControllerFeatures(("dense", "BM25", "weighted answer paths", "second hop"))
SHARPNESS = 3.0  # of seeds among a whole device's vertices
_TOKENS = "tokens.npz"
_LOG = logging.getLogger(__name__)
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
        paths = KeySpaceRetriever(keys.paths, keys.seeds, sparse)
        second = SecondHopRetriever(dense, passages)
        return cls((dense, sparse, paths, second), PathExplainer(keys.paths, keys.seeds, keys.tuples))


@dataclass(frozen=True, slots=True)
class PathKeys:
    """Answer paths over passages, what finds the vertices that a question mentions, and the tuples of both."""

    paths: HyperedgeKeys
    seeds: VertexSeeds
    tuples: _Tuples

    @classmethod
    def of(cls, passages: Sequence[str], tuples: _Tuples) -> PathKeys:
        """Make the paths of passages out of their tuples."""
        table = TupleTable.of(chain.from_iterable(tuples.values()), passages)
        paths = HyperedgeKeys("weighted", table, answer_paths(table, PRESETS["paper"]))
        return cls(paths, VertexSeeds(table.vertices, by_rarity=True, sharpness=SHARPNESS), tuples)


class DeviceSources:
    """The sources over a store's passages; made when they are first needed, and changed where the store has changed.
    `extractor` gives what finds evidence tuples; it is called when it is first needed.
    """

    def __init__(
        self,
        store: MemoryStore,
        root: Path,
        encoder: TextEncoder,
        pipeline: Pipeline,
        extractor: Callable[[], Extractor],
    ) -> None:
        self._store = store
        self._tokens = root / _TOKENS
        self._questions = QuestionVectors(encoder)
        self._pipeline = pipeline
        self._make_extractor = extractor
        self._made_extractor: Extractor | None = None
        self._keys = PathKeys.of((), {})
        self._digests: dict[str, str] = {}  # of the documents that the keys know
        self._taken: dict[Version, list[EvidenceTuple]] = {}  # of what a build had parsed
        self._unkept: dict[Version, list[EvidenceTuple]] = {}  # what the store has not taken yet
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
                version, units, digests = self._store.paragraphs()
                self._follow(units.ids, digests)
                made = Sources.over(self._store.passages(units.ids), units.vectors, self._keys, self._questions)
                self._made = (version, made)
                self._keep()
            return self._made[1]

    def beside(self, own: Sequence[str], given: Sequence[ParsedPassage]) -> Sources:
        """The sources over some own passages and those that another device gave, whose tuples are found by rule."""
        self.present()
        passages = [*self._store.passages(own), *(one.passage for one in given)]
        units = self._store.units("paragraph", own)
        row = {name: number for number, name in enumerate(units.ids)}
        kept = units.vectors[[row[name] for name in own]]
        vectors = self._questions.encoder.encode([searchable_text(one.passage) for one in given])
        extractor = ParseExtractor()
        tuples = {name: self._keys.tuples.get(name, []) for name in own}
        tuples |= by_passage(found for one in given for found in extractor.extract([one]))
        keys = PathKeys.of([one.id for one in passages], tuples)
        return Sources.over(passages, np.concatenate([kept, vectors]), keys, self._questions)

    def take(self, document: Document, parsed: Sequence[ParsedPassage]) -> None:
        """Extract the tuples of a document that a build has parsed, so that it is not parsed again."""
        self._taken[document.id, document.digest] = self._extractor().extract(parsed)

    def late_interaction(self) -> LateInteractionRetriever:
        """Late interaction over the passages that come nearest; their tokens are encoded once for each version."""
        _, units, digests = self._store.paragraphs()
        documents = sorted(digests.items())
        # not by the store's version, which others' memories raise too
        known = [self._store.id, documents, self._questions.encoder.id]
        key = hashlib.sha256(json.dumps(known).encode()).hexdigest()
        try:
            tokens = TokenTable.load(self._tokens, units.ids, key)
        except StoreMismatchError:  # none yet, or of other documents or another encoder
            tokens = TokenTable.of(self._store.passages(units.ids), self._questions)
            with best_effort(self._tokens):
                tokens.save(self._tokens, key)
                if self._documents() != documents:  # a build has dropped them before they were written
                    self._tokens.unlink(missing_ok=True)
        dense = DenseRetriever(units.ids, units.vectors, self._questions)
        return LateInteractionRetriever(tokens, self._questions, dense)

    def forget(self) -> None:
        """Drop all tokens from disk; tuples go with their documents."""
        self._tokens.unlink(missing_ok=True)

    def _extractor(self) -> Extractor:
        if self._made_extractor is None:
            self._made_extractor = self._make_extractor()
        return self._made_extractor

    def _follow(self, passages: Sequence[str], digests: Mapping[str, str]) -> None:
        """Bring the keys up to date with passages of just these documents: only new and changed ones are read again."""
        if self._digests == digests:
            return
        stay = {name for name, digest in self._digests.items() if digests.get(name) == digest}
        new = [one for one in sorted(digests.items()) if one[0] not in stay]
        known = self._tuples().known(name for name, _ in new)
        made = self._extract([one for one in new if one not in known])
        self._unkept |= made
        found, held = by_passage(chain.from_iterable((known | made).values())), self._keys.tuples
        self._keys = PathKeys.of(
            passages, {name: held[name] if document_of(name) in stay else found.get(name, []) for name in passages}
        )
        self._digests = dict(digests)

    def _extract(self, documents: Sequence[Version]) -> dict[Version, list[EvidenceTuple]]:
        open_ones = [one for one in documents if one not in self._taken]
        parsed = self._pipeline.parse(self._store.document(name) for name, _ in open_ones)
        found = {one: self._extractor().extract(own) for one, own in zip(open_ones, parsed, strict=True)}
        found |= {one: self._taken[one] for one in documents if one in self._taken}
        self._taken = {}
        return found

    def _keep(self) -> None:
        """Let the store have what was found, for processes that start later; else it is tried again next time."""
        try:
            if self._unkept:
                self._tuples().put(self._unkept)
                self._unkept = {}
        except StoreError as error:
            _LOG.warning("evidence tuples are not kept: %s", error)

    def _tuples(self) -> TupleStore:
        return TupleStore(self._store.database, " ".join(self.id))

    def _documents(self) -> list[tuple[str, str]]:
        """The documents and their digests."""
        return sorted(self._store.digests().items())


def by_passage(tuples: Iterable[EvidenceTuple]) -> _Tuples:
    """Tuples in lists, one for each passage that has any."""
    found: _Tuples = {}
    for one in tuples:
        found.setdefault(one.passage_id, []).append(one)
    return found
