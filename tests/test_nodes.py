"""Which device a node of a simulation is."""

from __future__ import annotations

from pathlib import Path

from fedrag_flwr.nodes import Node


def test_hidden_folders_are_no_devices(tmp_path: Path) -> None:
    for name in (".cache", ".git", "lab", "ward"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").touch()
    nodes = [Node({"partition-id": number}, {"data.root": str(tmp_path)}) for number in range(3)]
    assert [node.device_name() for node in nodes] == ["lab", "ward", "spare-2"]
