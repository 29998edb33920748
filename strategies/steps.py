"""Numbers for a run's requests, by which a device tells a message that comes again from a new one."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator


def steps(clock: Callable[[], float] = time.time) -> Iterator[int]:
    """Count up from the present, in microseconds: a server that starts anew in a run goes on above what it used.

    Parameters
    ----------
    clock
        Seconds since the epoch; only looked at once, so that a clock set back in a run changes nothing.
    """
    return itertools.count(max(1, int(clock() * 1e6)))
