"""SHA-256 of model files, remembered beside them so that later opens are quick."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from fedrag_flwr.records import Progress, silent

_CHUNK = 1 << 22
_log = logging.getLogger(__name__)


def cache_root() -> Path:
    """Directory of the downloaded model files: ``$FEDRAG_HOME/models``, by default under ``~/.cache/fedrag``."""
    home = os.environ.get("FEDRAG_HOME")
    return (Path(home).expanduser() if home else Path.home() / ".cache" / "fedrag") / "models"


def file_sha256(path: Path, *, fresh: bool = False, progress: Progress = silent) -> str:
    """Give a file's SHA-256 in hex, from its stamp while size and modification time still agree.

    Parameters
    ----------
    path
        The file.
    fresh
        Read the file again even if its stamp agrees.
    progress
        Told the bytes read so far and in all.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    stat = path.stat()
    state = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    if not fresh and (known := _read_stamp(path)) and all(known.get(key) == value for key, value in state.items()):
        return str(known["sha256"])
    digest = _digest(path, stat.st_size, progress)
    _write_stamp(path, state | {"sha256": digest})
    return digest


def files_sha256(paths: Iterable[Path]) -> str:
    """Give one SHA-256 for several files: the file's own for one, of the joined digests for more."""
    digests = [file_sha256(path) for path in sorted(paths)]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def forget(path: Path) -> None:
    """Remove a file's stamp."""
    _stamp_path(path).unlink(missing_ok=True)


def _digest(path: Path, size: int, progress: Progress) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
            done += len(block)
            progress("verify", done, size)
    return digest.hexdigest()


def _stamp_path(path: Path) -> Path:
    """Beside the file in the model cache; elsewhere nothing is written, so the stamp goes to the cache."""
    if path.parent == cache_root():
        return path.with_name(path.name + ".sha256")
    return cache_root() / "stamps" / (hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32] + ".sha256")


def _read_stamp(path: Path) -> dict[str, object] | None:
    try:
        known = json.loads(_stamp_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) and isinstance(known.get("sha256"), str) else None


def _write_stamp(path: Path, content: dict[str, object]) -> None:
    stamp = _stamp_path(path)
    draft = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(content), encoding="utf-8")
        os.replace(draft, stamp)
    except OSError as error:  # a read-only cache only costs a second hash next time
        _log.debug("no stamp for %s: %s", path.name, error.strerror)
