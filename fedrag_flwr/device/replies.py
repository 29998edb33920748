"""What others get from a device through its export filter: memories, summaries, centroids, documents, evidence."""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from fedrag_flwr.answering.passages import POOL, EvidenceStore
from fedrag_flwr.device.builds import emptied_sources
from fedrag_flwr.device.device_graph import DeviceGraph
from fedrag_flwr.device.releases import RELEASED, Releases
from fedrag_flwr.device.shared_memory import Sharing
from fedrag_flwr.errors import FedragError, PrivacyError, StoreCorruptError, StoreMismatchError, WireError
from fedrag_flwr.files import best_effort, read_arrays, write_arrays
from fedrag_flwr.memory.store.summary_store import SummaryStore
from fedrag_flwr.privacy.bundles import MASKED_FOR_ONE
from fedrag_flwr.privacy.vectors import Content
from fedrag_flwr.records import (
    Centroid,
    CentroidBatch,
    CentroidRequest,
    Delta,
    DocumentBatch,
    Evidence,
    EvidenceBatch,
    EvidenceRequest,
    EvidenceUnit,
    Exchange,
    RetrieveBy,
    ShareRequest,
    SummaryBatch,
    SummaryOverview,
    SummaryRequest,
)
from fedrag_flwr.retrieval.source_router import GROUPS, Centroids, centroids_of
from fedrag_flwr.sources.open_source import SourceSet
from fedrag_flwr.text.segment import passage_of, under_title

_LOG = logging.getLogger(__name__)
_FILE = "centroids.npz"


