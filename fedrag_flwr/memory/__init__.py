"""Question-answer memories: synthesis, verification, the durable store, matching and fusion."""

from fedrag_flwr.memory.change import Change, Contribution, Counts, NewDocument
from fedrag_flwr.memory.importing import BANK_VERSION
from fedrag_flwr.memory.index import VectorIndex
from fedrag_flwr.memory.matching import Matcher
from fedrag_flwr.memory.store import MemoryStore

__all__ = [
    "BANK_VERSION",
    "Change",
    "Contribution",
    "Counts",
    "Matcher",
    "MemoryStore",
    "NewDocument",
    "VectorIndex",
]
