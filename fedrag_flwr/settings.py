"""Every setting, typed and validated once at the edge; `pyproject.toml` holds the same keys with the same defaults.

A run's settings come from Flower's run config as flat keys (``memory.delta``); a device's own ones (its name, its
documents) from its node config. Groups become nested frozen models here, dashes become underscores.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from fedrag_flwr.errors import SettingError
from fedrag_flwr.places import Plain as Plain
from fedrag_flwr.places import fedrag_home as fedrag_home

AUTO = "auto"  # the generator that fits the machine


class _Group(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, alias_generator=lambda name: name.replace("_", "-")
    )


def is_endpoint(generator: str) -> bool:
    """Whether a generator is the address of a server, and not a known name or a file."""
    return generator.startswith(("http://", "https://"))


def _name_at_endpoint(name: str, info: ValidationInfo) -> str:
    """A server may hold several models, so a model there is named."""
    if not name and is_endpoint(info.data.get("generator", "")):  # absent where it is wrong itself
        raise PydanticCustomError("needs", "the address needs the name of the model there")
    return name


class ModelSettings(_Group):
    """Which models a device loads, and how."""

    encoder: str = ""
    generator: str = AUTO
    generator_name: str = Field("", max_length=100, validate_default=True)
    read_seconds: float = Field(5.0, gt=0, le=3_600)
    pipeline: str = "en_core_web_sm"
    late_interaction: str = ""
    threads: int = Field(1, ge=1, le=256)
    context_tokens: int = Field(4096, ge=512, le=131_072)
    gpu_layers: int = Field(0, ge=-1, le=1_000)
    generation_cache: bool = True

    @field_validator("generator_name")
    @classmethod
    def _named(cls, name: str, info: ValidationInfo) -> str:
        return _name_at_endpoint(name, info)


class ServerSettings(_Group):
    """Another generator for the server than the devices', where it is one that can hold more."""

    generator: str = ""
    generator_name: str = Field("", max_length=100, validate_default=True)

    @field_validator("generator_name")
    @classmethod
    def _named(cls, name: str, info: ValidationInfo) -> str:
        return _name_at_endpoint(name, info)


class HypergraphSettings(_Group):
    """Semantic hypergraph learning (FD-RAG 5.1 and C.2)."""

    threshold: float = Field(0.5, gt=0, lt=1)
    intra_weight: float = Field(0.6, ge=0, le=1)
    margin: float = Field(1.0, gt=0, le=2)
    units_per_edge: int = Field(4, ge=1, le=1_000)
    candidates: int = Field(8, ge=1, le=1_000)
    steps: int = Field(300, ge=0, le=100_000)
    learning_rate: float = Field(0.05, ge=1e-9, le=1_000)
    grouping: Literal["learned", "random"] = "learned"


class MemorySettings(_Group):
    """Synthesis of question-answer memories and their matching (FD-RAG 4.1, eq. 11-13)."""

    tokens_per_kilotoken: int = Field(0, ge=0, le=100_000)
    alpha: float = Field(0.6, ge=0, le=1)
    delta: float = Field(0.56, ge=0, le=1)
    told: float = Field(0.65, ge=0, le=1)
    top_k: int = Field(5, ge=1, le=64)
    bridges_per_item: int = Field(1, ge=0, le=64)
    fusion_near: float = Field(0.95, ge=0, le=1)
    fusion_quota: int = Field(4, ge=1, le=1_000)
    max_items: int = Field(1_000_000, ge=1)


class InferenceSettings(_Group):
    """What is read for an answer, and from which confidence it counts (FD-RAG 4.2)."""

    passages: int = Field(4, ge=1, le=64)
    words: int = Field(0, ge=0, le=100_000)
    quotes: bool = True
    remote_units: int = Field(4, ge=1, le=64)
    max_answer_tokens: int = Field(200, ge=1, le=1_024)
    abstain_below: float = Field(0.25, ge=0, le=1)
    ask_below: float = Field(0.5, ge=0, le=1)
    quorum: int = Field(0, ge=0, le=1_000)

    @property
    def budget(self) -> int:
        """Words of evidence that are read where nobody ranked passages."""
        return self.words or 400


