"""No test fails because the machine is busy or writes to its user's home, and shared models do the same work once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from fedrag_flwr.models.base import Prompt, Scores

settings.register_profile("unhurried", deadline=None, max_examples=25)
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def kept_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what the small model writes, for all workers, how likely it finds texts, and the encoder's vectors.

    Tests of the models load their own, and `anew` of `tests.strategies.federation` lets these work again.
    """
    from fedrag_flwr.models.generator import GenerationCache
    from fedrag_flwr.models.load import load_encoder, load_generator

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    generator, encoder = load_generator("smollm2-135m", context_tokens=2048), load_encoder(threads=1)
    load = encoder._load

    def load_and_keep() -> SentenceTransformer:
        model = load()
        model.encode = _encoding_once(model.encode)  # type: ignore[method-assign]
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator, "_cache", GenerationCache(shared / "completions"))
        patch.setattr(generator, "score", _scoring_once(generator.score))
        patch.setattr(encoder, "_load", load_and_keep)
        yield


def _scoring_once(score: Callable[[Prompt, Sequence[str]], Scores]) -> Callable[[Prompt, Sequence[str]], Scores]:
    known: dict[tuple[Prompt, tuple[str, ...]], Scores] = {}

    def kept(prompt: Prompt, continuations: Sequence[str]) -> Scores:
        key = (prompt, tuple(continuations))
        if key not in known:
            known[key] = score(prompt, continuations)
        return known[key]

    return kept


def _encoding_once(encode: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[str, Any] = {}

    def kept(texts: list[str], *, output_value: str = "sentence_embedding", **how: Any) -> Any:
        if output_value != "sentence_embedding":
            return encode(texts, output_value=output_value, **how)
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, encode(new, **how), strict=True))
        return np.stack([known[text] for text in texts])

    return kept
