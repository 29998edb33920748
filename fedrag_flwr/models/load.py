"""One model of a kind in a process, however many devices it serves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from fedrag_flwr.models.cache import GenerationCache
from fedrag_flwr.models.colbert import ColbertEncoder
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.models.endpoint import EndpointGenerator
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from fedrag_flwr.models.reranker import CrossEncoderReranker, LateInteractionReranker
from fedrag_flwr.records import Progress, silent

P = ParamSpec("P")
M = TypeVar("M")
_KEPT = 4


def load_encoder(path: str = "", *, batch_size: int = 32, threads: int | None = None) -> SentenceEncoder:
    """Give the encoder at a path; empty: the default one. Equal calls give the same object.

    Raises
    ------
    ModelMissingError
        There is no model at the path.
    """
    return _encoder(path, batch_size, threads)


def load_token_encoder(path: str, *, threads: int | None = None) -> ColbertEncoder:
    """Give the ColBERT checkpoint in a folder. Equal calls give the same object.

    Raises
    ------
    ModelMissingError
        There is no such folder.
    """
    return _colbert(path, threads)


def load_generator(
    name_or_path: str = DEFAULT_GENERATOR,
    *,
    context_tokens: int = 4096,
    threads: int = 1,
    gpu_layers: int = 0,
    cache_path: str = "",
    download: bool = True,
    progress: Progress = silent,
) -> LlamaGenerator:
    """Give the generator of a known name or a GGUF path, fetched if need be; equal calls give the same object.

    Parameters
    ----------
    cache_path
        File of the generation cache; empty: none.
    download
        Whether an absent file may be fetched.

    Raises
    ------
    ModelError
        The file cannot be found, fetched or verified.
    """
    path = str(resolve(name_or_path, progress, download=download))
    return _generator(path, context_tokens, threads, gpu_layers, cache_path)


def load_endpoint(address: str, name: str) -> EndpointGenerator:
    """Give the generator that a server holds under a name. Equal calls give the same object.

    Raises
    ------
    ModelError
        The address is not one to which passages may go.
    """
    return _endpoint(address, name)


def load_reranker(path: str = "", *, encoder: SentenceEncoder) -> LateInteractionReranker | CrossEncoderReranker:
    """Give the cross-encoder at a path; empty: late interaction over the encoder's tokens."""
    return _cross_encoder(path) if path else LateInteractionReranker(encoder)


def _in_turn(make: Callable[P, M]) -> Callable[P, M]:
    """Let who asks for a model that is being made wait for it; a cache alone would have it made twice."""
    making = Lock()

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> M:
        with making:
            return make(*args, **kwargs)

    return made


@_in_turn
@lru_cache(maxsize=_KEPT)
def _encoder(path: str, batch_size: int, threads: int | None) -> SentenceEncoder:
    return SentenceEncoder(path or None, batch_size=batch_size, threads=threads)


@_in_turn
@lru_cache(maxsize=_KEPT)
def _colbert(path: str, threads: int | None) -> ColbertEncoder:
    return ColbertEncoder(path, threads=threads)


@_in_turn
@lru_cache(maxsize=_KEPT)
def _generator(path: str, context_tokens: int, threads: int, gpu_layers: int, cache_path: str) -> LlamaGenerator:
    return LlamaGenerator(
        path,
        context_tokens=context_tokens,
        threads=threads,
        gpu_layers=gpu_layers,
        cache=GenerationCache(cache_path) if cache_path else None,
    )


@_in_turn
@lru_cache(maxsize=_KEPT)
def _endpoint(address: str, name: str) -> EndpointGenerator:
    return EndpointGenerator(address, name)


@_in_turn
@lru_cache(maxsize=_KEPT)
def _cross_encoder(path: str) -> CrossEncoderReranker:
    return CrossEncoderReranker(path)
