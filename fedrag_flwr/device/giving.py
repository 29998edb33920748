"""What a device gives to others who ask: memories, summaries, centroids, documents and evidence, through its door."""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from fedrag_flwr.answering.passages import Shelf
from fedrag_flwr.device.doorkeeping import RELEASED, Doorkeeper
from fedrag_flwr.device.graphing import DeviceGraph
from fedrag_flwr.device.middles import PassageMiddles
from fedrag_flwr.device.rebuilding import emptied_sources
from fedrag_flwr.device.sharing import Sharing
from fedrag_flwr.errors import FedragError, PrivacyError, StoreCorruptError, WireError
from fedrag_flwr.memory.store.summary_shelf import SummaryShelf
from fedrag_flwr.privacy.evidence import MASKED_FOR_ONE
from fedrag_flwr.records import (
    Centroid,
    CentroidBatch,
    CentroidRequest,
    Delta,
    DocumentBatch,
    Evidence,
    EvidenceBatch,
    EvidenceRequest,
    Exchange,
    RetrieveBy,
    ShareRequest,
    SummaryBatch,
    SummaryOverview,
    SummaryRequest,
)
from fedrag_flwr.sources.opening import SourceSet

_LOG = logging.getLogger(__name__)
_STRICTNESS: tuple[Exchange, ...] = get_args(Exchange)  # the most open first


@dataclass(frozen=True, slots=True)
class DeviceGiving:
    """What leaves a device because another party asked for it.

    Parameters
    ----------
    doorkeeper
        Keeps the door up to date that it leaves by, and knows the device's memory.
    sources
        Where the documents are.
    graph, shelf
        The device's knowledge graph and its own evidence.
    middles
        Of its passages, as the door shows them.
    """

    doorkeeper: Doorkeeper
    sources: Callable[[], SourceSet]
    graph: DeviceGraph
    shelf: Shelf
    middles: PassageMiddles

    def memories(self, request: ShareRequest) -> Delta:
        """What of this device's memories is new, and what was withdrawn, since a version of its store; in pages.

        Where the other side knows another generation, everything is sent; where it has pages of another version than
        the present one, they come again from the first.
        """
        keeper = self.doorkeeper
        size = keeper.settings.federation.page_bytes
        return Sharing(keeper.device, keeper.store, keeper.door, keeper.hide, size).page(request, keeper.generation())

    def summaries(self, request: SummaryRequest) -> SummaryBatch:
        """What the knowledge graph is about that the asking side does not know yet, through the door.

        Raises
        ------
        PrivacyError
            This device's summaries leave in boxes alone, or under a stricter exchange than the run's.
        """
        self._refuse_laxer(request.exchange)
        if self.doorkeeper.settings.graph.share == "sealed":
            raise PrivacyError(
                "this device's summaries leave in sealed boxes alone",
                where=self.doorkeeper.device,
                fix='the run needs graph.share = "sealed"',
            )
        return self._released_summaries(request)

    def overview(self) -> SummaryOverview:
        """The vectors of all own summaries as they leave, kept beside the store: unchanged ones pass the door once.

        What is kept there is made anew where it is torn.

        Raises
        ------
        PrivacyError
            Members may not see them.
        """
        self._refuse_laxer("download")  # members read what is sealed for them
        folder = self.doorkeeper.store.database.directory / RELEASED
        try:
            return self._overview_in(folder)
        except StoreCorruptError as error:
            _LOG.warning("summaries that left before are released anew: %s", error)
            shutil.rmtree(folder)
            return self._overview_in(folder)

    def _refuse_laxer(self, exchange: Exchange) -> None:
        """Raise where a run shows summaries' vectors to others than this device's own exchange would."""
        own = self.doorkeeper.settings.exchange_for("gated")
        if _STRICTNESS.index(own) > _STRICTNESS.index(exchange):
            raise PrivacyError(
                f'this device gives its summaries under exchange = "{own}" or a stricter one',
                where=self.doorkeeper.device,
                fix=f'the run needs exchange = "{own}"',
            )

    def _overview_in(self, folder: Path) -> SummaryOverview:
        keeper, device = self.doorkeeper, self.doorkeeper.device
        with closing(SummaryShelf(folder, keeper.store.dimension, keeper.settings.routing.most)) as shelf:
            more = True
            while more:
                batch = self._released_summaries(shelf.known_of(device))
                shelf.take(batch)
                more = batch.more
            return shelf.overview(frozenset({device}))

    def _released_summaries(self, request: SummaryRequest) -> SummaryBatch:
        """A name that is learnt to be private may stand in summaries that left before: then all are released anew.

        So they are where the settings say otherwise what of a summary leaves.
        """
        keeper, graph = self.doorkeeper, self.doorkeeper.settings.graph
        keeper.inform()
        while True:
            names = len(keeper.door.names)
            told = f"{keeper.generation()}.{names}.{graph.vectors}.{graph.share}"
            batch = self.graph.share(request, hashlib.sha256(told.encode()).hexdigest()[:32])
            if len(keeper.door.names) == names:
                return batch
            request = SummaryRequest("", ())

    def centroids(self, request: CentroidRequest) -> CentroidBatch:
        """The directions of groups of passages as the door shows them, with rounded sizes, the largest groups first.

        A request for fewer gets fewer of the same groups. What one grouping tells is what the means of four passages
        or more tell (of a device of two or three, of those); what changes between two states of the documents, what
        changed in the means.
        """
        found = self.middles.present().largest(request.most)
        rows = zip(found.vectors, found.passages.tolist(), found.closeness.tolist(), strict=True)
        release = self.doorkeeper.door.release_vector
        told = tuple(Centroid(release(vector), count, close) for vector, count, close in rows)
        return CentroidBatch(self.doorkeeper.device, told)

    def documents(self) -> DocumentBatch:
        """Whole documents, for the centralised reference; the door refuses unless this device allows it.

        Raises
        ------
        PrivacyError
            It does not.
        SourceError
            The documents cannot be read.
        """
        emptied = emptied_sources(self.doorkeeper.store)
        documents = self.sources().read(may_be_empty=emptied.__contains__).documents
        return DocumentBatch(self.doorkeeper.device, self.doorkeeper.door.release_documents(documents))

    def evidence(self, requests: Sequence[EvidenceRequest], by: RetrieveBy = "hyperedges") -> EvidenceBatch:
        """Evidence for others' questions, through the door and within this device's own limit.

        Where the door rewrites, what is given is chosen by what leaves, from a few times as many near sentences.

        Raises
        ------
        FedragError
            None of them can be met; one that cannot be beside others is left out.
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
        return EvidenceBatch(self.doorkeeper.device, tuple(evidence), time.perf_counter() - start)

    def _evidence_for(self, request: EvidenceRequest, by: RetrieveBy) -> Evidence:
        keeper = self.doorkeeper
        if request.vector.shape != (keeper.store.dimension,):
            raise WireError("a vector of another length than this device's encoder gives", where="EvidenceRequest")
        most = keeper.settings.inference.remote_units
        budget = min(request.budget, most)
        pool = MASKED_FOR_ONE * most if keeper.door.rewrites else budget
        if by == "graph":
            units = self.graph.retrieve(request.vector, pool)
        elif by == "sentences":
            units = self.shelf.nearest_sentences(request.vector, pool)
        else:
            edges = [own for _, own in keeper.store.resolve_opaque(request.hyperedges).values()]
            offered = self.shelf.offered if by == "nearest" else self.shelf.units_of
            units = offered(edges, request.vector)[:pool]
        return Evidence(
            request.question_id, keeper.door.release_evidence(units, vector=request.vector, most=budget).items
        )
