"""A device's part in the controller: the rankings over its passages, its own training examples, its fitted weights."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError, WireError
from fedrag_flwr.files import replace_file
from fedrag_flwr.hypergraph import PRESETS, HyperedgeKeys, TupleTable, VertexSeeds, answer_paths
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import ControllerRequest, ControllerUpdate, EvidenceTuple
from fedrag_flwr.retrieval import (
    Bm25Retriever,
    ControlledRetriever,
    Controller,
    ControllerFeatures,
    DenseRetriever,
    Examples,
    FittingSettings,
    KeySpaceRetriever,
    LabelledRankings,
    Moments,
    QuestionVectors,
    Ranking,
    Retriever,
    Scaling,
    TextEncoder,
    descend,
)
from fedrag_flwr.text import ParseExtractor, read_tuples, tuple_files, write_tuples
from fedrag_flwr.text.base import Pipeline

FEATURES = ControllerFeatures(("dense", "BM25", "weighted answer paths"))
SHARPNESS = 3.0  # of seeds among a whole device's vertices
_WEIGHTS, _EXAMPLES, _TUPLES = "controller.json", "controller-examples.npz", "tuples.jsonl"


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question of this device's own, and the ids of the documents that support its answer; it never leaves."""

    text: str
    documents: tuple[str, ...]


