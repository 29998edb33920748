"""A name belongs to the device that took part under it first: who takes it meanwhile is refused by its key."""

import errno
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from fedrag_flwr.errors import StoreFullError
from fedrag_flwr.settings import Plain
from strategies.discovery import NameKeys
from tests.strategies.rounds import Rounds

LIE = "# Odile Varro\n\nOdile Varro was a baker. She was born in Brackwater in 1650.\n"


@pytest.fixture
def rounds(tmp_path: Path) -> Rounds:
    return Rounds.over(tmp_path, federation__quorum=0.0, federation__devices=2)


@pytest.fixture
def impostor(tmp_path: Path) -> Mapping[str, Plain]:
    (tmp_path / "lies").mkdir()
    (tmp_path / "lies" / "odile.md").write_text(LIE, encoding="utf-8")
    return {
        "device-name": "people",
        "data-path": str(tmp_path / "lies"),
        "export": "none",
        "home": str(tmp_path / "elsewhere"),
    }


def test_who_takes_a_known_device_s_name_is_refused(rounds: Rounds, impostor: Mapping[str, Plain]) -> None:
    bridges, _, _, people, _ = rounds.files.nodes
    assert rounds.run([bridges, people]) == {}
    shared = rounds.in_shared_memory("people")
    for nodes in ([bridges, impostor], [bridges, people, impostor], [bridges, people, impostor]):
        assert list(rounds.run(nodes).values()) == ["it calls itself people, which is known under another key"]
        assert rounds.in_shared_memory("people") == shared != set()
    (rounds.documents("people") / "jonas-keel.md").unlink()
    rounds.run([bridges, people, impostor])
    assert rounds.in_shared_memory("people") == rounds.own("people") < shared


def test_a_name_that_cannot_be_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    known = NameKeys(tmp_path / "names")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreFullError, match="names/people"):
        known.keep("people", b"key")
    assert known.fits("people", b"another")


def test_who_lost_its_key_has_its_name_again_once_the_operator_lets_it_go(rounds: Rounds, tmp_path: Path) -> None:
    bridges, _, _, people, _ = rounds.files.nodes
    rounds.run([bridges, people])
    shutil.rmtree(tmp_path / "home" / "privacy" / "people")
    assert "another key" in " ".join(rounds.run([bridges, people]).values())
    [known] = (tmp_path / "home" / "server").glob("*/names/people")
    known.unlink()
    assert rounds.run([bridges, people]) == {}
    assert rounds.in_shared_memory("people") == rounds.own("people") != set()
