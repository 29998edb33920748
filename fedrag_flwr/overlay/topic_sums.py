"""Topics learnt together: spherical k-means over the documents of all peers, of which only encrypted sums are seen.

All begin at the public headings on which they hold most documents together. In each round every peer files its own
documents under the nearest topic and gives for each topic first their number, then the sum of their vectors; what
peers give is added up, and each topic moves to the mean direction of its documents.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError, SettingError, WireError
from fedrag_flwr.exchange.sums import GroupSums
from fedrag_flwr.overlay.device_sketches import DeviceSketches, document_vectors
from fedrag_flwr.overlay.sketches import counts_of
from fedrag_flwr.overlay.topics import Topics
from fedrag_flwr.privacy.ckks.sums import STEP
from fedrag_flwr.records import TopicRequest, TopicUpdate

_LOG = logging.getLogger(__name__)
_GOING, _KEPT = "going", "kept"
Values = NDArray[np.float64]
FEWEST = 8  # documents of all peers from which a topic moves: with fewer its sum could tell a single one
_ROUNDING = 1.01  # a sum of unit vectors is no longer than they are many, but for what rounding adds
_SHORTEST = 1e-6  # sum that still has a direction
Floats = NDArray[np.float32]


def topic_sums(documents: Floats, centroids: Floats, counts: Values) -> Values:
    """What a peer gives then: the sum of its documents' vectors for each topic, shape (topics, dimension).

    Of topics under which all peers together have fewer than `FEWEST` documents it gives nothing: whoever reads the sum
    would read single documents.

    Parameters
    ----------
    documents, centroids
        Shapes (n, dimension) and (topics, dimension), unit rows: whatever its length, a document counts once.
    counts
        What all peers gave first, added up.
    """
    sums = np.zeros(centroids.shape)
    np.add.at(sums, (documents @ centroids.T).argmax(axis=1), documents)
    return np.where((counts >= FEWEST)[:, None], sums, 0.0)


def moved(centroids: Floats, counts: Values, sums: Values, noise: float = 0.0) -> Floats:
    """Topics after a round, shape (topics, dimension).

    One stays where it was whose documents are fewer than `FEWEST`, or whose sum is longer than they are many, which no
    honest peers make up together.

    Parameters
    ----------
    centroids
        Where they were, unit rows.
    counts, sums
        What all peers gave, added up.
    noise
        Standard deviation of the noise in each of these numbers.
    """
    lengths = np.linalg.norm(sums, axis=1)
    most = _ROUNDING * counts + 4 * noise * np.sqrt(sums.shape[1])
    moves = (counts >= FEWEST) & (lengths <= most) & (lengths > _SHORTEST)
    directions = sums / np.maximum(lengths, _SHORTEST)[:, None]
    return np.where(moves[:, None], directions, centroids).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Step:
    """What a device knows at a step: where topics are, shape (topics, dimension), and how many documents each has."""

    name: str  # stands for all sums that led here
    number: int
    centroids: NDArray[np.float32]
    counts: Values

    @property
    def topics(self) -> Topics:
        """Where topics are; their names are numbers that no other learning gives."""
        return Topics(tuple(f"{self.name}.{row}" for row in range(len(self.centroids))), self.centroids)


@dataclass(frozen=True, slots=True)
class TopicLearner:
    """What a device does for topics that the federation learns."""

    sketches: DeviceSketches  # this device's sketch of the public headings, from which learning starts
    sums: GroupSums  # of this device's groups

    def topics(self) -> Topics:
        """The topics that were learnt; raises SettingError where there are none yet, or they were learnt from other
        headings, or another number of them.
        """
        kept = self._noted(_KEPT)
        if kept is None:
            raise SettingError(
                "no topics were learnt with other devices yet", where="overlay.topics", fix="run topic-walk with them"
            )
        return kept.topics

    def step(self, request: TopicRequest, run: str) -> TopicUpdate:
        """Take one step of a run; the same step again gives the same, but for noise; raises WireError where this device
        has missed the step before, and so does not know where topics are.
        """
        if request.stage == "known":
            return self._told(self._noted(_KEPT))
        if request.stage == "sketch":
            nowhere = np.zeros((0, self._dimension), dtype=np.float32)
            self._note(_GOING, _Step(self._start(), 0, nowhere, np.zeros(0)))
            held = counts_of(self.sketches.own())
            term = self.sums.give(request.step, request.server, held, run)  # its noise was drawn when it was made
            return TopicUpdate(self.sketches.device, "", term)
        state = self._next(request, run)
        if request.stage == "keep":
            self._note(_KEPT, state)
            return self._told(state)
        documents = document_vectors(self.sketches.store, self._dimension)
        if request.stage == "count":
            given = state.topics.counts(documents).astype(np.float64)
        else:
            given = topic_sums(documents, state.centroids, state.counts).ravel()
        noise = self.sketches.settings.federation.sum_noise
        return TopicUpdate(self.sketches.device, "", self.sums.give(request.step, request.server, given, run, noise))

    # --- parts ------------------------------------------------------------------------------------

    def _next(self, request: TopicRequest, run: str) -> _Step:
        """What is known at a step: topics moved by the sums of the step before, or how many documents each has."""
        before = self._noted(_GOING)
        if before is None or before.number not in (request.number - 1, request.number):
            raise WireError("this device has missed a step of learning topics", where="TopicRequest")
        if before.number == request.number:  # the message came again
            return before
        overlay, headings = self.sketches.settings.overlay, self.sketches.topics
        centroids, counts = before.centroids, np.zeros(len(before.centroids))
        if request.number == 1:
            total = self._total(request, (len(headings),), run)
            centroids = headings.centroids[np.argsort(-total, kind="stable")[: overlay.learnt_topics]]
        elif request.stage == "move":
            total = counts = self._total(request, counts.shape, run)
        else:
            total = self._total(request, centroids.shape, run)
            noise = self.sketches.settings.federation.sum_noise * math.sqrt(request.devices)
            centroids = moved(centroids, before.counts, total, noise)
        told = np.rint(total / STEP).astype("<i8").tobytes()  # equal at all devices, unlike the last bits of vectors
        name = hashlib.sha256(f"{before.name}|".encode() + told).hexdigest()[:16]
        return self._note(_GOING, _Step(name, request.number, centroids, counts))

    def _total(self, request: TopicRequest, shape: tuple[int, ...], run: str) -> Values:
        """The sum of the step before; zeros, by which nothing moves, where there is none or one that nobody can read.

        A device that encrypts under a key of its own can spoil a sum, and nobody knows who it was.
        """
        if request.total:
            try:
                return self.sums.read(request.total, math.prod(shape), run).reshape(shape)
            except CipherError as error:
                _LOG.warning("topics stay where they are: %s", error)
        return np.zeros(shape)

    def _note(self, what: str, state: _Step) -> _Step:
        body = {"from": self._start(), "name": state.name, "number": state.number, "counts": state.counts.tolist()}
        vectors = np.ascontiguousarray(state.centroids, dtype="<f4").tobytes()
        self.sketches.notes.put("topics", {what: body | {"centroids": base64.b64encode(vectors).decode()}})
        return state

    def _noted(self, what: str) -> _Step | None:
        """What was noted, if it was learnt from the same headings, and as many topics as are asked for now."""
        body: Any = self.sketches.notes.get("topics", what)
        if body is None or body["from"] != self._start():
            return None
        vectors = np.frombuffer(base64.b64decode(body["centroids"]), dtype="<f4").reshape(-1, self._dimension)
        return _Step(body["name"], body["number"], vectors.astype(np.float32), np.array(body["counts"], dtype=float))

    def _told(self, state: _Step | None) -> TopicUpdate:
        return TopicUpdate(self.sketches.device, state.name if state else "")

    def _start(self) -> str:
        """Stands for what learning begins with: the headings, and how many topics are to come of them."""
        parts = (*self.sketches.topics.names, str(self.sketches.settings.overlay.learnt_topics), str(self._dimension))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    @property
    def _dimension(self) -> int:
        return int(self.sketches.topics.centroids.shape[1])
