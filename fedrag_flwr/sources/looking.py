"""Looking at places: one that nobody may look at is not one where nothing is."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fedrag_flwr.errors import FedragError, SourceError

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})

T = TypeVar("T")


def looked_at(path: Path, look: Callable[[Path], T], absent: T, kind: type[FedragError] = SourceError) -> T:
    """Give what a look at a path tells, and `absent` where nothing is there.

    Raises
    ------
    SourceError
        Nobody may look: a folder above it may not be entered, or the disk fails. Another `kind` of error where one is
        given.
    """
    try:
        return look(path)
    except ValueError:  # nothing can be called so
        return absent
    except OSError as error:
        if error.errno in _ABSENT:
            return absent
        raise kind(
            f"cannot be looked at ({error.strerror})",
            where=path.name,
            fix="let this user into the folders above it (for a unit: BindReadOnlyPaths=), then restart its service",
        ) from None


def mode_of(path: Path, kind: type[FedragError] = SourceError) -> int:
    """Give the mode of what a path leads to, 0 where nothing is there; raises as `looked_at`."""
    return looked_at(path, lambda one: one.stat().st_mode, 0, kind)
