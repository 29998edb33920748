"""Question-answer memories: synthesis, verification, the durable store, matching and fusion."""

from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change, Contribution, Counts, NewDocument
from fedrag_flwr.memory.store.imports import BANK_VERSION
from fedrag_flwr.memory.store.index import VectorIndex
from fedrag_flwr.memory.synthesis.composition import Composed, Composite, compose
from fedrag_flwr.memory.synthesis.model import ModelSynthesizer, Synthesis
from fedrag_flwr.memory.synthesis.plan import EdgeContext
from fedrag_flwr.memory.synthesis.rules import Draft, RuleSynthesizer
from fedrag_flwr.memory.synthesis.verify import RoundTrip, round_trip, round_trip_model, verify

__all__ = [
    "BANK_VERSION",
    "Change",
    "Composed",
    "Composite",
    "Contribution",
    "Counts",
    "Draft",
    "EdgeContext",
    "Matcher",
    "MemoryStore",
    "ModelSynthesizer",
    "NewDocument",
    "RoundTrip",
    "RuleSynthesizer",
    "Synthesis",
    "VectorIndex",
    "compose",
    "round_trip",
    "round_trip_model",
    "verify",
]
