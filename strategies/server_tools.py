"""What a server has at hand: its own models and the shared memory; each is loaded when a strategy first asks for it."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from fedrag_flwr.caching.fusion import FusionCaches
from fedrag_flwr.caching.report import RULES
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.memory.fusion.shared import SharedMemory
from fedrag_flwr.memory.store.summary_store import SummaryStore
from fedrag_flwr.privacy.ckks.scores import QuestionQuota, SummaryScorer
from fedrag_flwr.privacy.seals import SealingKey
from fedrag_flwr.settings import Settings, fedrag_home
from strategies.discovery import NameKeys
from strategies.transport import steps

_CLOSED = ("summaries", "scorer", "quota", "fusion_caches", "shared_memory")


class ServerTools:
    """The server's models and stores for one run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.steps = steps()  # one series for all systems of a run

    @cached_property
    def models(self) -> Models:
        """The server's models; what they write of people's questions, in a run that serves, is kept nowhere."""
        models = self.settings.server_models
        if self.settings.mode == "serve":
            models = models.model_copy(update={"generation_cache": False})
        return load_models(models, fedrag_home(self.settings.home))

    def close(self) -> None:
        """Close all files that were opened, and end the process that scores; both are there anew when asked for."""
        with ExitStack() as closing:
            for name in _CLOSED:
                if (opened := self.__dict__.pop(name, None)) is not None:
                    closing.callback(opened.close)

    @cached_property
    def summaries(self) -> SummaryStore:
        """The devices' summaries, which outlive the run; one store for each set of documents."""
        root = fedrag_home(self.settings.home) / "summaries" / self.settings.data_key
        return SummaryStore(root, self.models.encoder.dimension)

    @cached_property
    def key(self) -> SealingKey:
        """The server's key, by which devices and server tag what they send each other."""
        return SealingKey.kept(self._private / "sealing.key")

    @cached_property
    def scorer(self) -> SummaryScorer:
        """Scores encrypted questions; it keeps devices' public keys, which outlive the run."""
        return SummaryScorer(self._private / "ckks")

    @cached_property
    def quota(self) -> QuestionQuota:
        """How many questions devices had scored, which outlives the run."""
        return QuestionQuota(self._private / "quota.sqlite", self.settings.routing.quota)

    @cached_property
    def name_keys(self) -> NameKeys:
        """The keys under which devices' names are known, which outlive the run."""
        return NameKeys(self._private / "names")

    @property
    def _private(self) -> Path:
        return fedrag_home(self.settings.home) / "server" / self.settings.data_key

    @cached_property
    def fusion_caches(self) -> FusionCaches:
        """What the server read and answered of devices' hits, which outlives the run; one for each set of documents."""
        root = fedrag_home(self.settings.home) / "fusion" / self.settings.data_key
        inference, hybrid, models = self.settings.inference, self.settings.hybrid, self.models
        ids = (models.encoder.id, models.pipeline.id, models.generator_id)
        made_by = (RULES, ids, inference, hybrid, self.settings.seed)
        return FusionCaches(root, self.settings.caching.bytes, repr(made_by))

    @cached_property
    def shared_memory(self) -> SharedMemory:
        """The shared memory, which outlives the run; one for each set of documents."""
        root = fedrag_home(self.settings.home) / "shared-memory" / self.settings.data_key
        models, settings = self.models, self.settings
        return SharedMemory(
            root,
            models.encoder,
            models.pipeline,
            page_bytes=settings.federation.page_bytes,
        )
