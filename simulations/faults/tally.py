"""How attempts ended: right, with an error of our own, or in a crash; and a process in which something may fail."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fedrag_flwr.errors import FedragError
from fedrag_flwr.handling import place_of
from simulations.bench.kept_rows import Row


@dataclass(slots=True)
class Tally:
    """Counts of attempts."""

    right: int = 0  # those after which all is as if nothing had gone wrong
    # those that one of our errors ended, and those that ended otherwise, by what was said
    ours: Counter[str] = field(default_factory=Counter)
    crashes: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)  # what else is worth a count

    def attempts(self, count: int, act: Callable[[], str | None]) -> Tally:
        """Attempt something so many times."""
        for _ in range(count):
            self.attempt(act)
        return self

    def attempt(self, act: Callable[[], str | None]) -> None:
        """Count how something ends; what it returns names an error of ours that it was told of."""
        try:
            said = act()
        except FedragError as error:
            said = type(error).__name__
        except Exception as error:
            self.crashes[f"{type(error).__name__} at {place_of(error)}: {error}"[:200]] += 1
            return
        if said:
            self.ours[said] += 1
        else:
            self.right += 1

    def row(self) -> Row:
        """The counts as a row of a table."""
        told = self.seen + self.ours + self.crashes
        counts = {"right": self.right, "errors of ours": self.ours.total(), "crashes": self.crashes.total()}
        notes = ", ".join(f"{name} {count:,}" for name, count in told.most_common())
        return {"tried": sum(counts.values()), **counts, "what was seen": notes}


@contextmanager
def forked(act: Callable[[], object]) -> Iterator[int]:
    """Do something in a fork of this process, which has the models that are loaded here; it is killed in the end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    try:
        yield child
    finally:
        try:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # it has been waited for


def in_child(act: Callable[[], object], kill_after: float | None = None) -> int:
    """Do something in a fork, killed after so many seconds if at all; gives its exit code, negative where killed."""
    with forked(act) as child:
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