class PrivacySettings(_Group):
    """What the export filter does to everything that leaves (FD-RAG 4.3)."""

    export: Literal["none", "type-masking", "ldp"] = "type-masking"
    public_names: str = "demo"
    partition: str = "demo"
    epsilon: float = Field(1.0, gt=0, le=50)
    group_size: int = Field(5, ge=2, le=10_000)
    budget: float = Field(10.0, gt=0, le=1e6)
    epoch: int = Field(0, ge=0)
    share_documents: bool = False
    answers: Literal["all", "waiting"] = "all"
    lookup: bool = True
    operators: str = ""
    erasure_keep: float = Field(0.5, ge=0, le=1)

    @property
    def further(self) -> tuple[str, ...]:
        """The names of the operators beside the mode's."""
        return tuple(name for name in map(str.strip, self.operators.split(",")) if name)


class FederationSettings(_Group):
    """Rounds: how long they wait, and how many devices they need."""

    devices: int = Field(5, ge=1, le=100_000)
    round_timeout: float = Field(900.0, gt=0, le=1e6)
    poll_seconds: float = Field(0.1, gt=0, le=60)
    quorum: float = Field(0.5, ge=0, le=1)
    retries: int = Field(3, ge=0, le=100)
    retry_seconds: float = Field(2.0, gt=0, le=3600)
    most_bytes: int = Field(2**32, ge=2**20, le=2**50)
    page_bytes: int = Field(2**25, ge=2**10, le=2**25)
    most_pages: int = Field(256, ge=1, le=100_000)


class ControllerSettings(_Group):
    """Training of the controller by federated averaging (HKVM-RAG IV-F; epochs are rounds times local epochs)."""

    rounds: int = Field(20, ge=1, le=10_000)
    local_epochs: int = Field(4, ge=1, le=10_000)
    noise: float = Field(0.0, ge=0, le=1e6)


class RetrievalSettings(_Group):
    """Which passages the Cognizer takes its evidence from (HKVM-RAG IV-F)."""

    order: Literal["similarity", "late-interaction", "controller"] = "controller"
    passages: int = Field(10, ge=1, le=64)
    weights: str = "shipped"
    extractor: Literal["rules", "model"] = "rules"


class GraphSettings(_Group):
    """The knowledge graph, its communities, and what of them others see (DGRAG 3.2)."""

    community_most: int = Field(60, ge=1, le=10_000)
    community_least: int = Field(6, ge=1, le=10_000, validate_default=True)  # the other may have come below it
    summaries: Literal["extractive", "model"] = "extractive"
    detail: Literal["full", "erased"] = "full"
    most_copied: float = Field(0.1, ge=0, le=1)
    share: Literal["text", "vector", "sealed"] = "text"
    vectors: Literal["sentences", "summary"] = "sentences"
    retrieval: Literal["graph", "chunks"] = "graph"

    @field_validator("community_least")
    @classmethod
    def _within(cls, least: int, info: ValidationInfo) -> int:
        """Where most is the smaller, no community is large enough and none small enough."""
        most = info.data.get("community_most", least)  # absent where it is wrong itself
        if least > most:
            raise PydanticCustomError("needs", "it may be at most 'graph.community-most' = {most}", {"most": most})
        return least


class GateSettings(_Group):
    """Candidates at home, and the trust from which one of them is given (DGRAG 3.3 step 5)."""

    candidates: int = Field(3, ge=1, le=16)
    threshold: float = Field(-1.0, ge=-1, le=1)


class RoutingSettings(_Group):
    """Whom an open question goes to, and who answers it (DGRAG 3.3 step 6)."""

    summaries: int = Field(3, ge=1, le=1_000)
    devices: int = Field(1, ge=1, le=1_000)
    overview: int = Field(20_000, ge=0, le=80_000)
    most: int = Field(20_000, ge=1, le=1_000_000)
    answers_at: Literal["home", "server"] = "home"
    precision: Literal["float16", "int8"] = "float16"
    quota: int = Field(50, ge=0, le=1_000_000)
    router_threshold: float = Field(-1.0, ge=-1, le=1)
    router_devices: int = Field(5, ge=1, le=1_000)
    router_centroids: int = Field(16, ge=1, le=16)


