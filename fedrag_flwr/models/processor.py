"""The processor at hand: its name and its instructions, by which weights and number formats are chosen."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path


@cache
def processor_name() -> str:
    """The processor's name, as the system tells it."""
    return _told().get("model name") or platform.processor() or platform.machine()


def has_instructions(*names: str) -> bool:
    """Whether the processor has all of some instructions; False where the system does not tell."""
    told = _told()
    return set(names) <= set(told.get("flags", told.get("features", "")).split())


@cache
def _told() -> dict[str, str]:
    """What Linux tells of the first processor."""
    try:
        first, _, _ = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")
    except OSError:
        return {}
    fields = (line.partition(":") for line in first.splitlines())
    return {name.strip().casefold(): value.strip() for name, _, value in fields}
