"""No test fails because the machine is busy, and the small model writes the same completion once a session."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("unhurried", deadline=None, max_examples=25)
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def kept_completions(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give the generator that federations share its cache, common to all workers."""
    from fedrag_flwr.models import load_generator
    from fedrag_flwr.models.cache import GenerationCache

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    load_generator("smollm2-135m", context_tokens=2048)._cache = GenerationCache(shared / "completions")