class FedRagSettings(_Group):
    """The parts of `fedrag`, each of which can be left out."""

    bank: bool = True
    owners: bool = True
    summaries: bool = True
    reading: bool = True
    cache: bool = True


class HybridSettings(_Group):
    """What devices tell of their sources' hits, and what the server writes of it (HyFedRAG 3.1)."""

    records: int = Field(3, ge=1, le=64)
    report: Literal["model", "extractive", "none"] = "model"


class CachingSettings(_Group):
    """Sizes of the three tiers in bytes, 0 to keep nothing there, and how much is fetched ahead (HyFedRAG 3.1)."""

    summaries: int = Field(2**26, ge=0, le=2**40)
    inputs: int = Field(2**26, ge=0, le=2**40)
    answers: int = Field(2**26, ge=0, le=2**40)
    prefetch: int = Field(0, ge=0, le=64)


class OverlaySettings(_Group):
    """Who is whose neighbour, and how questions walk between peers (DRAG 3 and 4.1)."""

    topology: Literal["barabasi-albert", "measured", "edges"] = "barabasi-albert"
    edges: str = ""
    connectivity: int = Field(4, ge=1, le=1_000)
    walk: Literal["topic", "sketch"] = "topic"
    max_hops: int = Field(6, ge=1, le=100)
    fanout: int = Field(4, ge=1, le=1_000)
    threshold: float = Field(0.65, ge=-1, le=1)
    topics: str = "shipped"
    topics_by: Literal["encoder", "model"] = "encoder"
    learnt_topics: int = Field(32, ge=2, le=200)
    learning_rounds: int = Field(5, ge=1, le=100)
    learning_noise: float = Field(0.0, ge=0, le=1e3)
    epsilon: float = Field(1.0, gt=0, le=50)
    gossip_rounds: int = Field(4, ge=1, le=100)
    half_life: float = Field(5000.0, gt=0, le=1e9)
    reputation: bool = True
    cache_similarity: float = Field(0.95, ge=0, le=1.1)
    cache_hours: float = Field(24.0, ge=0, le=1e6)

    @field_validator("topics_by")
    @classmethod
    def _named(cls, by: str, info: ValidationInfo) -> str:
        """A model chooses among names, and topics that were learnt have none."""
        if by == "model" and info.data.get("topics") == "learnt":
            raise PydanticCustomError("needs", "topics that are 'learnt' have no names for it to choose from")
        return by


class ServingSettings(_Group):
    """A run that stays and takes questions which wait at devices, and whether a device lets its questions wait."""

    outbox: bool = False
    poll_seconds: float = Field(10.0, gt=0, le=86_400)
    refresh_seconds: float = Field(900.0, gt=0, le=1e7)
    most: int = Field(16, ge=1, le=10_000)
    tries: int = Field(3, ge=1, le=1_000)
    retry_seconds: float = Field(300.0, ge=0, le=1e7)
    polls: int = Field(0, ge=0)


class DataSettings(_Group):
    """Documents and questions of a simulated run; a deployed device names its documents in its node config."""

    root: str = "demo"
    questions: str = "demo"
    split: str = "test"
    limit: int = Field(60, ge=0)


