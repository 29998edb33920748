"""A service that is killed leaves what the next one needs; one that is told to end finishes what runs."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fedrag_flwr.errors import ServiceAbsentError
from fedrag_flwr.records import BuildReport, BuildRequest
from tests.service.conftest import exchange
from tests.service.running import ANSWER, DOCUMENTS, QUESTION, running


def test_one_is_killed_and_the_next_one_told_to_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running(tmp_path_factory.mktemp("end")) as first:  # a socket's path must be short
        first.process.kill()
        first.process.wait(30)
        assert first.socket.exists()
        with first.client() as client, pytest.raises(ServiceAbsentError):
            client.health()
        fallen_back = exchange(first, "train.build", BuildRequest(memories=True), BuildReport)
        assert fallen_back.added == len(DOCUMENTS)  # handled in this process
        with first.again() as second, ThreadPoolExecutor(1) as pool:
            with second.client() as client:
                assert client.ask(QUESTION)["answer"] == ANSWER
                (second.documents / "ossel.md").write_text("# Ossel\n\nThe Ossel is a river of Vessland.\n")
                build = pool.submit(exchange, second, "train.build", BuildRequest(memories=True), BuildReport)
                while 'fedrag_queue_length{queue="writes"} 0.0' in client.metrics() and not build.done():
                    time.sleep(0.01)
                second.process.terminate()
                assert build.result(60).added == 1
            assert second.process.wait(60) == 0
            assert not second.socket.exists()
            with second.client() as client, pytest.raises(ServiceAbsentError):
                client.ask(QUESTION)
            assert '"stopped"' in second.log.read_text()
