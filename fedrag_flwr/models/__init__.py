"""Encoder, generator and reranker behind small protocols, and the files they load."""

from fedrag_flwr.models.base import Completion, Encoder, Generator, Grammar, Prompt, Reranker
from fedrag_flwr.models.cache import GenerationCache
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.models.endpoint import EndpointGenerator
from fedrag_flwr.models.files import ModelStatus, list_models, pull, resolve, verify
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.models.load import load_encoder, load_endpoint, load_generator, load_reranker, load_token_encoder
from fedrag_flwr.models.registry import ModelFile
from fedrag_flwr.models.reranker import CrossEncoderReranker, LateInteractionReranker

__all__ = [
    "Completion",
    "CrossEncoderReranker",
    "Encoder",
    "EndpointGenerator",
    "GenerationCache",
    "Generator",
    "Grammar",
    "LateInteractionReranker",
    "LlamaGenerator",
    "ModelFile",
    "ModelStatus",
    "Prompt",
    "Reranker",
    "SentenceEncoder",
    "list_models",
    "load_encoder",
    "load_endpoint",
    "load_generator",
    "load_reranker",
    "load_token_encoder",
    "pull",
    "resolve",
    "verify",
]
