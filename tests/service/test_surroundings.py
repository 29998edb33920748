"""What a service finds and leaves on its machine: sockets, tokens, configs, log lines."""

import logging
from pathlib import Path

import pytest

from fedrag_flwr.errors import ServiceError, ServiceRunningError, SettingError
from fedrag_flwr.nodes import Node
from fedrag_flwr.service.config import device_config, read_config
from fedrag_flwr.service.metrics import JsonLines
from fedrag_flwr.service.run import token_of, unix_socket
from fedrag_flwr.settings import Plain
from tests.strategies.federation import small_models

WRONG = [
    ({"device-name": "a", "colour": "red"}, "colour"),
    ({"device-name": "a", "data-path": ["x"]}, "data-path"),
    ({"device-name": "a", "serve": {"queue": 0}}, "queue"),
    ({"device-name": "a", "serve": {"colour": 1}}, "colour"),
    ({"device-name": "a", "settings": 3}, "settings"),
    ({"device-name": "a", "settings": {"memory": {"delta": [1]}}}, "memory.delta"),
    ({"settings": {"models": {"generator": "https://example.org/v1", "generator-name": "m"}}}, "model-path"),
]


def test_a_socket_is_never_open_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(ServiceError, match="open to others"), unix_socket(tmp_path / "a.sock"):
        pass
    tmp_path.chmod(0o700)
    with unix_socket(tmp_path / "a.sock"):
        assert (tmp_path / "a.sock").stat().st_mode & 0o777 == 0o600
        with pytest.raises(ServiceRunningError), unix_socket(tmp_path / "a.sock"):
            pass
        assert (tmp_path / "a.sock").exists()
    assert not (tmp_path / "a.sock").exists()
    with pytest.raises(ServiceError, match="too long"), unix_socket(tmp_path / ("a" * 100)):
        pass


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    token = token_of(tmp_path / "token")
    assert len(token) >= 43
    assert token_of(tmp_path / "token") == token
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("told", "named"), WRONG)
def test_a_wrong_config_names_the_key(told: dict[str, object], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        device_config(told)


def test_a_config_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "device.toml"
    path.touch(0o600)
    own = 'device-name = "ward"\ndata-path = "/srv"\nepsilon = 2.0\n'
    path.write_text(own + "[settings]\nmemory.delta = 0.5\n[serve]\nport = 8700\n")
    config = read_config(path)
    assert (config.name, config.own["epsilon"], dict(config.settings)) == ("ward", 2.0, {"memory.delta": 0.5})
    assert config.service.port == 8700
    path.chmod(0o622)
    with pytest.raises(SettingError, match="others"):
        read_config(path)
    path.chmod(0o600)
    path.write_text("device-name = ")
    with pytest.raises(SettingError, match="not TOML"):
        read_config(path)
    with pytest.raises(SettingError, match="cannot be read"):
        read_config(tmp_path / "none.toml")


def test_a_device_without_documents_of_its_own_is_held_to_its_own_rules() -> None:
    config = device_config({"device-name": "ward"})
    run: dict[str, Plain] = {"privacy.export": "none", "home": "/elsewhere"}
    settings = Node(config.own, run).settings
    assert (settings.privacy.export, settings.home) == ("type-masking", "")


def test_a_library_s_message_is_not_quoted() -> None:
    line = JsonLines().format(logging.makeLogRecord({"name": "torch", "msg": "read %s", "args": ("a secret",)}))
    assert "secret" not in line
    ours = JsonLines().format(logging.makeLogRecord({"name": "fedrag_flwr.x", "msg": "read %d", "args": (3,)}))
    assert "read 3" in ours


def test_an_error_is_logged_by_kind_and_place_alone() -> None:
    with pytest.raises((TypeError, AttributeError)) as broke:
        small_models().pipeline.question(7)  # type: ignore[arg-type]
    record = logging.makeLogRecord({"name": "fedrag_flwr.x", "msg": "broke"})
    record.exc_info = (broke.type, broke.value, broke.tb)
    line = JsonLines().format(record)
    assert "fedrag_flwr.text" in line
    assert str(broke.value) not in line
