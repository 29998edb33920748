"""Federated strategies: what devices share, where a question goes, and who answers it."""

from __future__ import annotations

from collections.abc import Sequence

from fedrag_flwr.errors import SettingError
from fedrag_flwr.records import Progress, Question, silent
from fedrag_flwr.settings import Settings
from strategies.base import FederatedRag
from strategies.confidential_broadcast import ConfidentialBroadcast
from strategies.controller_fedavg import ControllerFedAvg
from strategies.fedrag import FedRag
from strategies.hybrid_fusion import HybridFusion
from strategies.memory_fusion import MemoryFusion
from strategies.overlay_walk import Flooding, RandomWalk, TopicWalk
from strategies.rag_route import RagRoute
from strategies.references import Centralized, LocalGraph, LocalMemory, LocalRag, NoRag
from strategies.server_tools import ServerTools
from strategies.summary_routing import SummaryRouting

_KINDS: Sequence[type[FederatedRag]] = (
    *(NoRag, LocalRag, LocalMemory, LocalGraph),
    *(FedRag, MemoryFusion, SummaryRouting, HybridFusion),
    *(TopicWalk, RandomWalk, Flooding),
    *(RagRoute, ConfidentialBroadcast, ControllerFedAvg, Centralized),
)
STRATEGIES: dict[str, type[FederatedRag]] = {kind.name: kind for kind in _KINDS}


def strategy_kind(name: str) -> type[FederatedRag]:
    """Look a strategy up by its name; raises SettingError where there is none."""
    if name not in STRATEGIES:
        raise SettingError(
            f"'{name}' is not a strategy", where="strategy", fix=f"choose one of {', '.join(STRATEGIES)}"
        )
    return STRATEGIES[name]


def make_strategy(
    name: str, settings: Settings, questions: Sequence[Question], tools: ServerTools, progress: Progress = silent
) -> FederatedRag:
    """Make a strategy by its name; raises SettingError where there is no such strategy, or it shows questions on their
    way where the exchange hides them.
    """
    kind = strategy_kind(name)
    if settings.exchange_for(kind.mode) not in kind.exchanges:
        raise SettingError(
            f"'{name}' shows questions on their way",
            where="exchange",
            fix='set it to "plain" or "auto", or leave this out',
        )
    return kind(settings, questions, tools, progress)


__all__ = [
    "STRATEGIES",
    "Centralized",
    "ConfidentialBroadcast",
    "ControllerFedAvg",
    "FedRag",
    "FederatedRag",
    "Flooding",
    "HybridFusion",
    "LocalGraph",
    "LocalMemory",
    "LocalRag",
    "MemoryFusion",
    "NoRag",
    "RagRoute",
    "RandomWalk",
    "ServerTools",
    "SummaryRouting",
    "TopicWalk",
    "make_strategy",
]
