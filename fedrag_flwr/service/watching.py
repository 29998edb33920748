"""Documents that come, change or go while a service runs: its memory follows, and it says how far it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from watchfiles import Change, awatch

from fedrag_flwr.errors import FedragError, SourceError
from fedrag_flwr.files import replace_file
from fedrag_flwr.records import BuildReport, has_no_memory
from fedrag_flwr.service.metrics import told
from fedrag_flwr.sources.formats import ENDINGS

_LONGEST_NAME = 200  # bytes
_QUIET_MS = 500  # without a change before documents are read
_PATIENCE_MS = 5_000  # of changes that do not end
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the latest reading of the documents came to, for the people at the device."""

    state: str = "never"  # ``never``, ``reading``, ``done`` or ``failed``
    counts: dict[str, int] = field(default_factory=dict)  # of the latest report, and of documents without a memory
    failed: tuple[str, ...] = ()  # the documents that could not be read, with the reason
    what: str = ""  # why nothing could be read


@dataclass(slots=True, eq=False)
class Documents:
    """Reads a device's documents when it is told to; whoever tells it lets one reading end before the next."""

    build: Callable[[], BuildReport]  # brings the memory up to date
    reading: Reading = field(default_factory=Reading)

    def read(self) -> Reading:
        """Bring the memory up to date, and tell what that came to.

        What goes wrong is told, not raised: the memory is as it was before.
        """
        self.reading = Reading("reading")
        try:
            report = self.build()
        except FedragError as error:
            told("documents are not read", error=type(error).__name__)
            self.reading = Reading("failed", what=str(error))
        except Exception as error:  # the next change tries again; its text may quote a document
            _log.error("an unexpected error", exc_info=error)
            self.reading = Reading("failed", what="an unexpected error; see the service's log")
        else:
            unread = tuple(line for line in report.failed if not has_no_memory(line))
            counts = {name: getattr(report, name) for name in ("documents", "added", "changed", "removed")}
            counts["without memory"] = len(report.failed) - len(unread)
            told("documents are read", **counts, unread=len(unread), seconds=round(report.cost.seconds, 2))
            self.reading = Reading("done", counts, unread)
        return self.reading


def put_document(folder: Path | None, name: str, body: bytes) -> None:
    """Put a file into a device's folder of documents; raises SourceError where the device has no folder, the name is
    not one of a file that is read, or such a file is there.
    """
    if folder is None or not folder.is_dir():
        raise SourceError("this device has no folder of documents", where="upload", fix="give it a data-path")
    if not name.isprintable() or name.startswith(".") or Path(name).name != name or len(name.encode()) > _LONGEST_NAME:
        raise SourceError("that is no file name", where="upload", fix="use letters and digits")
    if Path(name).suffix.lower() not in ENDINGS:
        raise SourceError("files of that kind are not read", where="upload", fix=f"use {', '.join(ENDINGS)}")
    if (folder / name).exists():
        raise SourceError("a document of that name is there", where="upload", fix="give the file another name")
    try:
        replace_file(folder / name, body)
    except OSError as error:
        raise SourceError(f"the folder cannot be written ({type(error).__name__})", where="upload") from None


@asynccontextmanager
async def watched(folder: Path | None, read: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Read documents at once, and again after each change in their folder, until the block ends. Without a folder
    nothing is watched.
    """
    if folder is None:
        yield
        return
    ended = asyncio.Event()
    task = asyncio.create_task(_follow(folder, read, ended))
    try:
        yield
    finally:
        ended.set()
        await task


async def _follow(folder: Path, read: Callable[[], Awaitable[object]], ended: asyncio.Event) -> None:
    changes = awatch(folder, watch_filter=_is_shown, debounce=_PATIENCE_MS, step=_QUIET_MS, stop_event=ended)
    more = True
    while more:
        coming = asyncio.ensure_future(anext(changes, None))  # what changes while documents are read is not missed
        try:
            await read()  # at first: what came while no service ran
        except FedragError as error:  # the service is busy
            told("documents are not read", error=type(error).__name__)
        try:
            more = await coming is not None
        except OSError as error:
            told("documents are not watched", error=type(error).__name__)
            return


def _is_shown(_: Change, path: str) -> bool:
    return not Path(path).name.startswith(".")
