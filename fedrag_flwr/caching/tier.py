"""One tier of caches: bytes under keys on disk, a size limit, versions, and deletion that leaves nothing behind."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import diskcache

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.files import making_in
from fedrag_flwr.sqlite_errors import TORN, own_errors

T = TypeVar("T")
Versions = Mapping[str, str]

DATABASE = "cache.db"
_IN_DATABASE = 2**40  # values of any size lie in the database, where deletion overwrites them
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TierStats:
    """What a tier holds and how it served, nothing if its file is torn: sizes in bytes, on disk."""

    name: str
    entries: int
    bytes: int
    limit: int
    hits: int
    misses: int
    torn: bool = False

    @property
    def hit_rate(self) -> float:
        """Share of the look-ups that found something."""
        return self.hits / max(1, self.hits + self.misses)


class BytesDisk(diskcache.Disk):  # type: ignore[misc, unused-ignore]
    """Keys are text, values are bytes; nothing is pickled, and nothing pickled is read."""

    def put(self, key: object) -> tuple[str, bool]:
        """Take a key that is text."""
        if not isinstance(key, str):
            raise TypeError("a cache's key must be text")
        return key, True

    def get(self, key: object, raw: bool) -> object:
        """Give a key back."""
        if not raw:
            raise ValueError("a pickled key in a cache")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, object]:
        """Take a value that is bytes."""
        if not isinstance(value, bytes):
            raise TypeError("a cache's value must be bytes")
        return 0, diskcache.core.MODE_RAW, None, sqlite3.Binary(value)

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> bytes:
        """Give a value back, where it is one that this class wrote."""
        if mode != diskcache.core.MODE_RAW or not isinstance(value, bytes):
            raise ValueError("a cache holds what it did not write")
        return value


class Tier:
    """Bytes under keys, each with the versions of what they were made of; safe under several processes; raises
    StoreError where the file cannot be opened, though it is not torn.

    An entry is found only under the versions that it was made of, and `purge` deletes those of other versions, from the
    file too. A file that is torn is made anew: a cache may be lost.

    Parameters
    ----------
    folder
        The tier's own; it is named after the folder.
    size
        Bytes that it may take on disk, where what was used recently stays; with 0 it keeps nothing, and finds nothing
        that was kept before.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.name = folder.name
        self._folder = folder
        self._size = size
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with own_errors(folder, DATABASE), making_in(folder.parent):
            folder.mkdir(exist_ok=True, mode=0o700)
            try:
                self._cache = self._opened()
            except sqlite3.OperationalError:
                raise  # a full disk, or another process: the file may be whole
            except TORN:
                self._cache = self._anew()

    def _opened(self) -> diskcache.Cache:
        return diskcache.Cache(
            str(self._folder),
            disk=BytesDisk,
            size_limit=self._size,
            eviction_policy="least-recently-used",
            statistics=1,
            tag_index=1,
            disk_min_file_size=_IN_DATABASE,
            sqlite_secure_delete=1,
        )

    def get(self, key: str, versions: Versions) -> bytes | None:
        """Give what was put under a key and these very versions."""
        if not self._size:
            return None
        found = self._spared(lambda: self._cache.get(_full(key, versions), retry=True), None)
        return found if isinstance(found, bytes) else None

    def holds(self, key: str, versions: Versions) -> bool:
        """Tell whether there is an entry, without counting it as used."""
        return bool(self._size) and self._spared(lambda: _full(key, versions) in self._cache, False)

    def put(self, key: str, value: bytes, versions: Versions) -> bool:
        """Keep a value; false where it is larger than the tier, or the disk does not take it."""
        if len(value) > self._size:
            return False
        return self._spared(
            lambda: bool(self._cache.set(_full(key, versions), value, tag=_tag(versions), retry=True)), False
        )

    def purge(self, versions: Versions) -> int:
        """Delete what was made of other versions than these; returns how many entries went.

        An entry stays where no name of its versions is told here with another version. Where the disk takes no
        deletion, everything goes.
        """
        try:
            stale = [tag for tag in self._tags() if _differs(json.loads(tag), versions)]
            gone = sum(int(self._cache.evict(tag, retry=True)) for tag in stale)
            if gone:
                self._wipe()
        except TORN:
            self._make_anew()
            return 0
        return gone

    def clear(self) -> None:
        """Delete everything."""
        try:
            self._cache.clear(retry=True)
            self._wipe()
        except TORN:
            self._make_anew()

    def stats(self) -> TierStats:
        """What it holds, and how often it was asked since it was made."""
        hits, misses = self._cache.stats()
        return TierStats(self.name, len(self._cache), int(self._cache.volume()), self._size, int(hits), int(misses))

    def close(self) -> None:
        """Close the file."""
        self._cache.close()

    def _spared(self, work: Callable[[], T], otherwise: T) -> T:
        """What some work gives; where the disk fails it is another, and a file that is torn is made anew."""
        try:
            return work()
        except sqlite3.OperationalError as error:
            _LOG.warning("the cache %s could not be used (%s)", self.name, error.sqlite_errorname)
        except TORN:
            self._make_anew()
        return otherwise

    def _make_anew(self) -> None:
        self._cache.close()
        with own_errors(self._folder, DATABASE), making_in(self._folder.parent):
            self._cache = self._anew()

    def _anew(self) -> diskcache.Cache:
        _LOG.warning("the cache %s was torn and is made anew", self.name)
        shutil.rmtree(self._folder)
        self._folder.mkdir(mode=0o700)
        return self._opened()

    def _tags(self) -> list[str]:
        with closing(sqlite3.connect(self._folder / DATABASE)) as connection:
            return [tag for (tag,) in connection.execute("SELECT DISTINCT tag FROM Cache WHERE tag IS NOT NULL")]

    def _wipe(self) -> None:
        """Take deleted text out of the write-ahead log, too; the database overwrites it by itself."""
        with closing(sqlite3.connect(self._folder / DATABASE, timeout=10.0)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def find_tiers(root: Path) -> Iterable[tuple[Path, TierStats]]:
    """All tiers under a folder, with what they hold; raises StoreError where one cannot be opened, but is not torn."""
    for database in sorted(root.rglob(DATABASE)):
        yield database.parent, _stats_of(database.parent)


def _stats_of(folder: Path) -> TierStats:
    try:
        with own_errors(folder, DATABASE), closing(diskcache.Cache(str(folder), disk=BytesDisk)) as cache:
            hits, misses = cache.stats(enable=True)
            limit = int(cache.size_limit)
            return TierStats(folder.name, len(cache), int(cache.volume()), limit, int(hits), int(misses))
    except StoreCorruptError:
        return TierStats(folder.name, 0, 0, 0, 0, 0, torn=True)


def _tag(versions: Versions) -> str:
    return json.dumps(dict(sorted(versions.items())))


def _full(key: str, versions: Versions) -> str:
    return f"{key}|{_tag(versions)}"


def _differs(made_of: Versions, versions: Versions) -> bool:
    return any(name in versions and versions[name] != version for name, version in made_of.items())
