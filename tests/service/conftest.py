"""One service for all tests of the folder, whose device a message of a run has built."""

from collections.abc import Iterator
from typing import TypeVar

import pytest

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import BuildReport, BuildRequest
from fedrag_flwr.settings import Plain
from tests.service.running import SETTINGS, running
from tests.service.service_process import ServiceProcess

R = TypeVar("R")
RUN = "1"
RUN_CONFIG: dict[str, Plain] = {**SETTINGS, "models.generator": "of-the-run"}  # a service has its own models


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with running(tmp_path_factory.mktemp("service")) as started:
        report = exchange(started, "train.build", BuildRequest(memories=True), BuildReport)
        assert report.items
        yield started


def exchange(service: ServiceProcess, message_type: str, request: object, reply: type[R]) -> R:
    """Send a message through the ClientApp of a deployed node beside the service."""
    grid = LocalGrid(app, [service.node], RUN_CONFIG)
    message = grid.create_message(wire.encode(request, run=RUN), message_type, grid.get_node_ids()[0], RUN)
    [answer] = grid.send_and_receive([message])
    return wire.decode(answer.content, reply, run=RUN)
