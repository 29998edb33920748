"""Every setting, typed and validated once at the edge; `pyproject.toml` holds the same keys with the same defaults.

A run's settings come from Flower's run config as flat keys (``memory.delta``); a device's own ones (its name, its
documents) from its node config. Groups become nested frozen models here, dashes become underscores.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from fedrag_flwr.errors import SettingError
from fedrag_flwr.home_paths import Plain as Plain
from fedrag_flwr.home_paths import fedrag_home as fedrag_home

AUTO = "auto"  # the generator that fits the machine


class SettingsGroup(BaseModel):
    """Settings under one name: keys in kebab-case, nothing unknown, frozen."""

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


ModelName = Annotated[str, Field(max_length=100), AfterValidator(_name_at_endpoint)]


class ModelSettings(SettingsGroup):
    """Which models a device loads, and how."""

    encoder: str = ""
    generator: str = AUTO
    generator_name: ModelName = Field("", validate_default=True)
    read_seconds: float = Field(5.0, gt=0, le=3_600)
    pipeline: str = "en_core_web_sm"
    threads: int = Field(1, ge=1, le=256)
    context_tokens: int = Field(4096, ge=512, le=131_072)
    gpu_layers: int = Field(0, ge=-1, le=1_000)
    generation_cache: bool = True


class ServerSettings(SettingsGroup):
    """Another generator for the server than the devices', where it is one that can hold more."""

    generator: str = ""
    generator_name: ModelName = Field("", validate_default=True)


class HypergraphSettings(SettingsGroup):
    """Semantic hypergraph learning (FD-RAG 5.1 and C.2)."""

    grouping: Literal["learned", "k-means", "random"] = "learned"


class MemorySettings(SettingsGroup):
    """Synthesis of question-answer memories and their matching (FD-RAG 4.1, eq. 11-13)."""

    tokens_per_kilotoken: int = Field(0, ge=0, le=100_000)
    alpha: float = Field(0.6, ge=0, le=1)
    delta: float = Field(0.56, ge=0, le=1)
    told: float = Field(0.65, ge=0, le=1)


class InferenceSettings(SettingsGroup):
    """What is read for an answer, and from which confidence it counts (FD-RAG 4.2)."""

    passages: int = Field(4, ge=1, le=64)
    quotes: bool = True
    remote_units: int = Field(6, ge=1, le=64)
    max_answer_tokens: int = Field(200, ge=1, le=1_024)
    abstain_below: float = Field(0.2, ge=0, le=1)
    ask_below: float = Field(0.55, ge=0, le=1)
    quorum: int = Field(0, ge=0, le=1_000)


class PrivacySettings(SettingsGroup):
    """What the export filter does to everything that leaves (FD-RAG 4.3)."""

    export: Literal["none", "type-masking", "ldp"] = "type-masking"
    public_names: str = "demo"
    partition: str = "demo"
    epsilon: float = Field(1.0, gt=0, le=50)
    group_size: int = Field(5, ge=2, le=10_000)
    budget: float = Field(10.0, gt=0, le=1e6)
    epoch: int = Field(0, ge=0)
    share_documents: bool = False
    other_languages: bool = False
    answers: Literal["unmasked", "all", "waiting"] = "unmasked"
    lookup: bool = True
    operators: str = ""

    @property
    def documents_leave(self) -> bool:
        """Whether whole documents may leave: a device says so, and rewrites nothing."""
        return self.share_documents and self.export == "none" and not self.further

    @property
    def keeps_other_languages(self) -> bool:
        """Whether nothing in another language leaves: what leaves is rewritten, by rules that are made for English."""
        return not self.other_languages and (self.export != "none" or "presidio" in self.further)

    @property
    def further(self) -> tuple[str, ...]:
        """The names of the operators beside the mode's."""
        return tuple(name for name in map(str.strip, self.operators.split(",")) if name)


class FederationSettings(SettingsGroup):
    """Rounds: how long they wait, and how many devices they need."""

    devices: int = Field(5, ge=1, le=100_000)
    round_timeout: float = Field(900.0, gt=0, le=1e6)
    quorum: float = Field(0.5, ge=0, le=1)
    page_bytes: int = Field(2**25, ge=2**10, le=2**25)
    sum_noise: float = Field(0.0, ge=0, le=1e6)


class ControllerSettings(SettingsGroup):
    """Training of the controller by federated averaging (HKVM-RAG IV-F)."""

    rounds: int = Field(20, ge=1, le=10_000)


class RetrievalSettings(SettingsGroup):
    """Which passages the Cognizer takes its evidence from (HKVM-RAG IV-F)."""

    order: Literal["similarity", "late-interaction", "controller"] = "controller"
    weights: str = "shipped"


class GraphSettings(SettingsGroup):
    """The knowledge graph, its communities, and what of them others see (DGRAG 3.2)."""

    written_by: Literal["rules", "model"] = "rules"
    community_most: int = Field(60, ge=1, le=10_000)
    detail: Literal["full", "erased"] = "full"
    share: Literal["text", "vector", "sealed"] = "text"


class GateSettings(SettingsGroup):
    """The confidence from which an answer of home's own is given (DGRAG 3.3 step 5)."""

    threshold: float = Field(-1.0, ge=-1, le=1)


class RoutingSettings(SettingsGroup):
    """Whom an open question goes to, and who answers it (DGRAG 3.3 step 6)."""

    summaries: int = Field(3, ge=1, le=1_000)
    devices: int = Field(2, ge=1, le=1_000)
    answers_at: Literal["home", "server"] = "home"
    precision: Literal["float16", "int8"] = "float16"
    quota: int = Field(50, ge=0, le=1_000_000)


