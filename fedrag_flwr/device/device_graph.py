"""A device's part in routing by summaries: its knowledge graph, what of it others see, what it finds for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.answering.gate import ALONE, INFORMED, Gate, GateModel
from fedrag_flwr.answering.gate_signals import UNKNOWN_LEAD, SignalReader
from fedrag_flwr.answering.graph_answers import GraphAnswers
from fedrag_flwr.answering.passages import WHOLE_WORDS
from fedrag_flwr.answering.read import Reader
from fedrag_flwr.device.graph_builder import GraphBuilder, GraphReport, once_more
from fedrag_flwr.device.shared_memory import OpaqueIds
from fedrag_flwr.errors import WireError
from fedrag_flwr.knowledge_graph.communities import CutSettings
from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph
from fedrag_flwr.knowledge_graph.retrieval import (
    GraphIndex,
    GraphRetriever,
    VectorTable,
)
from fedrag_flwr.knowledge_graph.routing import choose_owners
from fedrag_flwr.knowledge_graph.summaries import ExtractiveSummarizer, ModelSummarizer, Summarizer
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.graph_store import GraphStore
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.vectors import Content
from fedrag_flwr.records import (
    Answer,
    BuildReport,
    EvidenceUnit,
    ImportReport,
    OpenQuestion,
    Progress,
    Question,
    SubgraphSummary,
    SummaryBatch,
    SummaryOverview,
    SummaryRequest,
    Vector,
)
from fedrag_flwr.settings import Settings
from fedrag_flwr.text.model_tuples import extractor_of
from fedrag_flwr.text.segment import under_title

LEAST = 6  # entities of a community; smaller ones join their closest neighbour
CANDIDATES = 3  # answers that home draws and compares
MOST = 16  # sentences of a community, those nearest to the mean of all


class CommunityContents:
    """Finds the sentences that state a community's relations."""

    def __init__(self, store: MemoryStore, graph: KnowledgeGraph) -> None:
        self._store = store
        self._graph = graph
        self._units = store.units("sentence")
        self._rows = {unit_id: row for row, unit_id in enumerate(self._units.ids)}
        self._titles = {passage.id: passage.title for passage in store.passages()}

    def of(self, communities: Mapping[str, Sequence[str]]) -> dict[str, Content]:
        """The most central sentences of each community, which is given by its entities; each has one at least."""
        chosen = {name: rows for name, members in communities.items() if (rows := self._central(members))}
        wanted = sorted({row for rows in chosen.values() for row in rows})
        told = self._store.sentences([self._units.ids[row] for row in wanted])
        texts = {
            row: under_title(self._titles[one.passage_id], one.text) for row, one in zip(wanted, told, strict=True)
        }
        return {
            name: Content(tuple(texts[row] for row in rows), self._units.vectors[rows]) for name, rows in chosen.items()
        }

    def _central(self, members: Sequence[str]) -> list[int]:
        graph = self._graph
        stated = {row for one in members if one in graph.entities for row in graph.entities[one].statements}
        names = {graph.statements[row].sentence_id for row in stated}
        rows = np.array(sorted(self._rows[name] for name in names if name in self._rows), dtype=np.intp)
        if not len(rows):
            return []
        nearness = self._units.vectors[rows] @ self._units.vectors[rows].mean(axis=0)
        central: list[int] = rows[np.argsort(-nearness, kind="stable")[:MOST]].tolist()
        return central


TOGETHER = 32  # summaries that are released together
_EACH = 100  # bytes of a summary beside its text and its vector


