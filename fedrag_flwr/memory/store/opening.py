"""Making a store, and seeing that an existing one fits what is asked of it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

from fedrag_flwr.errors import SettingError, StoreMismatchError
from fedrag_flwr.memory.store import opaque
from fedrag_flwr.memory.store.database import FILE, Database, write_lock
from fedrag_flwr.memory.store.index import drop_indexes
from fedrag_flwr.sqlite_errors import REBUILD


def device_and_dimension(identity: Mapping[str, str]) -> tuple[str, int]:
    """Take the device's name and the vectors' length from an identity; raises SettingError where one is missing."""
    device, dimension = identity.get("device", ""), identity.get("dimension", "")
    if not device:
        raise SettingError("a store needs the device's name", where="device", fix="give it in the identity")
    if not dimension.isdecimal() or int(dimension) < 1:
        raise SettingError(f"is {dimension!r}", where="dimension", fix="give the encoder's dimension in the identity")
    return device, int(dimension)


def create_store(path: Path, lock_timeout: float) -> None:
    """Make a store with its secret, unless another process was quicker."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    with write_lock(path, lock_timeout):
        if (path / FILE).exists():
            return
        drop_indexes(path)
        secret = opaque.make_secret(path)
        Database.create(path, {"version": "0", "store": uuid.uuid4().hex, "secret": opaque.mark(secret)})


def reconcile(database: Database, identity: Mapping[str, str]) -> dict[str, str]:
    """Compare the recorded identity with the given one, and record new keys."""

    def known() -> dict[str, str]:
        with database.reading() as connection:
            return dict(connection.execute("SELECT key, value FROM identity").fetchall())

    recorded = known()
    for key in sorted(recorded.keys() & identity.keys()):
        if recorded[key] != identity[key]:
            raise StoreMismatchError(
                f"the store was built with {key} = {recorded[key]!r}, now it is {identity[key]!r}",
                where=database.directory.name,
                fix=f"{REBUILD}, or choose {key} = {recorded[key]!r}",
            )
    new = {key: value for key, value in identity.items() if key not in recorded}
    if not new:
        return recorded
    with database.writing() as connection:
        connection.executemany("INSERT OR IGNORE INTO identity VALUES (?, ?)", new.items())
    return reconcile(database, identity)
