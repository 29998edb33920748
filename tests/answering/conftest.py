"""Real models, loaded once, and a home of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedrag_flwr.loaded_models import Models
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.text.pipeline import Pipeline
from tests.strategies.federation import small_models as shared_models


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def models(own_home: None) -> Models:
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
