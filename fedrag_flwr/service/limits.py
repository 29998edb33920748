"""How often one caller may send: a bucket of tokens each, which fills at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict

from fedrag_flwr.records import Clock


class RateLimit:
    """Buckets by caller; of too many callers the one that sent nothing for longest is forgotten.

    Parameters
    ----------
    rate
        Requests a second that a caller may send for long.
    burst
        Requests that it may send at once.
    clock
        Seconds.
    most
        Callers that are remembered.
    """

    def __init__(self, rate: float, burst: int, clock: Clock = time.monotonic, most: int = 1_024) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._most = most
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def wait(self, caller: str) -> float:
        """Seconds until this caller may send; 0.0: it may now, and that is counted."""
        now = self._clock()
        tokens, then = self._buckets.pop(caller, (float(self._burst), now))
        tokens = min(float(self._burst), tokens + (now - then) * self._rate)
        allowed = tokens >= 1.0
        self._buckets[caller] = (tokens - 1.0 if allowed else tokens, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - tokens) / self._rate
