"""A device kept open, once for each set of settings under which it is asked lately."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError
from fedrag_flwr.memory.store.database import FILE
from fedrag_flwr.settings import Settings

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Kept:
    device: EdgeDevice
    file: tuple[int, int]  # of the store when it was opened: one that was erased and made anew is another
    users: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenDevices:
    """The open devices; beyond `most` the one goes first that was used least recently, and none that is in use."""

    root: Path  # where the store is
    opener: Callable[[Settings], EdgeDevice]  # opens the device under some settings
    most: int  # how many stay open
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _kept: OrderedDict[Settings, _Kept] = field(init=False, default_factory=OrderedDict)
    _retired: list[_Kept] = field(init=False, default_factory=list)  # closed as soon as nobody uses them

    @contextmanager
    def device(self, settings: Settings) -> Iterator[EdgeDevice]:
        """The device under these settings, for as long as it is used; raises as `EdgeDevice` does."""
        with self._lock:
            kept = self._taken(settings)
        try:
            yield kept.device
        finally:
            with self._lock:
                kept.users -= 1
                self._close_idle()

    def retire(self) -> None:
        """Open the device anew from now on: what open ones have read may have changed."""
        with self._lock:
            self._retired.extend(self._kept.values())
            self._kept.clear()
            self._close_idle()

    def close(self) -> None:
        """Close the device; nobody may use it any more."""
        with self._lock, ExitStack() as closing:
            for kept in (*self._kept.values(), *self._retired):
                closing.callback(kept.device.close)
            self._kept.clear()
            self._retired.clear()

    def _taken(self, settings: Settings) -> _Kept:
        kept = self._kept.pop(settings, None)
        if kept is not None and kept.file != self._file():
            self._retired.append(kept)
            kept = None
        if kept is None:
            device = self.opener(settings)
            kept = _Kept(device, self._file())
        kept.users += 1
        self._kept[settings] = kept
        self._close_idle()
        return kept

    def _close_idle(self) -> None:
        """What one cannot write as it closes is no error of whoever used another, or this one, last."""
        idle = [settings for settings, kept in self._kept.items() if not kept.users]
        for settings in idle[: max(0, len(self._kept) - self.most)]:
            self._retired.append(self._kept.pop(settings))
        for kept in [kept for kept in self._retired if not kept.users]:
            self._retired.remove(kept)
            try:
                kept.device.close()
            except FedragError as error:
                _log.warning("a device did not close well: %s", error)

    def _file(self) -> tuple[int, int]:
        try:
            found = (self.root / FILE).stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_dev, found.st_ino