FEDRAG_PARTS = ("memories", "owners", "summaries", "reading", "cache")


class FedRagSettings(SettingsGroup):
    """Which parts of `fedrag` are left out."""

    without: str = ""

    @field_validator("without")
    @classmethod
    def _known(cls, without: str) -> str:
        if not _listed(without) <= set(FEDRAG_PARTS):
            raise PydanticCustomError("needs", "the parts are {known}", {"known": ", ".join(FEDRAG_PARTS)})
        return without

    def has(self, part: str) -> bool:
        """Tell whether a part, one of `FEDRAG_PARTS`, is there."""
        return part not in _listed(self.without)


def _listed(told: str) -> set[str]:
    return {name for name in map(str.strip, told.split(",")) if name}


class HybridSettings(SettingsGroup):
    """What devices tell of their sources' hits, and what the server writes of it (HyFedRAG 3.1)."""

    records: int = Field(3, ge=1, le=64)
    report: Literal["model", "extractive", "none"] = "model"


class CachingSettings(SettingsGroup):
    """Bytes of each of the three tiers, 0 to keep nothing, and how much is fetched ahead (HyFedRAG 3.1)."""

    bytes: int = Field(2**26, ge=0, le=2**40)
    prefetch: int = Field(0, ge=0, le=64)


class OverlaySettings(SettingsGroup):
    """Who is whose neighbour, and how questions walk between peers (DRAG 3 and 4.1)."""

    topology: str = "barabasi-albert"
    walk: Literal["topic", "sketch"] = "topic"
    threshold: float = Field(0.65, ge=-1, le=1)
    topics: str = "shipped"
    topics_by: Literal["encoder", "model"] = "encoder"
    learnt_topics: int = Field(32, ge=2, le=200)
    epsilon: float = Field(1.0, gt=0, le=50)
    cache_similarity: float = Field(0.95, ge=0, le=1.1)

    @field_validator("topics_by")
    @classmethod
    def _named(cls, by: str, info: ValidationInfo) -> str:
        """A model chooses among names, and topics that were learnt have none."""
        if by == "model" and info.data.get("topics") == "learnt":
            raise PydanticCustomError("needs", "topics that are 'learnt' have no names for it to choose from")
        return by


class ServingSettings(SettingsGroup):
    """A run that stays and takes questions which wait at devices, and whether a device lets its questions wait."""

    outbox: bool = False
    polls: int = Field(0, ge=0)


class DataSettings(SettingsGroup):
    """Documents and questions of a simulated run; a deployed device names its documents in its node config."""

    root: str = "demo"
    questions: str = "demo"
    split: str = "test"
    limit: int = Field(40, ge=0)


class Settings(SettingsGroup):
    """All settings of a run."""

    strategy: str = "fedrag"
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
        """Validate flat settings, such as Flower's run config; raises SettingError where a key is unknown or a value is
        not allowed; names the key, the value and what is allowed.
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


def flat_table(table: Mapping[str, object], where: str, prefix: str = "") -> dict[str, Plain]:
    """Nested tables as flat keys (``{"memory": {"delta": 0.6}}`` is ``memory.delta``); raises SettingError where a
    value is a list or a date.
    """
    flat: dict[str, Plain] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= flat_table(value, where, f"{prefix}{key}.")
        elif isinstance(value, Plain):
            flat[f"{prefix}{key}"] = value
        else:
            raise SettingError(f"'{prefix}{key}' is neither a text nor a number", where=where, fix="use one of them")
    return flat


def _both(key: str) -> SettingError:
    return SettingError(
        f"'{key}' is given a value and settings of its own",
        where="settings",
        fix="see [tool.flwr.app.config] in pyproject.toml",
    )


def _setting_error(error: ValidationError) -> SettingError:
    problems, fixes = [], []
    for detail in error.errors():
        known = detail["type"] != "extra_forbidden"
        # a default that is refused comes under its field's name
        parts = [str(part).replace("_", "-") if known else str(part) for part in detail["loc"]]
        key, fix = ".".join(parts), f"see [tool.flwr.app.config] in pyproject.toml for '{parts[-1]}'"
        if known:
            value = repr(detail["input"])[:80]
            problems.append(f"'{key}' = {value} is not allowed: {detail['msg'].lower()}")
        else:
            problems.append(f"'{key}' is not a setting")
            if near := get_close_matches(key, Settings().flat(), n=1):
                fix = f"did you mean '{near[0]}'?"
        fixes.append(fix)
    return SettingError("; ".join(problems), where="settings", fix=fixes[0])


_OF_DEVICE = frozenset(  # groups and settings that a deployed device decides by itself, whatever a run says
    {
        "seed",
        "models",
        "hypergraph",
        "memory",
        "inference",
        "gate",
        "retrieval.order",
        "graph.written-by",
        "graph.community-most",
        "overlay.threshold",
        "overlay.cache-similarity",
    }
)


def is_of_device(key: str) -> bool:
    """Whether a setting says what a device's memory is made with, or how its people are answered."""
    return not {key, key.partition(".")[0]}.isdisjoint(_OF_DEVICE)


def device_part(flat: Mapping[str, Plain]) -> dict[str, Plain]:
    """Of flat settings, or of a node's config, those that `is_of_device`."""
    return {key: value for key, value in flat.items() if is_of_device(key)}


def of_device(settings: Settings) -> dict[str, Plain]:
    """The `device_part` of settings that is not the defaults."""
    usual = Settings().flat()
    return {key: value for key, value in device_part(settings.flat()).items() if value != usual[key]}


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
    "other-languages": "privacy.other-languages",
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
