"""Models and database servers that the tests of sources share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fedrag_flwr.models.encoder import LateInteractionReranker
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.sources.source_search import SearchTools
from fedrag_flwr.text.pipeline import Pipeline
from tests.sources import servers
from tests.sources.wards import Ward, ladybug_ward, neo4j_ward, server_ward, sqlite_ward

WARDS = ("sqlite", "mariadb", "postgresql", "ladybug", "neo4j")


@pytest.fixture(scope="session")
def tools() -> SearchTools:
    """The models that sources search with."""
    encoder = load_encoder(threads=1)
    return SearchTools(encoder, Pipeline(), LateInteractionReranker(encoder))


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """A MariaDB server of the tests' own."""
    with servers.mariadb() as url:
        yield url


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A PostgreSQL server of the tests' own."""
    with servers.postgresql() as url:
        yield url


@contextmanager
def ward_of(kind: str, folder: Path, tools: SearchTools, request: pytest.FixtureRequest) -> Iterator[Ward]:
    """Open a ward of a kind."""
    if kind == "sqlite":
        ward = sqlite_ward(folder, tools)
    elif kind == "ladybug":
        ward = ladybug_ward(folder, tools)
    elif kind == "neo4j":
        ward = neo4j_ward(tools)
    else:
        ward = server_ward(str(request.getfixturevalue(f"{kind}_url")), tools)
    try:
        yield ward
    finally:
        ward.source.close()  # type: ignore[attr-defined]


@pytest.fixture(scope="module", params=WARDS)
def ward(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tools: SearchTools
) -> Iterator[Ward]:
    """The ward in each kind of database; tests leave it as it was."""
    with ward_of(str(request.param), tmp_path_factory.mktemp("ward"), tools, request) as opened:
        yield opened
