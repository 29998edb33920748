"""One pipeline for all tests of the folder."""

import pytest

from fedrag_flwr.text.pipeline import SpacyPipeline


@pytest.fixture(scope="session")
def pipeline() -> SpacyPipeline:
    return SpacyPipeline()
