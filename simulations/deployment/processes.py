"""Processes of one experiment: started with a log each, and stopped by their ids with all that they started."""

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from fedrag_flwr.cli.flower import end_marked, marked

_MARK, _END = "FEDRAG_EXPERIMENT", ";"  # a variable of the environment, and what its value ends with
_PATIENCE = 10.0  # seconds between asking a process to stop and making it


class Processes:
    """A set of processes that ends with a ``with`` block, whatever happens in it.

    Flower starts further processes in sessions of their own, so process groups would miss some: every process inherits
    a mark in its environment, by which it is found.

    `logs`: the directory for their output.
    """

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self._mark = uuid.uuid4().hex
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        signal.signal(signal.SIGTERM, _leave)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave processes behind
        try:
            for process in self._running.values():
                process.terminate()  # all together: each takes its time
            for name in reversed(list(self._running)):
                self.stop(name)
            self._end()
        finally:
            signal.signal(signal.SIGINT, interrupted)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str], nice: int = 0) -> None:
        """Start a process at least so nice; what it says goes to ``<logs>/<name>.log``, after what was there before."""
        with self.log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                ["nice", "-n", str(max(0, nice - os.nice(0))), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**environment, _MARK: f"{self._mark}/{name}{_END}"},
                cwd=self.logs,
                start_new_session=True,
            )

    def stop(self, name: str) -> None:
        """Ask a process to stop, make it after some seconds, and kill what is left of all that it started."""
        process = self._running.pop(name)
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
        self._end(name)
        process.wait()

    def log(self, name: str) -> Path:
        """The log of a process."""
        return self.logs / f"{name}.log"

    def lines(self, name: str, *words: str) -> list[str]:
        """The lines of a process's log that hold one of some words."""
        text = self.log(name).read_text(encoding="utf-8", errors="replace") if self.log(name).exists() else ""
        return [line.strip() for line in text.splitlines() if any(word in line for word in words)]

    def wait_for(self, name: str, *words: str, seconds: float = 60.0) -> str:
        """Wait until a process has said one of some words, and give that line.

        Raises TimeoutError: it has not said so in time.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := self.lines(name, *words):
                return found[-1]
            time.sleep(0.2)
        raise TimeoutError(f"{name} has not said {' or '.join(words)} within {seconds:g} s: see {self.log(name)}")

    def marked(self, name: str = "") -> list[int]:
        """The ids of running processes that carry this experiment's mark; with a name, of that one and its children."""
        return marked(_MARK, f"{self._mark}/{name}{_END if name else ''}")

    def _end(self, name: str = "") -> None:
        """Kill what is left."""
        end_marked(_MARK, f"{self._mark}/{name}{_END if name else ''}", 0.0)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
