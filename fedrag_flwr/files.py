"""Files that are there whole or not at all, and are made by one process at a time; and those of fitted models."""

from __future__ import annotations

import fcntl
import io
import json
import logging
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fedrag_flwr.errors import FedragError, StoreCorruptError, StoreMismatchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOG = logging.getLogger(__name__)
_Model = TypeVar("_Model")


def replace_file(path: Path, body: bytes, mode: int = 0o600) -> None:
    """Put a file in place of an older one, if any, in one step that lasts; where it fails the older one stays.

    Its owner alone can read it, as it may hold what documents say, unless `mode` says otherwise.
    """
    with _written(path, body, mode) as fresh:
        fresh.replace(path)
    sync(path.parent)


def read_fitted(path: Path, model: Callable[[Any], _Model]) -> _Model:
    """Make a fitted model of the JSON in a file; raises StoreCorruptError where the file is missing or torn, or holds
    no such model.
    """
    try:
        return model(json.loads(path.read_bytes()))
    except StoreMismatchError:
        raise  # the model says so itself
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorruptError("it holds no such model", where=path.name, fix="fit it anew") from error


def write_private(path: Path, body: bytes) -> None:
    """Write a new file that its owner alone can read; raises FileExistsError where there is one already."""
    with _written(path, body, 0o600) as fresh:
        os.link(fresh, path)  # whole or not at all, and never over another


@contextmanager
def _written(path: Path, body: bytes, mode: int) -> Iterator[Path]:
    """A file beside the path that no other process or thread writes to, on the disk; it goes in the end."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as handle:
            handle.write(body)
            handle.flush()
            os.fsync(handle.fileno())
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)


def write_arrays(path: Path, key: str, **arrays: NDArray[Any]) -> None:
    """Write arrays by name, at once or not at all, under a key that says what they were made of."""
    import numpy as np

    body = io.BytesIO()
    named: dict[str, Any] = {"key": np.array(key), **arrays}
    np.savez(body, **named)
    replace_file(path, body.getvalue())


def read_arrays(path: Path, key: str) -> dict[str, NDArray[Any]]:
    """The arrays that `write_arrays` wrote under this key; raises StoreMismatchError where there are none, they are
    torn, or of another key.
    """
    import numpy as np

    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            found = {name: kept[name] for name in kept.files}
        if str(found.pop("key")) == key:
            return found
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _LOG.warning("%s is made anew: %s", path.name, error)
    raise StoreMismatchError("it holds nothing of these", where=path.name)


@contextmanager
def best_effort(path: Path) -> Iterator[None]:
    """Write a file that only saves time: where the disk does not take it, the log says so and all else goes on."""
    try:
        yield
    except FedragError:
        raise  # some of ours are also OSErrors
    except OSError as error:
        _LOG.warning("%s is not kept: %s", path.name, os.strerror(error.errno or 0))


@contextmanager
def making_in(folder: Path) -> Iterator[None]:
    """Make or open files in a folder while no other thread or process does that under this lock; waits for its turn."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Push a file's bytes, or a directory's entries, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
