"""Work that waits for quiet: while nobody asks, the model writes memories of what the device has read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fedrag_flwr.errors import FedragError
from fedrag_flwr.service.metrics import told
from fedrag_flwr.service.routes import Routes

QUIET_SECONDS = 20.0  # without a request before the model writes
_LOOK_SECONDS = 1.0
_AFTER_ERROR = 600.0  # seconds until it is tried again
_log = logging.getLogger(__name__)


@asynccontextmanager
async def writing_in_quiet(routes: Routes) -> AsyncIterator[None]:
    """Let the model write memories whenever it has been quiet for a while, until the block ends."""
    if not routes.resident.writes_memories:
        yield
        return
    ended = asyncio.Event()
    task = asyncio.create_task(_write_in_quiet(routes, ended))
    try:
        yield
    finally:
        ended.set()
        await task


async def _write_in_quiet(routes: Routes, ended: asyncio.Event) -> None:
    finished, pause = -1, _LOOK_SECONDS  # the version of the memory to which nothing was to be added
    while not ended.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), pause)
        pause = _LOOK_SECONDS
        if ended.is_set() or min(queue.quiet for queue in routes.queues) < QUIET_SECONDS:
            continue
        try:
            finished = await _written(routes, ended, finished)
            if finished >= 0:
                pause = QUIET_SECONDS
        except FedragError as error:
            told("no memories are written", error=type(error).__name__)
            pause = _AFTER_ERROR
        except Exception as error:  # its text may quote a document
            _log.error("an unexpected error", exc_info=error)
            return


async def _written(routes: Routes, ended: asyncio.Event, finished: int) -> int:
    """Write until somebody asks, and give the version of the memory to which nothing is to be added, or -1."""
    resident = routes.resident
    version, _ = await asyncio.to_thread(resident.store_state)
    if version == finished:
        return finished

    def asked() -> bool:
        others = routes.asks.length + routes.messages.length + routes.writes.length - 1  # this is one itself
        return ended.is_set() or others > 0

    written = await routes.writes.run(lambda: resident.write_memories(asked), resident.config.service.message_seconds)
    if written.cost.llm_calls:
        told("memories are written", memories=written.memories, left=written.left, seconds=round(written.cost.seconds))
        return -1
    return version