class DeviceController:
    """What a device does for the controller.

    Parameters
    ----------
    device
        The device's name.
    store
        Its passages and their vectors.
    root
        The folder beside the store, where tuples, examples and the controller are kept.
    encoder, pipeline
        Those that the store was made with.
    settings
        How controllers are fitted.
    seed
        Of the choice of negatives and the order of examples.
    """

    def __init__(
        self,
        device: str,
        store: MemoryStore,
        root: Path,
        encoder: TextEncoder,
        pipeline: Pipeline,
        settings: FittingSettings,
        seed: int,
    ) -> None:
        self._device = device
        self._store = store
        self._root = root
        self._encoder = encoder
        self._pipeline = pipeline
        self._settings = settings
        self._seed = seed
        self._sources: tuple[int, tuple[Retriever, ...]] = (-1, ())

    def train(self, request: ControllerRequest, questions: Sequence[TrainingQuestion]) -> ControllerUpdate:
        """Take one step of the common training: give moments or weights, or keep the weights that came of it.

        Parameters
        ----------
        request
            The step, with the weights and the scaling that all devices start from.
        questions
            This device's own.

        Raises
        ------
        WireError
            The request is for a controller with other features.
        """
        if request.features != features_id(FEATURES):
            raise WireError("the request is for a controller with other features", where="ControllerRequest")
        if request.stage == "keep":
            self._controller(request).save(self._root / _WEIGHTS)
            return ControllerUpdate(self._device, 0, ())
        examples = self.examples(questions)
        if not examples.teach:
            return ControllerUpdate(self._device, 0, ())
        if request.stage == "moments":
            moments = Moments.of(examples.values)
            values = np.concatenate([moments.mean, moments.square])
        else:
            start = self._controller(request)
            rng = np.random.default_rng([self._seed, request.round, zlib.crc32(self._device.encode())])
            values = descend(
                np.append(start.weights, start.bias), examples, start.scaling, self._settings, request.epochs, rng
            )
        return ControllerUpdate(self._device, len(examples), tuple(values.tolist()))

    def forget(self) -> None:
        """Drop what was made of documents as they were; it is made anew when it is next needed."""
        for kept in (*tuple_files(self._root / _TUPLES), self._root / _EXAMPLES):
            kept.unlink(missing_ok=True)

    def retriever(self) -> ControlledRetriever:
        """The device's passages, ranked through the controller that was kept last.

        Raises
        ------
        StoreCorruptError
            None was kept yet, or its file is torn.
        """
        return ControlledRetriever(self.sources(), Controller.load(self._root / _WEIGHTS))

    def sources(self) -> tuple[Retriever, ...]:
        """Retrievers over all passages of the store's present version, in the order of ``FEATURES``."""
        version, sources = self._sources
        if version != self._store.version:
            sources = self._make_sources()
            self._sources = (self._store.version, sources)
        return sources

    def examples(self, questions: Sequence[TrainingQuestion]) -> Examples:
        """The candidates of those questions whose supporting documents are all here; described once and kept.

        A passage counts as support if its document does.
        """
        held = self._store.digests().keys()
        own = [question for question in questions if question.documents and held >= set(question.documents)]
        asked = [(question.text, question.documents) for question in own]
        wanted = [
            *(self._store.id, self._store.version, self._seed, self._settings.negative_ratio),
            *(features_id(FEATURES), self._pipeline.id, ParseExtractor.id, asked),
        ]
        key = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
        kept = self._root / _EXAMPLES
        with suppress(StoreMismatchError):  # none yet, or of other questions or documents
            return _read_examples(kept, key)
        made = Examples.of(
            FEATURES, [self._labelled(one) for one in own], self._settings, np.random.default_rng(self._seed)
        )
        body = io.BytesIO()
        np.savez(body, key=np.array(key), values=made.values, supports=made.supports)
        replace_file(kept, body.getvalue())
        return made

    def _labelled(self, question: TrainingQuestion) -> LabelledRankings:
        rankings: tuple[Ranking, ...] = tuple(source.rank(question.text, FEATURES.depth) for source in self.sources())
        documents = {found.passage_id: found.passage_id.rpartition("#")[0] for one in rankings for found in one}
        return LabelledRankings(
            rankings, frozenset(name for name, document in documents.items() if document in question.documents)
        )

    def _make_sources(self) -> tuple[Retriever, ...]:
        units = self._store.units("paragraph")
        passages = self._store.passages(units.ids)
        table = TupleTable.of(self._tuples(), units.ids)
        paths = HyperedgeKeys("weighted", table, answer_paths(table, PRESETS["paper"]))
        sparse = Bm25Retriever(passages)
        seeds = VertexSeeds(table.vertices, by_rarity=True, sharpness=SHARPNESS)
        dense = DenseRetriever(units.ids, units.vectors, QuestionVectors(self._encoder))
        return (dense, sparse, KeySpaceRetriever(paths, seeds, sparse))

    def _tuples(self) -> list[EvidenceTuple]:
        """The tuples of all documents, extracted once for each state of them."""
        digests = sorted(self._store.digests().items())
        kept, extractor = self._root / _TUPLES, ParseExtractor()
        with suppress(StoreCorruptError, StoreMismatchError):  # none yet, or of other documents or rules
            return read_tuples(kept, digests, extractor=extractor.id, pipeline=self._pipeline.id)[0]
        documents = (self._store.document(name) for name, _ in digests)
        found = [one for parsed in self._pipeline.parse(documents) for one in extractor.extract(parsed)]
        write_tuples(kept, found, digests, extractor=extractor.id, pipeline=self._pipeline.id)
        return found

    def _controller(self, request: ControllerRequest) -> Controller:
        weights = np.array(request.weights)
        if len(weights) != len(FEATURES.names) + 1:
            raise WireError("there is not one weight for each feature", where="ControllerRequest")
        scaling = Scaling(np.array(request.mean), np.array(request.deviation))
        fitted_on = (
            f"own training questions of {request.devices} devices, {request.round} rounds of federated averaging"
        )
        return Controller(FEATURES, scaling, weights[:-1], float(weights[-1]), fitted_on)


def features_id(features: ControllerFeatures) -> str:
    """Names a set of features, so that two sides know that they mean the same."""
    return hashlib.sha256(json.dumps([features.depth, *features.names]).encode()).hexdigest()[:16]


def _read_examples(path: Path, key: str) -> Examples:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if str(arrays["key"]) != key:
                raise StoreMismatchError("the examples are of other questions", where=path.name)
            values: NDArray[np.float64] = arrays["values"]
            return Examples(values, arrays["supports"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise StoreMismatchError("there are no examples", where=path.name) from error
