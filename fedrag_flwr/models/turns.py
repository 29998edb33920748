"""A lock that is handed on in the order in which it was asked for."""

from __future__ import annotations

import threading
import time
from collections import deque


class Turns:
    """Who holds a model, and who comes next.

    A plain lock may be taken again by the thread that has just given it back: a build that encodes batch after batch
    would keep everybody else waiting until it is done.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False
        self._since = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """For how long it was held, in all."""
        return self._seconds

    def __enter__(self) -> None:
        with self._guard:
            mine = self._ticket() if self._held else None
            self._held = True
        if mine is not None:
            try:
                mine.acquire()  # opened by whoever had the turn before
            except BaseException:  # an interrupt
                self._leave(mine)
                raise
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds += time.perf_counter() - self._since
        with self._guard:
            self._hand_on()

    def _leave(self, ticket: threading.Lock) -> None:
        """Wait no longer; a turn that has come meanwhile goes to the next."""
        with self._guard:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            else:
                self._hand_on()

    def _hand_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().release()
        else:
            self._held = False

    def _ticket(self) -> threading.Lock:
        ticket = threading.Lock()
        ticket.acquire()
        self._waiting.append(ticket)
        return ticket
