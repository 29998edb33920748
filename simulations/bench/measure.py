"""Seconds and memory."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def seconds_of(act: Callable[..., object], *given: Any) -> float:
    """How long something takes, by the clock."""
    start = time.perf_counter()
    act(*given)
    return time.perf_counter() - start


def memory_mb(what: str = "VmRSS") -> float:
    """The memory of this process in MB of 10^6 bytes, resident now, or the most since it was reset ("VmHWM")."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{what}:"))
