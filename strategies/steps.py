"""Numbers for a run's requests, by which a device tells a message that comes again from a new one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


def steps(clock: Callable[[], float] = time.time) -> Iterator[int]:
    """Give ever higher numbers: the present in microseconds, or one more than the last where that is higher.

    So two series of one run may take turns, and a server that starts anew goes on above what it used; a clock that is
    set back changes nothing within a series.

    Parameters
    ----------
    clock
        Seconds since the epoch.
    """
    last = 0
    while True:
        last = max(last + 1, int(clock() * 1e6))
        yield last
