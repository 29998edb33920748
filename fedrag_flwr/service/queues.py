"""Queues before threads: what is asked of a device waits its turn, and what would wait too long is refused."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fedrag_flwr.errors import ServiceBusyError, ServiceError

T = TypeVar("T")


class DeadlineError(ServiceError, TimeoutError):
    """A request took longer than it may; what had begun goes on to its end."""


class RequestQueue:
    """Some threads with a bounded queue before them."""

    def __init__(self, name: str, threads: int, most: int) -> None:
        self.name = name
        self._most = most
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._length = 0
        self._last = time.monotonic()
        self._closed = False

    @property
    def length(self) -> int:
        """How many wait or are worked on."""
        return self._length

    @property
    def quiet(self) -> float:
        """For how many seconds nothing has come, waited or been worked on."""
        return 0.0 if self._length else time.monotonic() - self._last

    async def run(self, act: Callable[[], T], seconds: float) -> T:
        """Do something in this queue; raises ServiceBusyError where the queue is full, or the service is about to end,
        and DeadlineError where it is not done after so many seconds; what has not begun by then never begins.
        """
        future = self._enter(act)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError:
            raise DeadlineError(f"not done within {seconds:g} s", where=self.name, fix="ask again later") from None

    def close(self) -> None:
        """Take nothing new, and wait for what is being worked on."""
        self._closed = True
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _enter(self, act: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._closed or self._length >= self._most:
                what = "the service is about to end" if self._closed else f"{self._length} requests wait already"
                raise ServiceBusyError(what, where=self.name, fix="try again later", seconds=1)
            self._length += 1
            self._last = time.monotonic()
        future = self._pool.submit(act)
        future.add_done_callback(self._leave)
        return future

    def _leave(self, _: Future[T]) -> None:
        with self._lock:
            self._length -= 1
            self._last = time.monotonic()
