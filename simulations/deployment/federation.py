"""A federation of processes: one SuperLink and a SuperNode, with or without a resident service, for each device."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from fedrag_flwr.cli.flower import Flower
from fedrag_flwr.device_files import DeviceFiles, Link, public_half, supernode_command
from fedrag_flwr.evaluation.results import ANSWERS, SUMMARY, read_answers, read_summary
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.scoring import SystemResult
from fedrag_flwr.settings import Plain
from simulations.deployment.processes import Processes

APP = Path(__file__).resolve().parents[2]
CERTIFICATES = APP / "deploy" / "certificates.sh"
SUPERLINK = "superlink"
CONNECTION = "deployment"
_NICE = 10


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its id, its status, the seconds it took, and the folder of its results."""

    run_id: str
    status: str
    seconds: float
    results: Path
    log: tuple[str, ...] = field(repr=False, default=())

    @property
    def answers(self) -> list[AnswerRow]:
        """The answers as they lie in the results; empty where the run brought none."""
        return read_answers(self.results) if (self.results / ANSWERS).exists() else []

    def system(self, strategy: str) -> SystemResult | None:
        """What the results say of a strategy; None where the run brought none."""
        return read_summary(self.results).systems[strategy] if (self.results / SUMMARY).exists() else None


class Deployment:
    """A federation with TLS and node keys, all of it in one directory; it ends with the ``with`` block.

    `root`: an empty directory: certificates, logs, results, and a home for the server and for each device; `devices`:
    the node config of each device, by name; `service`: give each device its resident service.
    """

    def __init__(self, root: Path, devices: Mapping[str, Mapping[str, Plain]], *, service: bool = False) -> None:
        self.root = root
        self.devices = devices
        self.processes = Processes(root / "logs")
        self.flower = Flower(root / "operator", CONNECTION)
        self.address = f"127.0.0.1:{free_port()}"
        self._service = service

    def __enter__(self) -> Self:
        self.processes.__enter__()
        try:
            self._start()
        except BaseException:
            self.processes.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.processes.__exit__(kind, error, trace)

    @property
    def authority(self) -> Path:
        """The certificate of the federation's authority."""
        return self.root / "certificates" / "ca.crt"

    def run(self, config: Mapping[str, Plain]) -> Run:
        """Run the app with settings that differ from its defaults, to its end, and read its status from Flower."""
        results, start = self.root / "results", time.monotonic()
        lines: list[str] = []
        own: dict[str, Plain] = {"results": str(results)}
        run_id, status = self.flower.run(APP, {**own, **config}, None, lines.append)
        return Run(run_id, status, time.monotonic() - start, results / run_id, tuple(lines))

    def link(self) -> Link:
        """How a device of this federation reaches the SuperLink."""
        return Link(self.address, self.authority, free_port())

    def home(self, name: str) -> Path:
        """The home of a device, as on a machine of its own."""
        return self.root / "hosts" / name

    def files(self, name: str) -> DeviceFiles:
        """The files of a device."""
        return DeviceFiles(self.home(name) / "devices" / "local" / name)

    def environment(self, home: Path) -> dict[str, str]:
        """The environment of a process at a host."""
        return {
            **self.flower.environment,
            "FEDRAG_HOME": str(home),
            "FLWR_HOME": str(home / "flwr"),
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.25",
            "OMP_NUM_THREADS": "1",
        }

    def _start(self) -> None:
        names = ("localhost", "127.0.0.1")
        subprocess.run([str(CERTIFICATES), str(self.authority.parent), *names], check=True, stdout=subprocess.DEVNULL)
        connection = f'[superlink.{CONNECTION}]\naddress = "{self.address}"\nroot-certificates = "{self.authority}"\n'
        (self.root / "operator" / "flwr").mkdir(parents=True)
        (self.root / "operator" / "flwr" / "config.toml").write_text(connection, encoding="utf-8")
        self._start_superlink()
        for name, config in self.devices.items():
            files = self.files(name)
            files.create({"device-name": name, **config}, self.link())
            self.flower.register(public_half(files.key), name)
            self._start_node(name)

    def _start_superlink(self) -> None:
        """Start the SuperLink over its database, and wait until it listens."""
        folder, (host, port) = self.authority.parent, self.address.split(":")
        command = [
            *(program("flower-superlink"), "--host", host, "--port", port, "--enable-supernode-auth"),
            *("--ssl-ca-certfile", str(folder / "ca.crt"), "--ssl-certfile", str(folder / "server.pem")),
            *("--ssl-keyfile", str(folder / "server.key"), "--database", str(self.root / "state.db")),
            "--disable-runtime-dependency-installation",
        ]
        self._begin(SUPERLINK, command, self.root / "server")
        self.processes.wait_for(SUPERLINK, "Uvicorn running")

    def _start_node(self, name: str) -> None:
        """Start a device's SuperNode, and before it its service where devices have one."""
        if self._service:
            self._begin(f"service-{name}", [program("fedrag"), "serve", name], self.home(name))
        self._begin(f"node-{name}", supernode_command(self.files(name), self.link()), self.home(name))

    def _begin(self, name: str, command: Sequence[str], home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.processes.start(name, command, self.environment(home), _NICE)


def program(name: str) -> str:
    """A program of this environment."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name) or name


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
