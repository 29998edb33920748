"""A device's part in the controller: its own training examples, its fitted weights, and the order that they give."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import StoreMismatchError, WireError
from fedrag_flwr.files import best_effort, read_arrays, write_arrays
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import ControllerRequest, ControllerUpdate
from fedrag_flwr.retrieval.base import Ranking
from fedrag_flwr.retrieval.controller import ControlledRetriever, Controller, ControllerFeatures, Scaling
from fedrag_flwr.retrieval.controller_fitting import Examples, FittingSettings, LabelledRankings, Moments, descend
from fedrag_flwr.retrieval.evidence_sources import FEATURES, DeviceSources, Sources
from fedrag_flwr.sqlite_errors import own_errors
from fedrag_flwr.text.segment import document_of

SHIPPED, TRAINED = "shipped", "trained"  # weights that come with the package, or were trained in federation
SHIPPED_WEIGHTS = Path(__file__).parents[1] / "retrieval" / "controller_weights.json"
_FITTING = FittingSettings()
_WEIGHTS, _EXAMPLES = "controller.json", "controller-examples.npz"


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question of this device's own, and the ids of the documents that support its answer; it never leaves."""

    text: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceController:
    """What a device does for the controller."""

    device: str  # the device's name
    store: MemoryStore  # its passages and their vectors
    root: Path  # the folder beside the store, where examples and the controller are kept
    sources: DeviceSources  # the rankings over its passages
    seed: int  # of the choice of negatives and the order of examples

    def train(self, request: ControllerRequest, questions: Sequence[TrainingQuestion]) -> ControllerUpdate:
        """Take one step of the common training: give moments or weights, or keep the weights that came of it; raises
        WireError where the request is for a controller with other features and StoreError where the disk does not take
        the weights.
        """
        if request.features != features_id(FEATURES):
            raise WireError("the request is for a controller with other features", where="ControllerRequest")
        if request.stage == "keep":
            made = self._controller(request)
            with own_errors(self.root, _WEIGHTS):
                made.save(self.root / _WEIGHTS)
            return ControllerUpdate(self.device, 0, ())
        examples = self.examples(questions)
        if not examples.teach:
            return ControllerUpdate(self.device, 0, ())
        if request.stage == "moments":
            moments = Moments.of(examples.values)
            values = np.concatenate([moments.mean, moments.square])
        else:
            start = self._controller(request)
            rng = np.random.default_rng([self.seed, request.round, zlib.crc32(self.device.encode())])
            values = descend(
                np.append(start.weights, start.bias), examples, start.scaling, _FITTING, request.epochs, rng
            )
        return ControllerUpdate(self.device, len(examples), tuple(values.tolist()))

    def forget(self) -> None:
        """Drop what was made of documents as they were; it is made anew when it is next needed."""
        self.sources.forget()
        (self.root / _EXAMPLES).unlink(missing_ok=True)

    def retriever(self, weights: str = TRAINED, over: Sources | None = None) -> ControlledRetriever:
        """Passages, ranked through a controller; raises StoreCorruptError where there is no such controller, or its
        file is torn, and StoreMismatchError where it was fitted for other features than this device's sources give.

        Parameters
        ----------
        weights
            ``trained``: what federated training left here last; ``shipped``: fitted on public questions, in the
            package; else the path of a file that `Controller.save` wrote.
        over
            The sources; None: those over all of the device's passages.
        """
        path = self._file(weights)
        controller = Controller.load(path)
        if controller.features != FEATURES:
            raise StoreMismatchError(
                "the controller was fitted for other sources", where=path.name, fix=f"fit it for {FEATURES.sources}"
            )
        return ControlledRetriever((over or self.sources.present()).retrievers, controller)

    def weights_id(self, weights: str) -> str:
        """Names what the file of `retriever`'s weights holds now; empty where it cannot be read."""
        try:
            return hashlib.sha256(self._file(weights).read_bytes()).hexdigest()[:16]
        except OSError:
            return ""

    def examples(self, questions: Sequence[TrainingQuestion]) -> Examples:
        """The candidates of those questions whose supporting documents are all here; described once and kept.

        A passage counts as support if its document does.
        """
        held = self.store.digests().keys()
        own = [question for question in questions if question.documents and held >= set(question.documents)]
        asked = [(question.text, question.documents) for question in own]
        wanted = [
            *(self.store.id, self.store.version, self.seed, _FITTING.negative_ratio),
            *(features_id(FEATURES), *self.sources.id, asked),
        ]
        key = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
        kept = self.root / _EXAMPLES
        with suppress(StoreMismatchError, KeyError):  # none yet, or of other questions or documents
            arrays = read_arrays(kept, key)
            return Examples(arrays["values"], arrays["supports"])
        made = Examples.of(FEATURES, [self._labelled(one) for one in own], _FITTING, np.random.default_rng(self.seed))
        with best_effort(kept):
            write_arrays(kept, key, values=made.values, supports=made.supports)
        return made

    def _file(self, weights: str) -> Path:
        return {TRAINED: self.root / _WEIGHTS, SHIPPED: SHIPPED_WEIGHTS}.get(weights, Path(weights).expanduser())

    def _labelled(self, question: TrainingQuestion) -> LabelledRankings:
        rankings: tuple[Ranking, ...] = tuple(
            source.rank(question.text, FEATURES.depth) for source in self.sources.present().retrievers
        )
        documents = {found.passage_id: document_of(found.passage_id) for one in rankings for found in one}
        return LabelledRankings(
            rankings, frozenset(name for name, document in documents.items() if document in question.documents)
        )

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
