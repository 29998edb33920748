"""A device that is put back from a backup: after the next round server and peers hold what it does, and no more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.strategies.rounds import Rounds

IRON = "# Iron Gate\n\nThe Iron Gate was built in 1850. The gate is 30 metres wide.\n"
OAK = "# Oak Weir\n\nThe Oak Weir was built in 1777. The weir is 12 metres wide.\n"


@pytest.fixture
def restored(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """The device `bridges` put back to what it was before it shared what it had of the Iron Gate."""
    rounds = Rounds.after_one(tmp_path_factory, tmp_path)
    store, privacy = rounds.store("bridges"), tmp_path / "home" / "privacy" / "bridges"
    shutil.copytree(store, tmp_path / "store")
    shutil.copytree(privacy, tmp_path / "privacy")
    (rounds.documents("bridges") / "iron.md").write_text(IRON, encoding="utf-8")
    rounds.run()
    assert any("Iron Gate" in question for question, _ in rounds.at("harbours", "bridges"))
    for place, backup in ((store, "store"), (privacy, "privacy")):
        shutil.rmtree(place)
        (tmp_path / backup).rename(place)
    return rounds


def test_what_goes_after_a_device_was_put_back_goes_everywhere(restored: Rounds) -> None:
    documents = restored.documents("bridges")
    (documents / "iron.md").unlink()
    (documents / "tarn-bridge.md").unlink()
    (documents / "oak.md").write_text(OAK, encoding="utf-8")
    assert restored.run() == {}
    own = restored.own("bridges")
    assert any("Oak Weir" in question for question, _ in own)
    assert restored.in_shared_memory("bridges") == restored.at("harbours", "bridges") == own


def test_a_device_that_was_put_back_and_reads_the_same_again_is_as_it_was(restored: Rounds) -> None:
    assert restored.run() == {}
    own = restored.own("bridges")
    assert any("Iron Gate" in question for question, _ in own)
    assert restored.in_shared_memory("bridges") == restored.at("harbours", "bridges") == own
