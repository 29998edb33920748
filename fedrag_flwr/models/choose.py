"""Which generator ``auto`` means: of the known ones at hand the largest that this machine answers with in time.

A model is tried once on a machine: whether its memory was free, and how long it takes for a usual prompt. What was
found is kept beside the models, so that all devices and runs of a machine have one answer. Nothing is downloaded.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from fedrag_flwr.errors import ModelError
from fedrag_flwr.files import replace_file
from fedrag_flwr.models.files import at_hand, cache_root, pull
from fedrag_flwr.models.llama import instructions
from fedrag_flwr.models.processor import has_instructions, processor_name
from fedrag_flwr.models.registry import DEFAULT_GENERATOR, GENERATORS, REGISTRY, ModelFile, known
from fedrag_flwr.records import Progress, silent

TRIALS = "trials.json"
_READ, _WRITTEN = 350, 16  # tokens of a usual prompt of the engine and of its answer
_CONTEXT = 512
_PATIENCE = 15.0  # seconds after which the rest of the time is reckoned
_BESIDE = 500_000_000  # bytes that the process needs beside the weights and what comes with them
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trial:
    """What was found of a model on a machine.

    `free` are the bytes of memory that were free, `needed` those that it takes; `seconds` is the time for a usual
    prompt, infinite where it was not or cannot be used.
    """

    needed: int
    free: int
    seconds: float = math.inf

    @property
    def fits(self) -> bool:
        """Whether there was memory enough."""
        return self.needed <= self.free


@dataclass(frozen=True, slots=True)
class Choice:
    """The name of a known model file, and why it was chosen."""

    name: str
    why: str


def meant_by_auto(
    *, threads: int = 1, gpu_layers: int = 0, seconds: float = 5.0, progress: Progress = silent
) -> Choice:
    """Choose the generator for this machine, and try what was not tried yet; the default one where none is at hand.

    Parameters
    ----------
    seconds
        In which it has to read and answer a usual prompt.
    """

    def form(name: str) -> str:
        return name if gpu_layers else form_for_machine(name, progress)  # tiles are the processor's

    smallest, *larger = [name for name in GENERATORS if _is_here(name)] or [""]
    if not smallest:
        return Choice(form(DEFAULT_GENERATOR), "none is at hand yet; it is fetched when it is first asked")
    return pick(form(smallest), [(name, _tried(name, threads, gpu_layers)) for name in map(form, larger)], seconds)


def pick(smallest: str, larger: Sequence[tuple[str, Trial]], seconds: float) -> Choice:
    """Of some models, in the order of their size, the largest that fitted and is quick enough, else the smallest."""
    against = []
    for name, trial in reversed(larger):
        if not trial.fits:
            against.append(f"{name} needs {trial.needed / 1e9:.1f} GB of memory, {trial.free / 1e9:.1f} were free")
        elif trial.seconds == math.inf:
            against.append(f"{name} cannot be loaded")
        elif trial.seconds > seconds:
            against.append(f"{name} takes {trial.seconds:.1f} s for a usual prompt, more than {seconds:g}")
        else:
            return Choice(name, f"takes {trial.seconds:.1f} s for a usual prompt, at most {seconds:g}")
    return Choice(smallest, "; ".join(against) or "no larger one is at hand")


def form_for_machine(name: str, progress: Progress = silent) -> str:
    """The name of a model's 8-bit copy where matrix tiles multiply that faster, else the model's own.

    The copy is written where only the model is at hand, which needs no network.
    """
    copy = _faster_copy(name)
    if copy is None:
        return name
    if not _is_here(name):
        return copy.name if Trial(memory_needed(copy), free_memory()).fits else name

    def write() -> float:
        pull(copy.name, progress)
        return 0.0

    trial = kept(f"{copy.sha256[:12]} {processor_name()}", memory_needed(copy), write)
    return copy.name if trial.fits and trial.seconds < math.inf else name


def memory_needed(model: ModelFile) -> int:
    """Bytes of memory that a generator takes; for matrix tiles 8-bit weights are there a second time, rearranged."""
    return int(model.size * (2.0 if model.made_from else 1.3)) + _BESIDE


def free_memory() -> int:
    """Bytes of memory that are free or can be freed; without end where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        names = ("SC_AVPHYS_PAGES", "SC_PAGE_SIZE")
        told = [os.sysconf(name) for name in names if name in getattr(os, "sysconf_names", ())]
        return math.prod(told) if len(told) == len(names) else sys.maxsize


@cache
def has_tiles() -> bool:
    """Whether the processor has matrix tiles (AMX), and llama.cpp's code for it uses them."""
    if not has_instructions("amx_int8"):  # llama.cpp takes a moment to load
        return False
    try:
        return "AMX_INT8" in instructions().split(", ")
    except ModelError:
        return False


def _faster_copy(name: str) -> ModelFile | None:
    copy = next((model for model in REGISTRY.values() if model.made_from == name), None)
    return copy if copy is not None and has_tiles() else None


def _is_here(name: str) -> bool:
    copy = _faster_copy(name)
    return at_hand(name) or (copy is not None and at_hand(copy.name))


def _tried(name: str, threads: int, gpu_layers: int) -> Trial:
    """How long a model takes to read and answer a usual prompt once it is loaded, measured once on a machine."""
    from fedrag_flwr.models.llama import LlamaEngine

    model = known(name)

    def measure() -> float:
        path = cache_root() / model.file
        with closing(LlamaEngine(path, context_tokens=_CONTEXT, threads=threads, gpu_layers=gpu_layers)) as engine:
            tokens = engine.tokenize("word " * _READ)[:_READ]
            engine.extend(tokens[:2], 0)  # brings the weights into memory
            engine.clear()
            start = time.perf_counter()
            for first in range(0, len(tokens), engine.batch_tokens):
                block = tokens[first : first + engine.batch_tokens]
                engine.extend(block, first)
                seconds = time.perf_counter() - start
                if seconds > _PATIENCE:
                    return seconds * len(tokens) / (first + len(block))
            for position in range(len(tokens), len(tokens) + _WRITTEN):
                engine.step(tokens[:1], [position], [0])
            return time.perf_counter() - start

    key = f"{model.sha256[:12]} {processor_name()} threads={threads} gpu={gpu_layers}"
    return kept(key, memory_needed(model), measure)


def kept(key: str, needed: int, attempt: Callable[[], float]) -> Trial:
    """Give what was found under a key before; else try now, one process at a time, and keep it."""
    from filelock import FileLock

    path = cache_root() / TRIALS
    if (trial := _read(path).get(key)) is not None:
        return trial
    try:
        with FileLock(path.with_name(f"{TRIALS}.lock")):
            trials = _read(path)
            if (trial := trials.get(key)) is None:
                trial = _try(key, needed, attempt)
                body = {name: asdict(one) for name, one in (trials | {key: trial}).items()}
                replace_file(path, json.dumps(body, indent=1).encode(), 0o644)
            return trial
    except OSError as error:  # a cache that cannot be written costs another trial the next time
        _log.warning("what was found of the generators is not kept: %s", os.strerror(error.errno or 0))
        return trial or _try(key, needed, attempt)


def _try(key: str, needed: int, attempt: Callable[[], float]) -> Trial:
    trial = Trial(needed, free_memory())
    if not trial.fits:
        return trial
    try:
        return Trial(needed, trial.free, attempt())
    except ModelError as error:
        _log.warning("a generator cannot be used (%s): %s", key, error.what)
        return trial


def _read(path: Path) -> dict[str, Trial]:
    try:
        return {key: Trial(**fields) for key, fields in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):  # absent, or not ours: everything is tried anew
        return {}
