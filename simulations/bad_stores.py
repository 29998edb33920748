"""Bad stores, each with what it gives. As a program: what another process does to a store meanwhile."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from fedrag_flwr.errors import StoreFullError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.database import FILE, write_lock
from simulations.fixtures.bad_input_world import TEXT, Bench, Shown, caught

ROOT = Path(__file__).resolve().parents[1]


def torn_store(bench: Bench) -> Shown:
    store = bench.built()
    os.truncate(store / FILE, (store / FILE).stat().st_size // 2)
    return caught(bench.device)


def store_that_is_none(bench: Bench) -> Shown:
    store = bench.built()
    (store / FILE).write_bytes(TEXT.encode() * 200)
    for leftover in store.glob(f"{FILE}-*"):
        leftover.unlink()
    return caught(bench.device)


def older_schema(bench: Bench) -> Shown:
    with contextlib.closing(sqlite3.connect(bench.built() / FILE)) as connection:
        connection.execute("PRAGMA user_version = 0")
    return caught(bench.device)


def other_encoder(bench: Bench) -> Shown:
    store = bench.built()
    with bench.device() as device:
        identity = device.store.identity
    return caught(lambda: MemoryStore.open(store, identity | {"encoder": "another@0"}))


def lost_secret(bench: Bench) -> Shown:
    (bench.built() / "secret.key").unlink()
    return caught(bench.device)


def two_processes(bench: Bench) -> Shown:
    """Another process holds the store's write lock; this one waits a moment and gives up."""
    store = bench.built()
    with bench.device() as device:
        identity = device.store.identity
    with _child("hold", store) as process, MemoryStore.open(store, identity, lock_timeout=0.2) as opened:
        shown = caught(lambda: opened.set_meta("key", "value"))
        assert str(process.pid) in shown.what
    return shown


def full_disk(bench: Bench) -> Shown:
    """In a child whose files may not grow (RLIMIT_FSIZE); what was in the store stays."""
    store = bench.built()
    with bench.device() as device:
        before = device.store.counts()
    with _child("fill", store) as process:
        out, _ = process.communicate(timeout=60)
    error, what, where, fix = out.strip().split("\t")
    with bench.device() as device:
        device.store.verify()
        assert device.store.counts() == before
    return Shown(error, what, where, fix)


def hold_lock(store: Path) -> None:
    """Hold a store's write lock until killed: what a child does."""
    with write_lock(store, 1.0):
        print("ready", flush=True)
        sys.stdin.read()


def fill_disk(store: Path) -> None:
    """Write to a store although files may not grow: what a child does."""
    import resource

    print("ready", flush=True)
    with MemoryStore.open(store, {}, create=False) as opened:
        room = (store / FILE).stat().st_size + 40_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            for number in range(1000):
                opened.set_meta(f"key {number}", TEXT * 1000)
        except StoreFullError as error:
            shown = Shown.of(error)
            print("\t".join((shown.error, shown.what, shown.where, shown.fix)), flush=True)


@contextlib.contextmanager
def _child(work: str, store: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "simulations.bad_stores", work, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    {"hold": hold_lock, "fill": fill_disk}[sys.argv[1]](Path(sys.argv[2]))
