"""The latest reading of a source, kept while nothing changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """One value, made anew when what it was made of has changed; safe under threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: tuple[T] | None = None
        self._stamp = ""
        self._made_at = 0.0

    def get(self, stamp: str, most_age: float, make: Callable[[], T]) -> T:
        """Give the value.

        Parameters
        ----------
        stamp
            What the source tells while nothing changes, asked before; "" where it tells nothing.
        most_age
            Without a stamp, how many seconds the value holds.
        make
            Makes it.
        """
        with self._lock:
            age = time.monotonic() - self._made_at
            if self._value is None or (stamp != self._stamp if stamp else age >= most_age):
                self._value = (make(),)
                self._stamp, self._made_at = stamp, time.monotonic()
            return self._value[0]
