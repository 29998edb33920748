"""Encoder, generator and reranker behind small protocols, and the files they load."""

from fedrag_flwr.models.base import Completion, Encoder, Generator, Grammar, Prompt, TextEncoder
from fedrag_flwr.models.encoder import LateInteractionReranker, SentenceEncoder
from fedrag_flwr.models.endpoint import EndpointGenerator
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.models.load import load_encoder, load_endpoint, load_generator, load_span_reader

__all__ = [
    "Completion",
    "Encoder",
    "EndpointGenerator",
    "Generator",
    "Grammar",
    "LateInteractionReranker",
    "LlamaGenerator",
    "Prompt",
    "SentenceEncoder",
    "TextEncoder",
    "load_encoder",
    "load_endpoint",
    "load_generator",
    "load_span_reader",
    "resolve",
]
