"""SQLite's errors as our own."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedrag_flwr.errors import FedragError, StoreCorruptError, StoreError, StoreFullError, StoreLockedError

REBUILD = "build again with --rebuild, a simulation with --fresh"
TORN = (sqlite3.DatabaseError, UnicodeDecodeError)  # SQLite may name what is torn, and Python cannot read that name
_TORN_HEADER = frozenset({"unsupported file format"})  # SQLite's words: its code is that of any error in a statement
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # no room for this user


@contextmanager
def own_errors(where: Path, file: str, mend: str = REBUILD) -> Iterator[None]:
    """Turn SQLite's and the file system's errors about a file in a folder into our own, without any of its content;
    raises StoreError where in the place of any of these; errors of our own stay what they are.
    """
    name = f"{where.name}/{file}"
    try:
        yield
    except FedragError:
        raise  # some of ours are also OSErrors or ValueErrors
    except sqlite3.Error as error:
        raise _own_error(error, name, mend) from error
    except UnicodeDecodeError as error:
        raise StoreCorruptError("the file is torn", where=name, fix=mend) from error
    except UnicodeEncodeError:
        raise StoreError("a text is not valid Unicode", where=name, fix="remove lone surrogates") from None
    except OSError as error:
        if error.errno in FULL:
            raise _full(name) from error
        raise StoreError(
            f"the store's directory cannot be used: {os.strerror(error.errno or 0)}",
            where=name,
            fix="check that the directory exists and can be written",
        ) from error


def _full(name: str) -> StoreFullError:
    return StoreFullError(
        "cannot be written: the disk is full, over its quota or failing; nothing of this step was kept",
        where=name,
        fix="free some space and repeat the step",
    )


def _own_error(error: sqlite3.Error, name: str, mend: str) -> StoreError:
    undecodable = isinstance(error, sqlite3.OperationalError) and str(error).startswith("Could not decode")
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT if undecodable else sqlite3.SQLITE_ERROR)
    label = getattr(error, "sqlite_errorname", type(error).__name__)
    primary = code & 0xFF
    reading = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ}
    if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and code not in reading):
        return _full(name)
    torn = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_MISMATCH}
    if primary in torn or str(error) in _TORN_HEADER:
        return StoreCorruptError(f"the file is torn or is not a store ({label})", where=name, fix=mend)
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreLockedError("another process holds the file", where=name, fix="wait for it or end it")
    if primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}:
        return StoreError(f"the store cannot be written ({label})", where=name, fix="give this user write access")
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return StoreError(f"the change does not fit the store: {error}", where=name, fix="ids must be known and unique")
    return StoreError(f"SQLite refused the step ({label})", where=name)
