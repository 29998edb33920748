"""The federation after its first run."""

import pytest

from tests.strategies.federation import FirstRun, first_run


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    return first_run(tmp_path_factory)