class Settings(_Group):
    """All settings of a run."""

    strategy: str = "memory-fusion"
    baselines: str = "local-rag"
    mode: Literal["questions", "serve"] = "questions"
    exchange: Literal["auto", "plain", "download", "encrypted"] = "auto"
    seed: int = Field(7, ge=0, le=2**31)
    results: str = ""
    home: str = ""
    resume: bool = False
    models: ModelSettings = ModelSettings()
    server: ServerSettings = ServerSettings()
    hypergraph: HypergraphSettings = HypergraphSettings()
    memory: MemorySettings = MemorySettings()
    inference: InferenceSettings = InferenceSettings()
    privacy: PrivacySettings = PrivacySettings()
    federation: FederationSettings = FederationSettings()
    controller: ControllerSettings = ControllerSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    graph: GraphSettings = GraphSettings()
    gate: GateSettings = GateSettings()
    routing: RoutingSettings = RoutingSettings()
    fedrag: FedRagSettings = FedRagSettings()
    hybrid: HybridSettings = HybridSettings()
    caching: CachingSettings = CachingSettings()
    overlay: OverlaySettings = OverlaySettings()
    serving: ServingSettings = ServingSettings()
    data: DataSettings = DataSettings()

    def exchange_for(self, mode: str) -> Literal["plain", "download", "encrypted"]:
        """Who sees a question on its way, under a strategy whose devices answer in a mode.

        With ``auto`` homes route by themselves wherever a strategy can let them, and nobody else sees a question's
        vector but the owners that are asked.
        """
        if self.exchange != "auto":
            return self.exchange
        routes = mode == "assisted" or (mode == "gated" and self.routing.answers_at == "home")
        return "download" if routes else "plain"

    @classmethod
    def from_config(cls, config: Mapping[str, Plain]) -> Self:
        """Validate flat settings, such as Flower's run config.

        Raises
        ------
        SettingError
            A key is unknown or a value is not allowed; names the key, the value and what is allowed.
        """
        nested: dict[str, object] = {}
        for key, value in config.items():
            group, _, name = key.partition(".")
            if name:
                inner = nested.setdefault(group, {})
                if not isinstance(inner, dict):
                    raise _both(group)
                inner[name] = value
            elif isinstance(nested.setdefault(key, value), dict):
                raise _both(group)
        try:
            return cls.model_validate(nested)
        except ValidationError as error:
            raise _setting_error(error) from None

    def flat(self) -> dict[str, Plain]:
        """The settings as flat kebab-case keys, as they stand in a run config."""
        flat: dict[str, Plain] = {}
        for key, value in self.model_dump(by_alias=True).items():
            if isinstance(value, dict):
                flat.update({f"{key}.{name}": inner for name, inner in value.items()})
            else:
                flat[key] = value
        return flat

    @property
    def server_models(self) -> ModelSettings:
        """The models of the server: the devices', but for a generator of its own."""
        if not self.server.generator:
            return self.models
        return self.models.model_copy(update=self.server.model_dump())

    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 over all settings."""
        return hashlib.sha256(json.dumps(self.flat(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def systems(self) -> tuple[str, ...]:
        """The strategies that this run compares, its own first."""
        names = [self.strategy, *(name.strip() for name in self.baselines.split(","))]
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def data_key(self) -> str:
        """A short name for the run's set of documents, which keeps the stores of different sets apart."""
        root = self.data.root
        return root if root == "demo" else f"{Path(root).name}-{hashlib.sha256(root.encode()).hexdigest()[:8]}"


def _both(key: str) -> SettingError:
    return SettingError(
        f"'{key}' is given a value and settings of its own",
        where="settings",
        fix="see [tool.flwr.app.config] in pyproject.toml",
    )


def _setting_error(error: ValidationError) -> SettingError:
    problems, names = [], []
    for detail in error.errors():
        known = detail["type"] != "extra_forbidden"
        # a default that is refused comes under its field's name
        parts = [str(part).replace("_", "-") if known else str(part) for part in detail["loc"]]
        names.append(parts[-1])
        key = ".".join(parts)
        if known:
            value = repr(detail["input"])[:80]
            problems.append(f"'{key}' = {value} is not allowed: {detail['msg'].lower()}")
        else:
            problems.append(f"'{key}' is not a setting")
    return SettingError(
        "; ".join(problems), where="settings", fix=f"see [tool.flwr.app.config] in pyproject.toml for '{names[0]}'"
    )


OWN = {  # node config key -> the setting that it decides
    "home": "home",
    "model-path": "models.generator",
    "model-name": "models.generator-name",
    "threads": "models.threads",
    "gpu-layers": "models.gpu-layers",
    "export": "privacy.export",
    "public-names": "privacy.public-names",
    "partition": "privacy.partition",
    "group-size": "privacy.group-size",
    "epsilon": "privacy.epsilon",
    "budget": "privacy.budget",
    "share-documents": "privacy.share-documents",
    "answers": "privacy.answers",
    "lookup": "privacy.lookup",
    "topics": "overlay.topics",
    "weights": "retrieval.weights",
    "generation-cache": "models.generation-cache",
    "exchange": "exchange",
    "share-summaries": "graph.share",
    "operators": "privacy.operators",
    "outbox": "serving.outbox",
}
