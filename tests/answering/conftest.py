"""Real models, loaded once, and a home of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.text.base import Pipeline
from fedrag_flwr.toolbox import Toolbox
from tests.strategies.federation import toolbox as shared_toolbox


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def toolbox(own_home: None) -> Toolbox:
    return shared_toolbox()


@pytest.fixture(scope="session")
def pipeline(toolbox: Toolbox) -> Pipeline:
    return toolbox.pipeline


@pytest.fixture(scope="session")
def encoder(toolbox: Toolbox) -> Encoder:
    return toolbox.encoder


@pytest.fixture(scope="session")
def generator(toolbox: Toolbox) -> Generator:
    return toolbox.generator()
