"""Real models and a model cache of the tests' own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.models.load import load_encoder


@pytest.fixture(scope="session", autouse=True)
def model_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("fedrag-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(home))
        yield home


@pytest.fixture(scope="session")
def smollm2(model_home: Path) -> Path:
    return resolve("smollm2-135m")


@pytest.fixture(scope="session")
def generator(smollm2: Path) -> LlamaGenerator:
    return LlamaGenerator(smollm2, context_tokens=512)


@pytest.fixture(scope="session")
def encoder(model_home: Path) -> SentenceEncoder:
    return load_encoder()
