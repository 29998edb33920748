"""A device's part in learning topics with its peers: it gives terms of encrypted sums, and moves topics by the sums."""

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
from fedrag_flwr.overlay import Topics
from fedrag_flwr.overlay.device_sketches import DeviceSketches, document_vectors
from fedrag_flwr.overlay.learning import first_centroids, moved, topic_counts, topic_sums
from fedrag_flwr.overlay.sketches import counts_of
from fedrag_flwr.privacy.ckks.sums import STEP
from fedrag_flwr.records import TopicRequest, TopicUpdate

_LOG = logging.getLogger(__name__)
_DRAFT, _KEPT = "draft", "kept"
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Draft:
    """What a device knows at a step: where topics are, shape (topics, dimension), and how many documents each has."""

    name: str  # stands for all sums that led here
    number: int
    centroids: NDArray[np.float32]
    counts: Values


@dataclass(frozen=True, slots=True)
class TopicLearner:
    """What a device does for topics that the federation learns.

    Parameters
    ----------
    sketches
        This device's sketch of the public headings, from which learning starts.
    sums
        Of this device's groups.
    """

    sketches: DeviceSketches
    sums: GroupSums

    def topics(self) -> Topics:
        """The topics that were learnt; their names are numbers that no other learning gives.

        Raises
        ------
        SettingError
            There are none yet, or they were learnt from other headings, or another number of them.
        """
        kept = self._noted(_KEPT)
        if kept is None:
            raise SettingError(
                "no topics were learnt with other devices yet", where="overlay.topics", fix="run topic-walk with them"
            )
        return Topics(tuple(f"{kept.name}.{row}" for row in range(len(kept.centroids))), kept.centroids)

    def step(self, request: TopicRequest, run: str) -> TopicUpdate:
        """Take one step of a run; the same step again gives the same, but for noise.

        Raises
        ------
        WireError
            This device has missed the step before, and so does not know where topics are.
        """
        if request.stage == "known":
            return self._told(self._noted(_KEPT))
        if request.stage == "sketch":
            nowhere = np.zeros((0, self._dimension), dtype=np.float32)
            self._note(_DRAFT, _Draft(self._start(), 0, nowhere, np.zeros(0)))
            held = counts_of(self.sketches.own())
            term = self.sums.give(request.step, request.server, held, run)  # its noise was drawn when it was made
            return TopicUpdate(self.sketches.device, "", term)
        draft = self._next(request, run)
        if request.stage == "keep":
            self._note(_KEPT, draft)
            return self._told(draft)
        documents = document_vectors(self.sketches.store, self._dimension)
        if request.stage == "count":
            given = topic_counts(documents, draft.centroids)
        else:
            given = topic_sums(documents, draft.centroids, draft.counts).ravel()
        noise = self.sketches.settings.overlay.learning_noise
        return TopicUpdate(self.sketches.device, "", self.sums.give(request.step, request.server, given, run, noise))

    # --- parts ------------------------------------------------------------------------------------

    def _next(self, request: TopicRequest, run: str) -> _Draft:
        """What is known at a step: topics moved by the sums of the step before, or how many documents each has."""
        before = self._noted(_DRAFT)
        if before is None or before.number not in (request.number - 1, request.number):
            raise WireError("this device has missed a step of learning topics", where="TopicRequest")
        if before.number == request.number:  # the message came again
            return before
        overlay, headings = self.sketches.settings.overlay, self.sketches.topics
        centroids, counts = before.centroids, np.zeros(len(before.centroids))
        if request.number == 1:
            total = self._total(request, (len(headings),), run)
            centroids = first_centroids(headings.centroids, total, overlay.learnt_topics)
        elif request.stage == "move":
            total = counts = self._total(request, counts.shape, run)
        else:
            total = self._total(request, centroids.shape, run)
            noise = overlay.learning_noise * math.sqrt(request.devices)
            centroids = moved(centroids, before.counts, total, noise)
        told = np.rint(total / STEP).astype("<i8").tobytes()  # equal at all devices, unlike the last bits of vectors
        name = hashlib.sha256(f"{before.name}|".encode() + told).hexdigest()[:16]
        return self._note(_DRAFT, _Draft(name, request.number, centroids, counts))

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

    def _note(self, what: str, draft: _Draft) -> _Draft:
        body = {"from": self._start(), "name": draft.name, "number": draft.number, "counts": draft.counts.tolist()}
        vectors = np.ascontiguousarray(draft.centroids, dtype="<f4").tobytes()
        self.sketches.notes.put("topics", {what: body | {"centroids": base64.b64encode(vectors).decode()}})
        return draft

    def _noted(self, what: str) -> _Draft | None:
        """What was noted, if it was learnt from the same headings, and as many topics as are asked for now."""
        body: Any = self.sketches.notes.get("topics", what)
        if body is None or body["from"] != self._start():
            return None
        vectors = np.frombuffer(base64.b64decode(body["centroids"]), dtype="<f4").reshape(-1, self._dimension)
        return _Draft(body["name"], body["number"], vectors.astype(np.float32), np.array(body["counts"], dtype=float))

    def _told(self, draft: _Draft | None) -> TopicUpdate:
        return TopicUpdate(self.sketches.device, draft.name if draft else "")

    def _start(self) -> str:
        """Stands for what learning begins with: the headings, and how many topics are to come of them."""
        parts = (*self.sketches.topics.names, str(self.sketches.settings.overlay.learnt_topics), str(self._dimension))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    @property
    def _dimension(self) -> int:
        return int(self.sketches.topics.centroids.shape[1])
