"""A home of the tests' own, and the federation after its first run."""

from collections.abc import Iterator

import pytest

from tests.strategies.federation import FirstRun, first_run


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def first(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    return first_run(tmp_path_factory)
