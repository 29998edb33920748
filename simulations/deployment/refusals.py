"""Nodes that must not get in: what each of them, and the SuperLink, says when it tries."""

import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fedrag_flwr.device_files import DeviceFiles, Link, supernode_command
from simulations.deployment.federation import CERTIFICATES, SUPERLINK, Deployment, free_port

ADMITTED = "SuperNode ID:"  # what a SuperNode says once the SuperLink has taken it in
_REASONS = ("[code", "[SSL", "Connection attempt failed")  # of Flower's SuperNode, the most telling first
_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Refusal:
    """How one node fared: whether it got in, the most telling line of its log, and the SuperLink's last of refusal."""

    case: str
    admitted: bool
    node_says: str
    server_says: str

    @property
    def refused(self) -> bool:
        """Whether it said that it was kept out; one that crashed before, or hung, shows nothing."""
        return not self.admitted and self.node_says != _NOTHING


def refusals(deployment: Deployment, seconds: float = 60.0) -> Iterator[Refusal]:
    """Let an unregistered node, one that trusts another authority, and a plain one try to join.

    Before that every registered node must have said that it is in: else that a stranger does not say so shows nothing.

    `deployment`: a federation that runs; `seconds`: how long each tries at most.
    Raises TimeoutError: a registered node does not say that it is in.
    """
    for name in deployment.devices:
        deployment.processes.wait_for(f"node-{name}", ADMITTED, seconds=seconds)
    other = deployment.root / "other-authority"
    subprocess.run([str(CERTIFICATES), str(other), "localhost", "127.0.0.1"], check=True, stdout=subprocess.DEVNULL)
    address, ours = deployment.address, deployment.authority
    cases = {
        "unregistered": Link(address, ours, free_port()),
        "wrong-authority": Link(address, other / "ca.crt", free_port()),
        "plain": Link(address, None, free_port(), plain=True),
    }
    for case, link in cases.items():
        yield _try(deployment, case, link, seconds)


def _try(deployment: Deployment, case: str, link: Link, seconds: float) -> Refusal:
    files = DeviceFiles(deployment.home(case) / "devices" / "local" / case)
    files.create({"device-name": case, "data-path": str(deployment.root)}, link)
    processes = deployment.processes
    before = len(processes.lines(SUPERLINK, ""))
    environment = deployment.environment(deployment.home(case))
    processes.start(case, supernode_command(files, link), environment, nice=10)
    with suppress(TimeoutError):
        processes.wait_for(case, *_REASONS, ADMITTED, seconds=seconds)
    time.sleep(1.0)  # until the whole complaint is written
    processes.stop(case)
    server = [line for line in processes.lines(SUPERLINK, "")[before:] if '" 4' in line or "ERROR" in line]
    complaints = [line for reason in _REASONS for line in processes.lines(case, reason)]
    return Refusal(case, bool(processes.lines(case, ADMITTED)), _first(complaints), _first(server[::-1]))


def _first(lines: Sequence[str]) -> str:
    return re.sub(r"\x1b\[\d+m", "", lines[0]) if lines else _NOTHING
