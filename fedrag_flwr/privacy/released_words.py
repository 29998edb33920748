"""Whether a name that is learnt now may stand in what has left already: the words that left, by their digests."""

from __future__ import annotations

import logging
import secrets
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.files import making_in
from fedrag_flwr.privacy.ledger import DurableFile

_SCHEMA = """CREATE TABLE IF NOT EXISTS told (
    kind TEXT NOT NULL, digest TEXT NOT NULL, lead TEXT NOT NULL, PRIMARY KEY (kind, digest)) WITHOUT ROWID"""
_KIND = "list of released words"
_WORD, _NAME, _AGE = "word", "name", "age"
_LOG = logging.getLogger(__name__)


class ReleasedWords:
    """Digests of every word of a device's released texts, and the private names that were compared with them; raises
    StoreError where the file cannot be opened.

    What was released stays as it is while only names are learnt that it cannot hold, so that it need not be made anew
    for each of them. The file holds digests alone.

    Parameters
    ----------
    path
        The device's own file, beside what was released. Made anew, as it is where it was torn, it has an age that was
        never told before.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with making_in(path.parent.parent):  # within it a durable file takes its turn in its own folder
            try:
                self._file = DurableFile(path, _KIND, _SCHEMA)
            except StoreCorruptError:
                _LOG.warning("the %s was torn and is made anew", _KIND)
                for part in path.parent.glob(f"{path.name}*"):
                    part.unlink()
                self._file = DurableFile(path, _KIND, _SCHEMA)

    def add(self, words: Collection[str], known: Collection[str]) -> None:
        """Note the digests of words that leave (`known_names.lead_digests`).

        Parameters
        ----------
        words
            Of one release.
        known
            The names, by digest, that it was masked with. One that another process learnt and compared meanwhile may
            stand in it: then the age changes.
        """
        with self._file.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO told VALUES (?, ?, '')", [(_WORD, word) for word in words])
            compared = connection.execute("SELECT digest, lead FROM told WHERE kind = ?", (_NAME,)).fetchall()
            if any(lead in words and name not in known for name, lead in compared):
                _renew(connection)

    def age(self, names: Mapping[str, str]) -> str:
        """What changes as soon as a name is learnt of which the first word has left before.

        `names` are all private names: the digest of each, and that of its first word.
        """
        with self._file.writing() as connection:
            if new := names.keys() - _told(connection, _NAME):
                connection.executemany(
                    "INSERT INTO told VALUES (?, ?, ?)", [(_NAME, name, names[name]) for name in new]
                )
                if _told(connection, _WORD) & {names[name] for name in new}:
                    _renew(connection)
            found = connection.execute("SELECT digest FROM told WHERE kind = ?", (_AGE,)).fetchone()
            return str(found[0]) if found else _new_age(connection)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _told(connection: sqlite3.Connection, kind: str) -> set[str]:
    return {digest for (digest,) in connection.execute("SELECT digest FROM told WHERE kind = ?", (kind,))}


def _renew(connection: sqlite3.Connection) -> None:
    """Give another age: what had left until now is void, and its words are forgotten."""
    connection.execute("DELETE FROM told WHERE kind IN (?, ?)", (_WORD, _AGE))
    _new_age(connection)


def _new_age(connection: sqlite3.Connection) -> str:
    age = secrets.token_hex(8)
    connection.execute("INSERT INTO told VALUES (?, ?, '')", (_AGE, age))
    return age
