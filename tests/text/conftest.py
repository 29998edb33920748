"""One pipeline for all tests of the folder."""

import pytest

from fedrag_flwr.text.pipeline import Pipeline


@pytest.fixture(scope="session")
def pipeline() -> Pipeline:
    return Pipeline()
