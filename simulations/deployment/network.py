"""Hosts of one's own on one machine: network namespaces on a bridge, whose cables can be pulled or made slow.

Needs root and the ``ip`` command. A host has one interface, ``eth0``: a virtual cable to the bridge, or the end of a
:mod:`simulations.deployment.slow_link`, which works where the kernel has no ``sch_netem``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from simulations.deployment.federation import Place
from simulations.deployment.processes import Processes

_NETWORK = "10.77.0"
_INTERFACES = Path("/sys/class/net")


class Network:
    """A bridge with hosts; it is taken down with the ``with`` block.

    Parameters
    ----------
    hosts
        Their names.
    slow
        The hosts whose link is slow.
    delay, loss
        Of a slow link in each direction: seconds, and the share of frames that get lost.
    logs
        The directory for what the slow links say.
    """

    def __init__(
        self, hosts: Sequence[str], logs: Path, slow: Sequence[str] = (), delay: float = 0.2, loss: float = 0.05
    ) -> None:
        self._tag = f"fr{os.getpid() % 100_000}"
        self._numbers = {host: number for number, host in enumerate(hosts, 2)}
        self._slow = dict.fromkeys(slow, (delay, loss))
        self._processes = Processes(logs)

    def __enter__(self) -> Self:
        self._processes.__enter__()
        try:
            _ip("link", "add", self._bridge, "type", "bridge")
            _ip("address", "add", f"{self.server.address}/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            for host in self._numbers:
                self._add(host)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.__exit__(kind, error, trace)
        for host in self._numbers:
            if (_INTERFACES / self._port(host)).exists():  # its other end goes with it
                _ip("link", "delete", self._port(host))
            if (Path("/run/netns") / self._space(host)).exists():
                _ip("netns", "delete", self._space(host))
        if (_INTERFACES / self._bridge).exists():
            _ip("link", "delete", self._bridge)

    @property
    def server(self) -> Place:
        """The machine itself, as hosts reach it."""
        return Place(f"{_NETWORK}.1")

    def place(self, host: str) -> Place:
        """A host: its address, and how a command is run there."""
        return Place(f"{_NETWORK}.{self._numbers[host]}", ("ip", "netns", "exec", self._space(host)))

    def cut(self, host: str) -> None:
        """Pull a host's cable: what is under way is lost, and nobody is told."""
        _ip("link", "set", self._port(host), "down")

    def mend(self, host: str) -> None:
        """Plug a host's cable in again."""
        _ip("link", "set", self._port(host), "up")

    def _add(self, host: str) -> None:
        space, port, inner = self._space(host), self._port(host), f"{self._tag}i{self._numbers[host]}"
        _ip("netns", "add", space)
        if host in self._slow:
            delay, loss = self._slow[host]
            command = [sys.executable, "-m", "simulations.deployment.slow_link", inner, port, str(delay), str(loss)]
            self._processes.start(f"slow-link-{host}", command, os.environ)
            _wait_for(inner, port)
        else:
            _ip("link", "add", port, "type", "veth", "peer", "name", inner)
        _ip("link", "set", inner, "netns", space)
        for words in (
            ("link", "set", inner, "name", "eth0"),
            ("address", "add", f"{self.place(host).address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-netns", space, *words)
        _ip("link", "set", port, "master", self._bridge, "up")

    @property
    def _bridge(self) -> str:
        return f"{self._tag}b"

    def _space(self, host: str) -> str:
        return f"{self._tag}-{host}"

    def _port(self, host: str) -> str:
        return f"{self._tag}p{self._numbers[host]}"


def _ip(*words: str) -> None:
    told = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if told.returncode:
        raise OSError(f"ip {' '.join(words)}: {told.stderr.strip()}")


def _wait_for(*interfaces: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not all((_INTERFACES / name).exists() for name in interfaces):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{', '.join(interfaces)} did not appear: see the log of the slow link")
        time.sleep(0.05)
