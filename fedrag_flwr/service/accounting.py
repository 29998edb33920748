"""What left a device, what it cost in privacy budget, what the device holds to, and whose memories it took in."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.search import origins
from fedrag_flwr.overlay.device_sketches import BUDGET as SKETCH_BUDGET
from fedrag_flwr.privacy import outgoing
from fedrag_flwr.privacy.ledger import BUDGET, BudgetAccount, BudgetLedger
from fedrag_flwr.privacy.outgoing import Outgoing, OutgoingLedger
from fedrag_flwr.settings import Plain, Settings

_MOST_ROWS = 200
_HELD_TO = (
    "exchange",
    "graph.share",
    "privacy.export",
    "privacy.operators",
    "privacy.public-names",
    "privacy.share-documents",
    "privacy.other-languages",
    "privacy.epsilon",
    "privacy.budget",
    "privacy.group-size",
    "privacy.partition",
    "privacy.answers",
    "privacy.lookup",
)


@dataclass(frozen=True, slots=True)
class Budget:
    """A privacy budget: whose, and what was spent of it."""

    whose: str  # "entities" that surrogates stand for, or "documents" that sketches of peers count
    account: BudgetAccount


@dataclass(frozen=True, slots=True)
class Held:
    """A setting that the device holds to."""

    name: str
    value: Plain


@dataclass(frozen=True, slots=True)
class Origin:
    """A device, or the shared memory, from which memories came, and how many."""

    name: str
    memories: int
    own: bool


@dataclass(frozen=True, slots=True)
class SharedView:
    """The account of a device: by kind since the first day, the newest hours, budgets, settings, origins."""

    kinds: tuple[Outgoing, ...]
    newest: tuple[Outgoing, ...]
    budgets: tuple[Budget, ...]
    held: tuple[Held, ...]
    origins: tuple[Origin, ...]


def view_shared(store: MemoryStore, settings: Settings, kept: Path) -> SharedView:
    """Draw up the account of a device; raises StoreError where a ledger cannot be read."""
    with closing(OutgoingLedger(kept / outgoing.FILE)) as ledger:
        kinds, newest = ledger.by_kind(), ledger.newest(_MOST_ROWS)
    files = (("entities", kept / BUDGET), ("documents", kept / SKETCH_BUDGET))
    flat, device = settings.flat(), store.identity["device"]
    return SharedView(
        tuple(kinds),
        tuple(newest),
        tuple(Budget(whose, _account(path, settings.privacy.budget)) for whose, path in files if path.exists()),
        tuple(Held(name, flat[name]) for name in _HELD_TO),
        tuple(Origin(name, count, name == device) for name, count in origins(store).items()),
    )


def _account(path: Path, limit: float) -> BudgetAccount:
    with closing(BudgetLedger(path, limit)) as ledger:
        return ledger.account()
