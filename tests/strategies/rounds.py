"""Rounds of a federation without questions, and what the shared memory and devices hold of one device after them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedrag_flwr.memory.fusion.merge import owners
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.settings import Plain
from strategies import FederatedRag, MemoryFusion, ServerTools
from tests.strategies.federation import Federation, server_tools

Said = set[tuple[str, str]]  # questions with their answers


def said(items: Iterable[MemoryItem]) -> Said:
    return {(item.question, item.answer) for item in items}


@dataclass(frozen=True, slots=True)
class Rounds:
    """A federation whose memories leave as they are."""

    files: Federation

    @classmethod
    def over(cls, root: Path, **changes: Plain) -> Rounds:
        return cls(Federation(root).write().with_changes(privacy__export="none", **changes))

    @classmethod
    def after_one(cls, factory: pytest.TempPathFactory, root: Path) -> Rounds:
        """A copy of a federation after its first round, which is held once a session."""
        return cls(_after_one(factory.getbasetemp() / "rounds").files.copy_to(root))

    def run(
        self, nodes: Sequence[Mapping[str, Plain]] | None = None, kind: type[FederatedRag] = MemoryFusion
    ) -> dict[str, str]:
        """Build, share, fuse and hand out; give who was missing and why."""
        tools = server_tools(self.files)
        strategy = kind(self.files.settings, [], tools)
        strategy.patience = 0.0
        try:
            strategy.prepare(self.files.grid(nodes=nodes), "1")
        finally:
            tools.close()
        return dict(strategy.transport.traffic.missing)

    def documents(self, device: str) -> Path:
        return self.files.root / "data" / device

    def store(self, device: str) -> Path:
        return self.files.root / "home" / "devices" / self.files.settings.data_key / device

    def own(self, device: str) -> Said:
        """What a device itself remembers of its documents."""
        with self.files.device(device) as opened:
            return said(opened.store.items(origin=device))

    def in_shared_memory(self, device: str) -> Said:
        """What the shared memory gives out that a device shared."""
        shared = ServerTools(self.files.settings).shared_memory
        found = said(item for item in shared.items() if device in owners(item))
        shared.close()
        return found

    def at(self, peer: str, device: str) -> Said:
        """What a peer holds that a device shared."""
        with self.files.device(peer) as opened:
            return said(item for item in opened.store.items() if device in owners(item))


@functools.cache
def _after_one(root: Path) -> Rounds:
    rounds = Rounds.over(root)
    rounds.run()
    return rounds
