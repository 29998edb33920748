"""The strategies without collaboration: the model alone, retrieval at home, and memory at home (FD-RAG 5.1)."""

from __future__ import annotations

from fedrag_flwr.records import AnswerMode
from strategies.base import EVERY_EXCHANGE, FederatedRag


class NoRag(FederatedRag):
    """Devices answer from their model alone: the floor."""

    name = "no-rag"
    mode: AnswerMode = "closed-book"
    exchanges = EVERY_EXCHANGE


class LocalRag(FederatedRag):
    """Each device retrieves passages at home and its model reads them; nothing is shared."""

    name = "local-rag"
    mode: AnswerMode = "passages"
    exchanges = EVERY_EXCHANGE


class LocalGraph(FederatedRag):
    """Each device answers over its own knowledge graph; nothing is shared (DGRAG's Local RAG)."""

    name = "local-graph"
    mode: AnswerMode = "graph"
    exchanges = EVERY_EXCHANGE
    graph = True


class LocalMemory(FederatedRag):
    """Memorizer and Cognizer over each device's own memories; nothing is shared (FD-RAG without fusion)."""

    name = "local-memory"
    mode: AnswerMode = "own-memory"
    exchanges = EVERY_EXCHANGE
    memories = True
