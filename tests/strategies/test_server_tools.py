"""The server's tools: what they opened is closed with them, and opened anew when it is asked for."""

import sys
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import SettingError
from fedrag_flwr.exchange.enclave import EnclaveProcess
from fedrag_flwr.models.base import Prompt
from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox
from fedrag_flwr.privacy.ckks.scores import QuestionCipher
from fedrag_flwr.settings import Plain
from strategies import ServerTools
from tests.strategies.federation import Federation, shared_federation, small_models

DIMENSION = 8


def open_files(folder: Path) -> set[str]:
    """The files in a folder that this process holds open."""
    links = (link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return {link.name for link in links if link.is_relative_to(folder)}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the open files of a process")
def test_closing_leaves_no_file_open_and_no_worker(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    tools = ServerTools(shared_federation(tmp_path_factory).copy_to(tmp_path).settings)
    tools.__dict__["models"] = small_models()
    for name in (name for name, made in vars(ServerTools).items() if isinstance(made, cached_property)):
        assert getattr(tools, name)
    device, scorer = QuestionCipher(tmp_path / "own", DIMENSION, shared_sandbox()), tools.scorer
    scorer.learn("bridges", device.public, DIMENSION)
    scorer.hold(np.eye(3, DIMENSION, dtype=np.float32))
    assert scorer.score("bridges", device.encrypt(np.eye(1, DIMENSION, dtype=np.float32)))
    assert tools.quota.take(("bridges",), 0, 3) == 3
    assert scorer._sandbox.worker.pid
    tools.close()
    assert (scorer._sandbox.worker.pid, open_files(tmp_path)) == (0, set())
    assert tools.scorer.known("bridges") == device.fingerprint
    assert tools.quota.take(("bridges",), 0, 2**20) == tools.settings.routing.quota - 3
    tools.close()
    assert open_files(tmp_path) == set()


def test_the_server_may_ask_another_server_and_the_enclave_may_not(tmp_path: Path) -> None:
    server: dict[str, Plain] = {"server.generator": "http://127.0.0.1:9/v1", "server.generator-name": "large"}
    settings = Federation(tmp_path, tuple(server.items())).settings
    assert ServerTools(settings).models.generator().id == "large@127.0.0.1:9"
    assert settings.models.generator == "smollm2-135m"
    with pytest.raises(SettingError, match="would see the evidence"):
        EnclaveProcess(settings, "1")


@pytest.mark.parametrize(("mode", "kept"), [("serve", []), ("questions", ["generations"])])
def test_what_the_servers_model_writes_in_serving_is_kept_nowhere(mode: str, kept: list[str], tmp_path: Path) -> None:
    files = Federation(tmp_path, (("models.generation-cache", True), ("mode", mode)))
    tools = ServerTools(files.settings)
    tools.models.generator().complete(Prompt("Answer in a word.", "Who designed Tarn Bridge?"), max_tokens=1)
    tools.close()
    assert [path.name for path in (tmp_path / "home").glob("generations")] == kept
