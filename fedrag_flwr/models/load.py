"""One model of a kind in a process, however many devices it serves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.models.endpoint import EndpointGenerator
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.generator import GenerationCache, LlamaGenerator
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from fedrag_flwr.models.spans import SpanReader
from fedrag_flwr.records import Progress, silent

P = ParamSpec("P")
M = TypeVar("M")
_KEPT = 4


def _shared(make: Callable[P, M]) -> Callable[P, M]:
    """Give equal calls the same object; who asks for one that is being made waits for it."""
    kept, making, signature = lru_cache(_KEPT)(make), Lock(), inspect.signature(make)

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> M:
        call = signature.bind(*args, **kwargs)
        call.apply_defaults()
        with making:
            return kept(*call.args, **call.kwargs)

    return made


@_shared
def load_encoder(path: str = "", *, threads: int | None = None) -> SentenceEncoder:
    """Give the encoder at a path; empty: the default one. Equal calls give the same object.

    Raises ModelMissingError where there is no model at the path.
    """
    return SentenceEncoder(path or None, threads=threads)


@_shared
def load_span_reader() -> SpanReader:
    """Give the reader of spans that comes with the program; every call gives the same object."""
    return SpanReader()


@_shared
def load_endpoint(address: str, name: str) -> EndpointGenerator:
    """Give the generator that a server holds under a name. Equal calls give the same object.

    Raises ModelError where the address is not one to which passages may go.
    """
    return EndpointGenerator(address, name)


def load_generator(
    name_or_path: str = DEFAULT_GENERATOR,
    *,
    context_tokens: int = 4096,
    threads: int = 1,
    gpu_layers: int = 0,
    cache_path: str = "",
    progress: Progress = silent,
) -> LlamaGenerator:
    """Give the generator of a known name or a GGUF path, fetched if need be; equal calls give the same object; raises
    ModelError where the file cannot be found, fetched or verified. An empty `cache_path`: no generation is kept.
    """
    return _generator(str(resolve(name_or_path, progress)), context_tokens, threads, gpu_layers, cache_path)


@_shared
def _generator(path: str, context_tokens: int, threads: int, gpu_layers: int, cache_path: str) -> LlamaGenerator:
    cache = GenerationCache(cache_path) if cache_path else None
    return LlamaGenerator(path, context_tokens=context_tokens, threads=threads, gpu_layers=gpu_layers, cache=cache)
