"""Real models, loaded once."""

from __future__ import annotations

import pytest

from fedrag_flwr.loaded_models import Models
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.text.pipeline import Pipeline
from tests.strategies.federation import small_models as shared_models


@pytest.fixture(scope="session")
def models() -> Models:
    return shared_models()


@pytest.fixture(scope="session")
def pipeline(models: Models) -> Pipeline:
    return models.pipeline


@pytest.fixture(scope="session")
def encoder(models: Models) -> Encoder:
    return models.encoder


@pytest.fixture(scope="session")
def generator(models: Models) -> Generator:
    return models.generator()
