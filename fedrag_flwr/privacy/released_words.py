"""Whether a name that is learnt now may stand in what has left already: the words that left, by their digests."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.privacy.durable import DurableFile

_SCHEMA = """CREATE TABLE IF NOT EXISTS told (
    kind TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (kind, digest)) WITHOUT ROWID"""
_KIND = "list of released words"
_WORD, _NAME, _AGE = "word", "name", "age"
_LOG = logging.getLogger(__name__)


class ReleasedWords:
    """Digests of every word of a device's released texts, and the private names that were compared with them.

    What was released stays as it is while only names are learnt that it cannot hold, so that it need not be made anew
    for each of them. The file holds digests alone.

    Parameters
    ----------
    path
        The device's own file, beside what was released. Made anew, as it is where it was torn, it has an age that was
        never told before.

    Raises
    ------
    StoreError
        If the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = DurableFile(path, _KIND, _SCHEMA, 1)
        except StoreCorruptError:
            _LOG.warning("the %s was torn and is made anew", _KIND)
            for part in path.parent.glob(f"{path.name}*"):
                part.unlink()
            self._file = DurableFile(path, _KIND, _SCHEMA, 1)

    def add(self, words: Iterable[str]) -> None:
        """Note the digests of words that leave (`known_names.first_words`)."""
        with self._file.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO told VALUES (?, ?)", [(_WORD, word) for word in set(words)])

    def age(self, names: Mapping[str, str]) -> str:
        """What changes as soon as a name is learnt of which the first word has left before.

        Parameters
        ----------
        names
            All private names: the digest of each, and that of its first word.
        """
        with self._file.writing() as connection:
            kinds = dict(connection.execute("SELECT kind, COUNT(*) FROM told GROUP BY kind").fetchall())
            if kinds.get(_AGE) and kinds.get(_NAME, 0) == len(names):  # names are never forgotten
                (age,) = connection.execute("SELECT digest FROM told WHERE kind = ?", (_AGE,)).fetchone()
                return str(age)
            told: dict[str, set[str]] = {_WORD: set(), _NAME: set(), _AGE: set()}
            for kind, digest in connection.execute("SELECT kind, digest FROM told"):
                told[kind].add(digest)
            new = names.keys() - told[_NAME]
            connection.executemany("INSERT INTO told VALUES (?, ?)", [(_NAME, name) for name in new])
            held = any(names[name] in told[_WORD] for name in new)
            if told[_AGE] and not held:
                return next(iter(told[_AGE]))
            if held:  # what had left is void now
                connection.execute("DELETE FROM told WHERE kind IN (?, ?)", (_WORD, _AGE))
            age = secrets.token_hex(8)
            connection.execute("INSERT INTO told VALUES (?, ?)", (_AGE, age))
            return age

    def close(self) -> None:
        """Close the file."""
        self._file.close()
