"""Child processes that are asked over pipes: framed bytes, never pickled; a deadline, and a new one after a crash."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from fedrag_flwr.errors import ProcessError


def peak_rss_mb() -> float:
    """Largest resident memory of this process so far, in MB of 10^6 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


_LENGTH = struct.Struct("<Q")
_MOST_FRAMES = 1_000_000
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def write_frames(stream: IO[bytes], frames: Sequence[bytes]) -> None:
    """Write a number of byte strings, each with its length before it."""
    stream.write(_LENGTH.pack(len(frames)))
    for frame in frames:
        stream.write(_LENGTH.pack(len(frame)))
        stream.write(frame)
    stream.flush()


def read_frames(stream: IO[bytes], most_bytes: int) -> list[bytes]:
    """Read what `write_frames` wrote; raises EOFError where the other side is gone and ValueError where it wrote more
    than `most_bytes`.
    """
    count = _number(stream)
    if count > _MOST_FRAMES:
        raise ValueError("too many frames")
    frames, left = [], most_bytes
    for _ in range(count):
        left -= (length := _number(stream))
        if left < 0:
            raise ValueError("the frames are too long")
        frames.append(_exactly(stream, length))
    return frames


def _number(stream: IO[bytes]) -> int:
    return int(_LENGTH.unpack(_exactly(stream, _LENGTH.size))[0])


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class Child:
    """A Python module that runs in a process of its own, started when it is first asked and again after it died.

    The module reads requests with `read_frames` from its standard input and writes replies to its standard output; it
    ends when its input does, so none outlives this process.

    Parameters
    ----------
    timeout
        Seconds until a request is given up and the process killed.
    most_bytes
        Of one reply.
    """

    def __init__(self, module: str, arguments: Sequence[str], timeout: float, most_bytes: int) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self._timeout = timeout
        self._most_bytes = most_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.starts = 0

    @property
    def pid(self) -> int:
        """The process's id; 0 where none runs."""
        return self._process.pid if self._process else 0

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def call(self, frames: Sequence[bytes]) -> list[bytes]:
        """Ask, and wait for the reply; raises ProcessError where the process died, wrote nonsense, or took too long;
        the next call starts a new one.
        """
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            guard = threading.Timer(self._timeout, process.kill)
            guard.start()
            try:
                write_frames(process.stdin, frames)
                return read_frames(process.stdout, self._most_bytes)
            except (OSError, EOFError, ValueError) as error:
                self._stop()
                raise ProcessError(
                    "the process that was asked died, or took too long", where=self._command[2], fix="ask again"
                ) from error
            except BaseException:  # interrupted: the reply to come would be taken for the next request's
                self._stop()
                raise
            finally:
                guard.cancel()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or not self.alive:
            self._stop()
            paths = os.pathsep.join(path for path in sys.path if path)
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # what it says may quote what it was given
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": paths},
            )
            self.starts += 1
        return self._process

    def _stop(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:  # what was not read by the dead process is of no use any more
                    continue


def private_streams() -> tuple[IO[bytes], IO[bytes]]:
    """A child's pipes to its parent, out of reach of libraries that print: their output goes to standard error."""
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return asked, told
