"""Question-answer memories: generation, verification, the durable store, matching and fusion."""

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.generation import MemoryGenerator
from fedrag_flwr.memory.generate.memory_writer import MemoryWriter, Written
from fedrag_flwr.memory.generate.model import ModelGenerator
from fedrag_flwr.memory.generate.round_trip import RoundTrip, round_trip
from fedrag_flwr.memory.generate.rules import RuleGenerator
from fedrag_flwr.memory.generate.verify import verify
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change, Contribution, Counts, NewDocument
from fedrag_flwr.memory.store.imports import SHARED_VERSION
from fedrag_flwr.memory.store.index import VectorIndex

__all__ = [
    "SHARED_VERSION",
    "Candidate",
    "Change",
    "Contribution",
    "Counts",
    "Matcher",
    "MemoryGenerator",
    "MemoryStore",
    "MemoryWriter",
    "ModelGenerator",
    "NewDocument",
    "RoundTrip",
    "RuleGenerator",
    "VectorIndex",
    "Written",
    "round_trip",
    "verify",
]