@dataclass(frozen=True, slots=True)
class PassageCentroids:
    """Groups what the export filter shows of the passages, and keeps that until documents or export filter change.

    Neither a request nor a run has a say in how passages are grouped: two groupings of the same passages could be
    subtracted from each other.
    """

    keeper: Releases  # knows the device's memory, and its export filter
    secret: bytes  # the device's own; it seeds the grouping

    def present(self) -> Centroids:
        """The groups as documents and filter are now; made anew where a name or a document came meanwhile."""
        while True:
            state = self._state()
            found = self._kept(state)
            if found is not None:
                return found
            found = self._made()
            if self._state() == state:
                self._keep(state, found)
                return found

    def _state(self) -> str:
        """Names the documents, the export filter and the private names that it knows."""
        keeper = self.keeper
        keeper.inform()
        return f"{keeper.generation()}.{len(keeper.export.names)}.{keeper.store.state()}"

    def _made(self) -> Centroids:
        store = self.keeper.store
        units = store.units("paragraph")
        texts = tuple(under_title(one.title, one.text) for one in store.passages(units.ids))
        shown = self.keeper.export.shown_vectors(Content(texts, units.vectors))
        shown = np.unique(shown, axis=0)  # in an order of their own: that of the ids hangs on what is not shown
        return centroids_of(shown, GROUPS, int.from_bytes(self.secret[:4], "little"))

    # --- what is kept -----------------------------------------------------------------------------

    @property
    def _path(self) -> Path:
        return self.keeper.store.database.directory / RELEASED / _FILE

    def _kept(self, state: str) -> Centroids | None:
        """What was kept of this state; none where that is torn, too."""
        try:
            kept = read_arrays(self._path, state)
            return Centroids(kept["vectors"], kept["passages"], kept["closeness"])
        except (StoreMismatchError, KeyError):
            return None

    def _keep(self, state: str, found: Centroids) -> None:
        with best_effort(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            vectors, passages, closeness = found.vectors, found.passages, found.closeness
            write_arrays(self._path, state, vectors=vectors, passages=passages, closeness=closeness)


_STRICTNESS: tuple[Exchange, ...] = get_args(Exchange)  # the most open first


@dataclass(frozen=True, slots=True)
class DeviceGiving:
    """What leaves a device because another party asked for it."""

    releases: Releases  # keeps the export filter up to date that it leaves by, and knows the device's memory
    sources: SourceSet  # where the documents are
    # graph, evidence_store: the device's knowledge graph and its own evidence.
    graph: DeviceGraph
    evidence_store: EvidenceStore
    groups: PassageCentroids  # of its passages, as the export filter shows them

    def memories(self, request: ShareRequest) -> Delta:
        """What of this device's memories is new, and what was withdrawn, since a version of its store; in pages.

        Where the other side knows another generation, everything is sent; where it has pages of another version than
        the present one, they come again from the first.
        """
        keeper = self.releases
        size = keeper.settings.federation.page_bytes
        return Sharing(keeper.device, keeper.store, keeper.export, keeper.hide, size).page(request, keeper.generation())

    def summaries(self, request: SummaryRequest) -> SummaryBatch:
        """What the knowledge graph is about that the asking side does not know yet, through the export filter; raises
        PrivacyError where this device's summaries leave in sealed messages alone, or under a stricter exchange than the
        run's.
        """
        self._refuse_laxer(request.exchange)
        if self.releases.settings.graph.share == "sealed":
            raise PrivacyError(
                "this device's summaries leave in sealed messages alone",
                where=self.releases.device,
                fix='the run needs graph.share = "sealed"',
            )
        return self._released_summaries(request)

    def overview(self) -> SummaryOverview:
        """The vectors of all own summaries as they leave, kept beside the store: unchanged ones pass the filter once;
        raises PrivacyError where members may not see them.

        What is kept there is made anew where it is torn.
        """
        self._refuse_laxer("download")  # members read what is sealed for them
        folder = self.releases.store.database.directory / RELEASED
        try:
            return self._overview_in(folder)
        except StoreCorruptError as error:
            _LOG.warning("summaries that left before are released anew: %s", error)
            shutil.rmtree(folder)
            return self._overview_in(folder)

    def _refuse_laxer(self, exchange: Exchange) -> None:
        """Raise where a run shows summaries' vectors to others than this device's own exchange would."""
        own = self.releases.settings.exchange_for("gated")
        if _STRICTNESS.index(own) > _STRICTNESS.index(exchange):
            raise PrivacyError(
                f'this device gives its summaries under exchange = "{own}" or a stricter one',
                where=self.releases.device,
                fix=f'the run needs exchange = "{own}"',
            )

    def _overview_in(self, folder: Path) -> SummaryOverview:
        keeper, device = self.releases, self.releases.device
        with closing(SummaryStore(folder, keeper.store.dimension)) as evidence_store:
            more = True
            while more:
                batch = self._released_summaries(evidence_store.known_of(device))
                evidence_store.take(batch)
                more = batch.more
            return evidence_store.overview(frozenset({device}))

    def _released_summaries(self, request: SummaryRequest) -> SummaryBatch:
        """A name that is learnt to be private may stand in summaries that left before: then all are released anew.

        So they are where the settings say otherwise what of a summary leaves.
        """
        keeper, graph = self.releases, self.releases.settings.graph
        keeper.inform()
        while True:
            names = len(keeper.export.names)
            told = f"{keeper.generation()}.{names}.{graph.share}"
            batch = self.graph.share(request, hashlib.sha256(told.encode()).hexdigest()[:32])
            if len(keeper.export.names) == names:
                return batch
            request = SummaryRequest("", ())

    def centroids(self, request: CentroidRequest) -> CentroidBatch:
        """The directions of groups of passages as the filter shows them, with rounded sizes, the largest groups first.

        A request for fewer gets fewer of the same groups. What one grouping tells is what the means of four passages
        or more tell (of a device of two or three, of those); what changes between two states of the documents, what
        changed in the means.
        """
        found = self.groups.present().largest(request.most)
        rows = zip(found.vectors, found.passages.tolist(), found.closeness.tolist(), strict=True)
        release = self.releases.export.release_vector
        told = tuple(Centroid(release(vector), count, close) for vector, count, close in rows)
        return CentroidBatch(self.releases.device, told)

    def documents(self) -> DocumentBatch:
        """Whole documents, for the centralised reference; the export filter refuses unless this device allows it;
        raises PrivacyError where it does not and SourceError where the documents cannot be read.
        """
        emptied = emptied_sources(self.releases.store)
        documents = self.sources.read(may_be_empty=emptied.__contains__).documents
        return DocumentBatch(self.releases.device, self.releases.export.release_documents(documents))

    def evidence(self, requests: Sequence[EvidenceRequest], by: RetrieveBy = "hyperedges") -> EvidenceBatch:
        """Evidence for others' questions, through the export filter and within this device's own limit; raises
        FedragError where none of them can be met; one that cannot be beside others is left out.

        Where the filter rewrites, what is given is chosen by what leaves, from a few times as many near sentences.
        """
        if by == "graph":
            self.graph.retriever()  # made before the clock runs, as for every other request of this version
        start = time.perf_counter()
        evidence: list[Evidence] = []
        failed: list[FedragError] = []
        for request in requests:
            try:
                evidence.append(self._evidence_for(request, by))
            except FedragError as error:  # it costs those that came along nothing
                _LOG.warning("a request is left out: %s", error.abroad)
                failed.append(error)
        if failed and not evidence:
            raise failed[0]
        return EvidenceBatch(self.releases.device, tuple(evidence), time.perf_counter() - start)

    def _evidence_for(self, request: EvidenceRequest, by: RetrieveBy) -> Evidence:
        keeper = self.releases
        if request.vector.shape != (keeper.store.dimension,):
            raise WireError("a vector of another length than this device's encoder gives", where="EvidenceRequest")
        most = keeper.settings.inference.remote_units
        budget = min(request.budget, most)
        pool = MASKED_FOR_ONE * most if keeper.export.rewrites else budget
        if by == "graph":
            sentences = self.graph.retrieve(request.vector, POOL)
        elif by == "hyperedges":
            edges = [own for _, own in keeper.store.resolve_opaque(request.hyperedges).values()]
            sentences = self.evidence_store.units_of(edges, request.vector)
        else:
            sentences = self.evidence_store.nearest_sentences(request.vector, POOL)
        units = self.evidence_store.around(sentences, pool)
        near: dict[str, list[EvidenceUnit]] = {}
        for one in sentences:
            near.setdefault(passage_of(one.id), []).append(one)
        released = keeper.export.release_evidence(units, vector=request.vector, most=budget, near=near)
        return Evidence(request.question_id, released.items)
