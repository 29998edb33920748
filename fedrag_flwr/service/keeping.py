"""A device kept open, once for each set of settings that asks for it lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.memory.database import FILE
from fedrag_flwr.settings import Settings

Opener = Callable[[Settings], EdgeDevice]


@dataclass(slots=True)
class _Kept:
    device: EdgeDevice
    file: tuple[int, int]  # of the store when it was opened: one that was erased and made anew is another
    users: int = 0


class OpenDevices:
    """The open devices; of those that nobody uses the least recently used one goes first.

    Parameters
    ----------
    root
        Where the store is.
    opener
        Opens the device under some settings.
    most
        How many to keep open.
    """

    def __init__(self, root: Path, opener: Opener, most: int) -> None:
        self._root = root
        self._opener = opener
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Settings, _Kept] = OrderedDict()
        self._left: list[_Kept] = []  # of stores that are gone, while somebody still uses them

    @contextmanager
    def device(self, settings: Settings) -> Iterator[EdgeDevice]:
        """The device under these settings, for as long as it is used; raises as `EdgeDevice` does."""
        kept = self._taken(settings)
        try:
            yield kept.device
        finally:
            self._give_back(kept)

    def close(self) -> None:
        """Close all devices; nobody may use one any more."""
        with self._lock:
            for kept in (*self._kept.values(), *self._left):
                kept.device.close()
            self._kept.clear()
            self._left.clear()

    def _taken(self, settings: Settings) -> _Kept:
        with self._lock:
            kept = self._kept.pop(settings, None)
            if kept is not None and kept.file != self._file():
                self._left.append(kept)
                kept = None
            if kept is None:
                kept = _Kept(self._opener(settings), self._file())
            kept.users += 1
            self._kept[settings] = kept
            self._close_idle()
            return kept

    def _give_back(self, kept: _Kept) -> None:
        with self._lock:
            kept.users -= 1
            self._close_idle()

    def _close_idle(self) -> None:
        for gone in [one for one in self._left if not one.users]:
            self._left.remove(gone)
            gone.device.close()
        for settings in [settings for settings, one in self._kept.items() if not one.users]:
            if len(self._kept) > self._most:
                self._kept.pop(settings).device.close()

    def _file(self) -> tuple[int, int]:
        try:
            found = (self._root / FILE).stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_dev, found.st_ino