@dataclass(slots=True)
class DeviceGraph:
    """What a device does with its knowledge graph."""

    device: str  # the device's name
    # store, export, hide: its memory, what lets texts and vectors leave, and its opaque ids.
    store: MemoryStore
    export: ExportFilter
    hide: OpaqueIds
    models: Models  # the models
    settings: Settings  # of the run
    _retriever: tuple[tuple[int, int], GraphRetriever] | None = None
    _overview: tuple[list[str], NDArray[np.float32]] | None = None

    def refresh(self, progress: Progress) -> GraphReport:
        """Bring graph, communities and summaries up to date with the documents in the store."""
        return self._builder().refresh(progress)

    def extend(self, report: BuildReport, progress: Progress) -> BuildReport:
        """Refresh after a build, and add what it holds, the seconds and the model's work to its report."""
        builder = self._builder()
        made = builder.refresh(progress)
        self._retriever = None
        cost = replace(report.cost + builder.cost, seconds=report.cost.seconds + made.seconds)
        return replace(report, cost=cost, graph=made.told())

    def knowledge(self) -> KnowledgeGraph:
        """The graph over the statements that are kept."""
        return self._builder().graph()

    def share(self, request: SummaryRequest, generation: str) -> SummaryBatch:
        """Release the summaries that the asking side lacks, a page of them, and name those that are no longer true;
        raises PrivacyError if an operator of the export filter fails; nothing is shared then. `generation` names the
        store and the export filter as they are; where the request names another, all is sent.
        """
        known = frozenset(request.known) if request.generation == generation else frozenset()
        summaries = self._store().communities()
        texts = {name: one.summary for name, one in summaries.items()}
        self.hide.prepare(texts)
        shown = {name: self.hide(name) for name in texts}
        new = [name for name in texts if shown[name] not in known]
        contents = self._contents() if new else None
        released: list[SubgraphSummary] = []
        done, size = 0, 0
        while done < len(new) and size < self.settings.federation.page_bytes:  # what is withheld fills no page
            part = {name: texts[name] for name in new[done : done + TOGETHER]}
            told = contents.of({name: summaries[name].members for name in part}) if contents else None
            passed = self.export.release_summaries(part, told, text=self.settings.graph.share == "text")
            released += passed.items
            size += sum(len(one.text.encode()) + 2 * len(one.vector) + _EACH for one in passed.items)
            done += len(part)
        return SummaryBatch(
            device=self.device,
            generation=generation,
            version=self.store.version,
            summaries=tuple(released),
            retracted=tuple(sorted(known - set(shown.values()))),
            more=done < len(new),
        )

    def retrieve(self, vector: Vector, budget: int) -> list[EvidenceUnit]:
        """The sentences that the graph leads to from a question's vector, shape (dimension,), best first."""
        return self.retriever().retrieve(vector, budget)

    def retriever(self) -> GraphRetriever:
        """Dual-level retrieval over the present documents and graph, which another process may have built; raises
        NotFoundError where they keep changing while they are read.
        """
        version = (self.store.version, self._store().version)
        if self._retriever is None or self._retriever[0] != version:
            self._retriever = (version, once_more(self._make_retriever))
        return self._retriever[1]

    # --- answers ----------------------------------------------------------------------------------

    def ask(self, question: Question, *, gated: bool) -> Answer | OpenQuestion:
        """Answer over the graph's evidence; gated, a question that home cannot answer stays open."""
        self.retriever()  # made before the clock runs, as for every other question of this version
        return self.answering().gated(question) if gated else self.answering().local(question)

    def take_overview(self, overview: SummaryOverview) -> ImportReport:
        """Keep the vectors of all devices' summaries, which the server knows; raises WireError where a vector has
        another length than this device's encoder gives, or this device takes sealed ones alone.
        """
        if self.settings.graph.share == "sealed":
            raise WireError("this device takes summaries from sealed messages alone", where="SummaryOverview")
        return self.keep_overview(overview)

    def keep_overview(self, overview: SummaryOverview) -> ImportReport:
        """Keep the vectors of all devices' summaries in place of those before; raises as :meth:`take_overview`."""
        if any(one.vector.shape != (self.models.encoder.dimension,) for one in overview.summaries):
            raise WireError("a vector of another length than this device's encoder gives", where="SummaryOverview")
        self._store().put_overview(overview.summaries)
        self._overview = None
        return ImportReport(self.device, len(overview.summaries), 0, (), self.store.version)

    def known_summaries(self) -> tuple[list[str], NDArray[np.float32]]:
        """Owners and vectors, (n, dimension), of the overview that was handed out last; empty before the first."""
        if self._overview is None:
            self._overview = self._store().overview()
        return self._overview

    def lead(self, vector: Vector) -> float:
        """How far this device's summaries are nearer to a question than all others', in [0, 1]; 0.5 where unknown."""
        owners, vectors = self.known_summaries()
        own = np.array([owner == self.device for owner in owners], dtype=bool)
        if not own.any() or own.all():
            return UNKNOWN_LEAD
        scores: NDArray[np.float32] = vectors @ vector
        return float(np.clip(UNKNOWN_LEAD + scores[own].max() - scores[~own].max(), 0.0, 1.0))

    def near(self, vector: Vector) -> tuple[str, ...]:
        """The other devices whose summaries come nearest to a question's vector, shape (dimension,), best first."""
        owners, vectors = self.known_summaries()
        routing = self.settings.routing
        return choose_owners(vectors @ vector, owners, routing.summaries, routing.devices, (self.device,))

    def answering(self) -> GraphAnswers:
        """How this device answers over its graph: evidence, candidates and gate."""
        inference, gate, tools = self.settings.inference, self.settings.gate, self.models
        model = GateModel.load(INFORMED if self.known_summaries()[0] else ALONE)
        if gate.threshold >= 0:
            model = model.model_copy(update={"threshold": gate.threshold})
        signals = SignalReader(tools.encoder, tools.pipeline)
        return GraphAnswers(
            device=self.device,
            retrieve=self.retrieve,
            lead=self.lead,
            encoder=tools.encoder,
            pipeline=tools.pipeline,
            reader=Reader(tools.generator, inference.max_answer_tokens, self.settings.seed),
            gate=Gate(signals, model),
            words=WHOLE_WORDS,
            abstain_below=inference.abstain_below,
            candidates=CANDIDATES,
        )

    # --- parts ------------------------------------------------------------------------------------

    def _contents(self) -> CommunityContents | None:
        """The sentences whose mean a summary's vector is; none where it is to tell no more than the summary's words."""
        if self.settings.graph.detail == "erased":
            return None
        return CommunityContents(self.store, self.knowledge())

    def _make_retriever(self) -> GraphRetriever:
        """Loads the graph with its vectors; a device keeps it while its documents stay as they are."""
        graphs = self._store()
        paragraphs, sentences = self.store.units("paragraph"), self.store.units("sentence")
        passages = self.store.passages(paragraphs.ids)
        index = GraphIndex(
            self.knowledge(),
            VectorTable.of({name: one.vector for name, one in graphs.vectors("entity").items()}),
            VectorTable.of({name: one.vector for name, one in graphs.vectors("relation").items()}),
            VectorTable(paragraphs.ids, paragraphs.vectors),
            VectorTable(sentences.ids, sentences.vectors),
        )
        return GraphRetriever(self.device, index, passages)

    def _store(self) -> GraphStore:
        return GraphStore(self.store.database, self.models.encoder.dimension)

    def _builder(self) -> GraphBuilder:
        graph, seed, tools = self.settings.graph, self.settings.seed, self.models
        cutting = CutSettings(graph.community_most, min(LEAST, graph.community_most), seed=seed)
        lists = ExtractiveSummarizer(graph.detail)
        by_model = graph.written_by == "model"
        summarizer: Summarizer = ModelSummarizer(tools.generator, lists, seed) if by_model else lists
        extractor = extractor_of(graph.written_by, tools.generator, seed)
        return GraphBuilder(self.store, tools.encoder, tools.pipeline, extractor, summarizer, cutting)
