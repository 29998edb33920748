"""Bad stores, each with what a person is told."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from fedrag_flwr.errors import StoreFullError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.database import FILE, write_lock
from simulations.faults.bad_inputs import TEXT, Case, Place, Shown, caught
from simulations.faults.tally import forked, in_child


def _harmed(harm: Callable[[Path], object]) -> Case:
    """A built store is harmed, then the device is opened again."""

    def case(place: Place) -> Shown:
        harm(place.built())
        return caught(place.device)

    return case


def _torn(store: Path) -> None:
    os.truncate(store / FILE, (store / FILE).stat().st_size // 2)


def _something_else(store: Path) -> None:
    (store / FILE).write_bytes(TEXT.encode() * 200)
    for leftover in store.glob(f"{FILE}-*"):
        leftover.unlink()


def _older_schema(store: Path) -> None:
    with contextlib.closing(sqlite3.connect(store / FILE)) as connection:
        connection.execute("PRAGMA user_version = 0")


def _other_encoder(place: Place) -> Shown:
    store = place.built()
    return caught(lambda: MemoryStore.open(store, _identity(place) | {"encoder": "another@0"}))


def _two_processes(place: Place) -> Shown:
    """Another process holds the store's write lock; this one waits a moment and gives up."""
    store, ready = place.built(), place.root / "ready"

    def hold() -> None:
        with write_lock(store, 1.0):
            ready.touch()
            time.sleep(60)

    with forked(hold) as other, MemoryStore.open(store, _identity(place), lock_timeout=0.2) as opened:
        while not ready.exists():
            time.sleep(0.01)
        shown = caught(lambda: opened.set_meta("key", "value"))
        assert str(other) in shown.what
    return shown


def _full_disk(place: Place) -> Shown:
    """In a child whose files may not grow; what was in the store stays."""
    store, told = place.built(), place.root / "told.json"
    with place.device() as device:
        before = device.store.counts()

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with MemoryStore.open(store, {}, create=False) as opened:
            room = (store / FILE).stat().st_size + 40_000
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            try:
                for number in range(1000):
                    opened.set_meta(f"key {number}", TEXT * 1000)
            except StoreFullError as error:
                told.write_text(json.dumps(asdict(Shown.of(error))))

    assert in_child(fill) == 0
    with place.device() as device:
        device.store.verify()
        assert device.store.counts() == before
    return Shown(**json.loads(told.read_text()))


def _identity(place: Place) -> dict[str, str]:
    with place.device() as device:
        return dict(device.store.identity)


CASES: Mapping[str, tuple[str, Case]] = {
    "a store that is torn": ("StoreCorruptError", _harmed(_torn)),
    "a store that is something else": ("StoreCorruptError", _harmed(_something_else)),
    "a store whose secret is lost": ("StoreCorruptError", _harmed(lambda store: (store / "secret.key").unlink())),
    "a store of an older schema": ("StoreMismatchError", _harmed(_older_schema)),
    "a store of another encoder": ("StoreMismatchError", _other_encoder),
    "two processes on one store": ("StoreLockedError", _two_processes),
    "a full disk": ("StoreFullError", _full_disk),
}
