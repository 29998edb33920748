"""What a device gives to questions that walk does not tell what it has masked."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrag_flwr.records import Hop, WalkRequest
from tests.device.test_building import Watched

TREATED = {"Anna Kowalska": "asthma", "Otmar Winter": "hepatitis"}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(("export", "told"), [("type-masking", 1), ("none", 2)])
def test_which_sentence_a_walk_gets_does_not_follow_a_masked_name(tmp_path: Path, export: str, told: int) -> None:
    device = Watched(
        tmp_path,
        privacy__export=export,
        privacy__public_names="",
        inference__remote_units=1,
        overlay__threshold=-1.0,
    )
    device.write(**{f"{illness}.txt": f"{name} was treated for {illness}." for name, illness in TREATED.items()})
    device.build(memories=False)
    given = set()
    with device.open() as opened:
        for name in TREATED:
            [vector] = opened.toolbox.encoder.encode([f"Was {name} treated?"])
            [reply] = opened.walks.walk(WalkRequest("flooding", (Hop("q", vector, (), ()),))).replies
            [unit] = reply.units
            given.add(unit.text)
    assert len(given) == told
