"""A device's passages as a controller sees them: the rankings of its sources, and the answer paths behind them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError
from fedrag_flwr.files import best_effort
from fedrag_flwr.hypergraph.answer_paths import PRESETS, HyperedgeKeys, PathExplainer, answer_paths
from fedrag_flwr.hypergraph.tuples import TupleTable, VertexSeeds
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import TextEncoder
from fedrag_flwr.records import Document, EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import Retriever, searchable_text
from fedrag_flwr.retrieval.controller import ControllerFeatures
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.late import LateInteractionRetriever, TokenTable
from fedrag_flwr.retrieval.sparse import Bm25Retriever
from fedrag_flwr.retrieval.structured import KeySpaceRetriever, SecondHopRetriever
from fedrag_flwr.text.base import ParsedPassage, Pipeline
from fedrag_flwr.text.segment import document_of
from fedrag_flwr.text.tuple_cache import drop_changed, read_unchanged, tuple_files, unchanged, write_tuples
from fedrag_flwr.text.tuples import Extractor, ParseExtractor

FEATURES = ControllerFeatures(("dense", "BM25", "weighted answer paths", "second hop"))
SHARPNESS = 3.0  # of seeds among a whole device's vertices
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


@dataclass(frozen=True, slots=True)
class _Kept:
    """Tuples that were on disk, of which documents, and whether the file holds or lacks what it should not."""

    documents: Collection[str] = ()
    tuples: _Tuples = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    stale: bool = False


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
        self._kept = root / _TUPLES
        self._tokens = root / _TOKENS
        self._questions = QuestionVectors(encoder)
        self._pipeline = pipeline
        self._make_extractor = extractor
        self._made_extractor: Extractor | None = None
        self._keys = PathKeys.of((), {})
        self._digests: dict[str, str] = {}  # of the documents that the keys know
        self._written: dict[str, str] | None = None  # of those that the file holds; None: it is to be made anew
        self._dropped: Mapping[str, int] = {}  # by the extractor, before this process
        self._taken: dict[tuple[str, str], _Tuples] = {}  # by document and digest, of what a build had parsed
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
                if self._written != self._digests:
                    self._write()
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
        self._taken[document.id, document.digest] = by_passage(self._extractor().extract(parsed))

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
        """Drop from disk the tuples of documents that are gone or have changed, and all tokens."""
        self._drop_changed()
        self._tokens.unlink(missing_ok=True)

    def _extractor(self) -> Extractor:
        if self._made_extractor is None:
            self._made_extractor = self._make_extractor()
        return self._made_extractor

    def _follow(self, passages: Sequence[str], digests: Mapping[str, str]) -> None:
        """Bring the keys up to date with passages of just these documents: only new and changed ones are read again.

        A process that starts takes from disk what was kept of documents that are as they were.
        """
        stay = {name for name, digest in self._digests.items() if digests.get(name) == digest}
        kept = _Kept() if stay else self._read(sorted(digests.items()))
        if not stay:
            self._dropped = kept.dropped
            self._written = None if kept.stale else {name: digests[name] for name in kept.documents}
        new = [name for name in sorted(digests) if name not in stay and name not in kept.documents]
        found = kept.tuples | self._extract([(name, digests[name]) for name in new])
        if self._digests != digests:
            held = self._keys.tuples
            self._keys = PathKeys.of(
                passages,
                {name: held[name] if document_of(name) in stay else found.get(name, []) for name in passages},
            )
        self._digests = dict(digests)

    def _extract(self, documents: Sequence[tuple[str, str]]) -> _Tuples:
        extractor, taken = self._extractor(), self._taken
        parsed = self._pipeline.parse(self._store.document(one[0]) for one in documents if one not in taken)
        found = by_passage(one for passages in parsed for one in extractor.extract(passages))
        for one in documents:
            found |= taken.get(one, {})
        self._taken = {}
        return found

    def _read(self, documents: Sequence[tuple[str, str]]) -> _Kept:
        """What was kept of documents that are as they were; nothing where it was made by other rules."""
        pipeline, extractor = self.id
        try:
            tuples, manifest = read_unchanged(self._kept, documents, extractor=extractor, pipeline=pipeline)
        except (StoreCorruptError, StoreMismatchError):
            return _Kept(stale=True)
        stay = unchanged(manifest, documents)
        return _Kept(stay, by_passage(tuples), manifest.dropped, stay != manifest.passages.keys())

    def _write(self) -> None:
        """Keep the tuples for processes that start later."""
        pipeline, extractor = self.id
        every = [one for name in sorted(self._keys.tuples) for one in self._keys.tuples[name]]
        counted = dict(Counter(self._dropped) + Counter(self._extractor().dropped))
        documents = sorted(self._digests.items())  # those that were read; the store may have others by now
        with best_effort(self._kept):
            write_tuples(self._kept, every, documents, extractor=extractor, pipeline=pipeline, dropped=counted)
            self._written = self._digests
            if self._documents() != documents:  # a build has dropped some before they were written
                self._drop_changed()

    def _drop_changed(self) -> None:
        """Take out of the file what is gone or has changed; where the rest cannot be written, all goes."""
        documents = self._documents()
        try:
            drop_changed(self._kept, documents)
        except OSError:
            for one in tuple_files(self._kept):
                one.unlink(missing_ok=True)

    def _documents(self) -> list[tuple[str, str]]:
        """The documents and their digests."""
        return sorted(self._store.digests().items())


def by_passage(tuples: Iterable[EvidenceTuple]) -> _Tuples:
    """Tuples in lists, one for each passage that has any."""
    found: _Tuples = {}
    for one in tuples:
        found.setdefault(one.passage_id, []).append(one)
    return found
