"""EdgeDevice: one device's documents, memory, inference and export filter behind one face; no Flower here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from fedrag_flwr.device.modes import DeviceAnswers, Engines
from fedrag_flwr.device.views import TraceLine, trace_answer
from fedrag_flwr.errors import PrivacyError, WireError
from fedrag_flwr.home_paths import fedrag_home, valid_name
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.generate.rules import TEMPLATES
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Heard
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    AnswerMode,
    BuildReport,
    ControllerRequest,
    ControllerUpdate,
    DeviceCard,
    DocumentState,
    Evidence,
    EvidenceUnit,
    ImportReport,
    OpenQuestion,
    Progress,
    Question,
    silent,
)
from fedrag_flwr.records.isolate import isolated
from fedrag_flwr.settings import Settings

if TYPE_CHECKING:
    from fedrag_flwr.answering.engine import Engine
    from fedrag_flwr.answering.passages import EvidenceStore
    from fedrag_flwr.device.device_graph import DeviceGraph
    from fedrag_flwr.device.device_summaries import DeviceSummaries
    from fedrag_flwr.device.message_log import MessageLog
    from fedrag_flwr.device.pending import Admission, DeviceWaiting
    from fedrag_flwr.device.releases import Releases
    from fedrag_flwr.device.replies import DeviceGiving
    from fedrag_flwr.device.shared_memory import OpaqueIds
    from fedrag_flwr.exchange.device import SealedExchange
    from fedrag_flwr.exchange.sums import GroupSums
    from fedrag_flwr.memory.generate.memory_writer import Written
    from fedrag_flwr.memory.store.outbox import DeliveredAnswers, Outbox
    from fedrag_flwr.overlay.peer import DeviceWalks
    from fedrag_flwr.privacy.export import ExportFilter
    from fedrag_flwr.privacy.seals import SealingKey
    from fedrag_flwr.retrieval.device_controller import DeviceController, TrainingQuestion
    from fedrag_flwr.retrieval.evidence_sources import DeviceSources
    from fedrag_flwr.retrieval.order import DeviceOrder
    from fedrag_flwr.sources.open_source import SourceSet

NAMES = "names.sqlite"  # beside the store: the private names that the export filter has learnt
CACHES = "caches"


class EdgeDevice:
    """One device: builds its memory, answers, shares through its export filter, and helps others; raises StoreError
    where the store cannot be opened, or was written with other models.

    Its parts are made when they are first needed.

    Parameters
    ----------
    documents
        The folder that it reads; None where it has none.
    sources
        Further sources: folders, databases, graphs and mapping files, as `open_source` knows them.
    """

    def __init__(
        self,
        name: str,
        documents: Path | None,
        root: Path,
        settings: Settings,
        models: Models,
        sources: Sequence[str] = (),
    ) -> None:
        self.name = valid_name(name)
        self.documents = documents
        self.source_names = tuple(sources)
        self.root = root
        self.settings = settings
        self.models = models
        self.writes_later = False  # whether somebody calls `write_memories` when there is time for it
        self.store = MemoryStore.open(root, self._identity())
        self.kept = fedrag_home(settings.home) / "privacy" / name  # not in the store: a rebuild must not reset budgets

    def close(self) -> None:
        """Close the store, the filter, the caches and the sources, each also where another fails."""
        with ExitStack() as closing:  # the last one first
            closing.callback(self.store.close)
            for part in ("walks", "sealed", "messages", "outbox", "delivered", "releases", "summaries", "sources"):
                if (opened := self.__dict__.pop(part, None)) is not None:
                    closing.callback(opened.close)

    def __enter__(self) -> EdgeDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what it does -----------------------------------------------------------------------------

    def describe(self) -> DeviceCard:
        """Who this device is; counts only."""
        from fedrag_flwr.device.shared_memory import shared_memory_of

        counts = self.store.counts()
        shared_memory, version = shared_memory_of(self.store)
        return DeviceCard(
            name=self.name,
            sources=self.sources.kinds,
            encoder_id=self.models.encoder.id,
            dimension=self.models.encoder.dimension,
            generator_id=self.models.generator_id,
            documents=counts.documents,
            items=counts.items,
            version=self.store.version,
            shared_memory=shared_memory,
            shared_memory_version=version,
            pending=self.store.pending(),
            key=self.key.public,
        )

    def build(
        self, *, memories: bool = True, graph: bool = False, empty: bool = False, progress: Progress = silent
    ) -> BuildReport:
        """Bring the memory up to date with the documents; unchanged ones cost nothing; raises SourceError where the
        documents cannot be read, or there are none and nobody said that this is meant, and StoreError where the store
        cannot be written.

        While another process builds, this waits. What people's questions left in a store before a rebuild comes back.

        Parameters
        ----------
        memories
            Whether to learn the hypergraph and synthesise memories, or units and vectors only.
        graph
            Whether to bring the knowledge graph with its communities and summaries up to date, too.
        empty
            Whether sources that hold nothing are meant to: all that was read of them goes, and until there is something
            in them again, later builds need not be told.
        """
        from fedrag_flwr.device.builds import build_device

        return build_device(self, memories=memories, graph=graph, empty=empty, progress=progress)

    def write_memories(
        self,
        progress: Progress = silent,
        stop: Callable[[], bool] = lambda: False,
        first: Collection[str] = (),
    ) -> Written:
        """Let the model write memories within `memory.tokens-per-kilotoken`; it goes on where it stopped.

        A build does this, too, unless the device `writes_later`. `stop` is asked after every sentence. Documents whose
        ids are among `first` come before all others.
        """
        from fedrag_flwr.device.builds import write_memories

        return write_memories(self, progress, stop, first)

    def answer(
        self,
        questions: Sequence[Question],
        mode: AnswerMode,
        progress: Progress = silent,
        states: Iterable[DocumentState] = (),
    ) -> AnswerBatch:
        """Answer questions; those that home cannot close come back open, with what they need.

        Every answer in the batch has passed the export filter, and of one that people here wait for the batch says only
        that it is there; `ask` gives the full one to the people at the device.
        Answers kept from before are not given again where `states` say that others' documents beneath have changed.
        """
        if told := {one.device: one.state for one in states}:
            self.walks.cache.hear(told)
        admission = self.waiting.admit(questions)
        asked, own = admission.questions, admission.own
        outcomes: list[Answer | OpenQuestion] = []
        for done, question in enumerate(asked):
            progress("answer", done, len(asked))
            outcomes.append(isolated(question.id, partial(self.answers.ask, question, mode, own=question.id in own)))
        return self._told(outcomes, mode, admission)

    def ask(self, question: Question, mode: AnswerMode) -> Answer | OpenQuestion:
        """Answer one question at home, with its evidence."""
        return self.answers.ask(question, mode)

    def ask_at_home(self, question: Question, heard: Heard | None = None, *, help: bool = False) -> tuple[Answer, bool]:
        """Answer one question from memory, and with home's own evidence where memory is not enough.

        `heard` is told all of what the model writes so far, each time that it grows; the answer may be another. With
        `help` the question may wait for a better answer of the federation; the second value says whether it does.
        """
        answer, sure = self.answers.ask_at_home(question, heard)
        return answer, help and not sure and self.waiting.let_wait(question)

    def receive(self, answers: Sequence[Answer]) -> AnswerBatch:
        """Keep answers that were made elsewhere for this device, and release those that nobody here waits for.

        Nothing here proves who made them: they are masked as they are, without a look at what they say to rest on.
        """
        closed = self.waiting.receive(answers)
        return self.releases.batch(answers, (), "memory", closed)

    def keep(self, batch: AnswerBatch) -> ImportReport:
        """Keep answers that the server made for this device; raises WireError where the answers are another
        device's.
        """
        if batch.device != self.name:
            raise WireError("the answers are another device's", where="AnswerBatch")
        self.delivered.put(batch.answers)
        self.waiting.keep(batch.answers)
        return ImportReport(self.name, len(batch.answers), 0, (), self.store.version)

    def train_controller(
        self, request: ControllerRequest, questions: Sequence[TrainingQuestion], run: str
    ) -> ControllerUpdate:
        """Take one step of a run's training of the controller with other devices, on own questions."""
        from fedrag_flwr.exchange.sums import PrivateTraining

        if request.encrypted:
            noise = self.settings.federation.sum_noise
            training = PrivateTraining(self.sums)
            update = training.train(request, noise, lambda plain: self.controller.train(plain, questions), run)
        elif self.settings.exchange == "encrypted":
            raise PrivacyError("this device trains on encrypted sums only", where=self.name)
        else:
            update = self.controller.train(request, questions)
        self.engines.forget()  # they may order evidence by the weights before
        return update

    def trace(self, answer: Answer) -> list[TraceLine]:
        """From an answer to documents: the units that it rests on, with passage and document.

        References to other devices' items and units end at the owner: their ids are opaque here.
        """
        return trace_answer(self.store, self.name, answer)

    def finish(
        self, questions: Sequence[Question], evidence: Iterable[Evidence], mode: AnswerMode = "memory"
    ) -> AnswerBatch:
        """Answer open questions with what other devices gave; what poses as this device's own is dropped."""
        given: dict[str, list[EvidenceUnit]] = defaultdict(list)
        for part in evidence:
            given[part.question_id].extend(unit for unit in part.units if unit.origin != self.name)
        admission = self.waiting.admit(questions)
        outcomes = [
            isolated(
                question.id,
                partial(self.answers.finish, question, given[question.id], mode, own=question.id in admission.own),
            )
            for question in admission.questions
        ]
        return self._told(outcomes, mode, admission)

    def _told(self, outcomes: Sequence[Answer | OpenQuestion], mode: AnswerMode, admission: Admission) -> AnswerBatch:
        """Keep answers that people here wait for, and give what leaves: of their own only whether they are there."""
        answers = [*admission.refused, *(one for one in outcomes if isinstance(one, Answer))]
        still_open = [one for one in outcomes if isinstance(one, OpenQuestion)]
        self.waiting.keep(answers)
        texts = {question.id: question.text for question in admission.questions}
        return self.releases.batch(answers, still_open, mode, admission.own, texts)

    # --- its parts: what answers ------------------------------------------------------------------

    @cached_property
    def evidence_store(self) -> EvidenceStore:
        """Its own passages."""
        from fedrag_flwr.answering.passages import EvidenceStore

        return EvidenceStore(self.name, self.store)

    @property
    def engine(self) -> Engine:
        """The inference engine over all memories of the store's present version."""
        return self.engines.over("all")

    @cached_property
    def engines(self) -> Engines:
        """Its inference engines."""
        return Engines(self.name, self.store, self.settings, self.models, self.order)

    @cached_property
    def answers(self) -> DeviceAnswers:
        """The ways in which it answers."""
        return DeviceAnswers(self)

    @cached_property
    def rankings(self) -> DeviceSources:
        """The rankings of its passages."""
        from fedrag_flwr.retrieval.evidence_sources import DeviceSources
        from fedrag_flwr.text.model_tuples import extractor_of

        models, settings = self.models, self.settings
        extractor = partial(extractor_of, settings.graph.written_by, models.generator, settings.seed)
        return DeviceSources(self.store, self.root, models.encoder, models.pipeline, extractor)

    @cached_property
    def controller(self) -> DeviceController:
        """Its learned reranker."""
        from fedrag_flwr.retrieval.device_controller import DeviceController

        return DeviceController(self.name, self.store, self.root, self.rankings, self.settings.seed)

    @cached_property
    def order(self) -> DeviceOrder:
        """The order in which its passages become evidence."""
        from fedrag_flwr.retrieval.order import DeviceOrder

        return DeviceOrder(self)

    @cached_property
    def graph(self) -> DeviceGraph:
        """Its knowledge graph."""
        from fedrag_flwr.device.device_graph import DeviceGraph

        return DeviceGraph(self.name, self.store, self.export, self.hide, self.models, self.settings)

    @cached_property
    def walks(self) -> DeviceWalks:
        """Its part in walks."""
        from fedrag_flwr.overlay.peer import DeviceWalks

        paths = (self.root, self.kept)
        own = (self.name, self.store, self.export, self.models, self.settings)
        return DeviceWalks(*own, *paths, self.sums, self.order)

    # --- its parts: what leaves, and what comes -----------------------------------------------------

    @cached_property
    def sources(self) -> SourceSet:
        """Its folders, databases and graphs."""
        from fedrag_flwr.sources.open_source import SourceSet

        return SourceSet(self.documents, self.source_names, self.models)

    @cached_property
    def hide(self) -> OpaqueIds:
        """Its opaque ids."""
        from fedrag_flwr.device.shared_memory import OpaqueIds

        return OpaqueIds(self.store)

    @cached_property
    def releases(self) -> Releases:
        """Its export filter, kept up to date with its documents."""
        from fedrag_flwr.device.releases import Releases
        from fedrag_flwr.privacy.policy import open_export_filter

        models, names = self.models, self.root / NAMES
        own = (self.settings.privacy, models.encoder, models.pipeline, self.hide, self.name, self.kept, names)
        export = open_export_filter(*own, models.generator)
        return Releases(self.name, self.store, export, self.hide, self.settings)

    @property
    def export(self) -> ExportFilter:
        """What lets texts and vectors leave; it knows the private names of the documents."""
        return self.releases.export

    @cached_property
    def giving(self) -> DeviceGiving:
        """What others get from it."""
        from fedrag_flwr.device.replies import DeviceGiving, PassageCentroids

        groups = PassageCentroids(self.releases, self.key.derived("groups of passages"))
        return DeviceGiving(self.releases, self.sources, self.graph, self.evidence_store, groups)

    @cached_property
    def summaries(self) -> DeviceSummaries:
        """What it says to questions that all devices are asked."""
        from fedrag_flwr.device.device_summaries import DeviceSummaries

        return DeviceSummaries(self.releases, self.sources, self.root / CACHES)

    @cached_property
    def delivered(self) -> DeliveredAnswers:
        """What others answered for it."""
        from fedrag_flwr.memory.store.outbox import DeliveredAnswers

        return DeliveredAnswers(self.kept)

    @cached_property
    def outbox(self) -> Outbox:
        """Where questions of the people here wait for help."""
        from fedrag_flwr.memory.store.outbox import Outbox

        return Outbox(self.kept)

    @cached_property
    def waiting(self) -> DeviceWaiting:
        """Questions of the people here that wait for help."""
        from fedrag_flwr.device.pending import DeviceWaiting

        return DeviceWaiting(self.name, self.outbox, self.delivered, self.export, self.settings)

    @cached_property
    def messages(self) -> MessageLog:
        """The messages that it has handled."""
        from fedrag_flwr.device.message_log import FILE, MessageLog

        return MessageLog(self.kept / FILE)

    @cached_property
    def key(self) -> SealingKey:
        """For which others seal."""
        from fedrag_flwr.privacy.seals import SealingKey

        return SealingKey.kept(self.kept / "sealing.key")

    @cached_property
    def sums(self) -> GroupSums:
        """Its part in encrypted sums."""
        from fedrag_flwr.exchange.sums import GroupSums
        from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox

        return GroupSums(self.name, self.kept, self.key, self.export, shared_sandbox())

    @cached_property
    def sealed(self) -> SealedExchange:
        """What it sends and takes sealed."""
        from fedrag_flwr.exchange.device import SealedExchange

        return SealedExchange.of(self)

    def _identity(self) -> dict[str, str]:
        encoder = self.models.encoder
        return {
            "device": self.name,
            "encoder": encoder.id,
            "dimension": str(encoder.dimension),
            "pipeline": self.models.pipeline.id,
            "rules": TEMPLATES,  # what they made before stands beside what they make now
        }
