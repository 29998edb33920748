"""Progress of long work as lines that a person can read and another process can follow."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_LINE = re.compile(r"progress: (?P<system>\S+) (?P<phase>\S+) (?P<done>\d+)/(?P<total>\d+) (?P<left>\S+) s left")


@dataclass(frozen=True, slots=True)
class Step:
    """How far a phase of a system is; `left` is a guess of the seconds left, or "?"."""

    system: str
    phase: str
    done: int
    total: int
    left: str

    def __str__(self) -> str:
        return f"progress: {self.system} {self.phase} {self.done}/{self.total} {self.left} s left"


def read_step(line: str) -> Step | None:
    """Read a step out of a line of a log; None for any other line."""
    found = _LINE.search(line)
    if found is None:
        return None
    return Step(found["system"], found["phase"], int(found["done"]), int(found["total"]), found["left"])


@dataclass(slots=True)
class Pace:
    """A `Progress` that tells each step with a guess of the seconds left, from the pace so far."""

    system: str  # what the work belongs to
    tell: Callable[[Step], None]  # takes each step
    clock: Callable[[], float] = time.monotonic  # seconds
    every: float = 0.0  # seconds between two steps that are told; the end of a phase always is
    told: float = float("-inf")
    started: dict[str, float] = field(default_factory=dict)

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Tell one step."""
        now = self.clock()
        start = self.started.setdefault(phase, now) if done else now
        self.started[phase] = start
        if done < total and now - self.told < self.every:
            return
        self.told = now
        left = f"{(now - start) / done * (total - done):.0f}" if done else "?"
        self.tell(Step(self.system, phase, done, total, left))
