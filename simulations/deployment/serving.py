"""A run that stays, on real SuperNodes: questions put at devices wait, are taken up and come home answered."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fedrag_flwr.cli.flower import RUN_ID
from fedrag_flwr.errors import FederationError
from fedrag_flwr.service.answers import GivenAnswer, read_answer
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import default_socket
from fedrag_flwr.settings import Plain, Settings
from server_app.run import questions_of
from simulations.bench.frame import Bench
from simulations.deployment.federation import CONNECTION, Deployment, Run
from simulations.deployment.small_runs import node_configs, small_config
from simulations.fixtures.demo_home import NAMES

STOPPED = "finished:stopped"
_SERVES = re.compile(r"serves (\d+) devices")
_PATIENCE = 1_200.0  # seconds for whatever a device or the run is to do: three tries of a question take 600
_DEVICE_KEYS = ("models.context-tokens", "memory.tokens-per-kilotoken", "inference.max-answer-tokens")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was put at a device: how long home took, and help after that; None where it did not wait."""

    home: str
    first: GivenAnswer
    helped: GivenAnswer | None
    seconds: float

    @property
    def good(self) -> bool:
        """Whether it came home, if it waited."""
        return not self.first.waiting or self.helped is not None


class ServingRun:
    """A run in ``mode="serve"`` beside this thread; it is stopped with the ``with`` block."""

    def __init__(self, deployment: Deployment, config: dict[str, Plain]) -> None:
        self.deployment = deployment
        self.log: list[str] = []
        self.result: Run | None = None
        self._thread = threading.Thread(target=self._follow, args=(config,), daemon=True)

    def __enter__(self) -> ServingRun:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        found = [match[1] for line in self.log if (match := RUN_ID.search(line))]
        if found:
            self.deployment.flower.call("stop", found[0], CONNECTION)
        self._thread.join(60.0)

    def wait_for(self, devices: int) -> float:
        """Wait until so many devices are the last that the run said it serves; gives the seconds.

        Raises FederationError: it does not, or it ended.
        """
        start = time.monotonic()
        while time.monotonic() - start < _PATIENCE and self._thread.is_alive():
            said = [int(match[1]) for line in self.log if (match := _SERVES.search(line))]
            if said[-1:] == [devices]:
                return time.monotonic() - start
            time.sleep(0.2)
        raise FederationError(f"the run does not serve {devices} devices:\n" + "\n".join(self.log[-20:]), where="run")

    def _follow(self, config: dict[str, Plain]) -> None:
        self.result = self.deployment.run(config, self.log)


def service(deployment: Deployment, name: str) -> ServiceClient:
    """The service of a device."""
    return ServiceClient(default_socket(deployment.home(name), name))


def ask_all(deployment: Deployment, questions: Sequence[tuple[str, str]]) -> Iterator[Asked]:
    """Put questions at their homes, one after the other, and wait for help with all of them together."""
    firsts = []
    for home, text in questions:
        with service(deployment, home) as at:
            firsts.append((home, read_answer(at.ask(text, help=True)), time.monotonic()))
    for home, first, since in firsts:
        helped = None
        while first.waiting and helped is None and time.monotonic() - since < _PATIENCE:
            with service(deployment, home) as at:
                given = [one for one in map(read_answer, at.answers()) if one.id == first.id and not one.waiting]
            helped = next((one for one in given if one.explanation != first.explanation), None)
            time.sleep(0.5)
        yield Asked(home, first, helped, time.monotonic() - since)


def serve(bench: Bench, root: Path, data: Path, count: int) -> tuple[pd.DataFrame, bool]:
    """Serve, ask, lose a device, ask, take it back, ask, stop; a row for each question, and whether all is well.

    It is if the run took every device in, lost it and took it in again, every question that waited came home, no outbox
    holds one, the run's log holds no question, and all processes are gone.
    """
    devices = {name: {**config, "outbox": True} for name, config in node_configs(data).items()}
    config, gone = small_config("memory-fusion", count), NAMES[-1]
    gold = questions_of(Settings.from_config({"data.limit": 3 * count}))
    questions = [(question.home, question.text) for question in gold]
    parts = (
        questions[:count],
        [one for one in questions[count:] if one[0] != gone][:count],
        [one for one in questions[count:] if one[0] == gone][:1],
    )
    own = {key: config[key] for key in _DEVICE_KEYS}
    stays: dict[str, Plain] = {**config, "mode": "serve"}
    asked: list[Asked] = []
    with Deployment(root, devices, service=True, settings=own) as deployment:
        with ServingRun(deployment, stays) as run:
            bench.tell(f"five devices are served after {run.wait_for(len(NAMES)):.0f} s")
            for number, part in enumerate(parts):
                if number == 1:
                    deployment.processes.stop(f"node-{gone}")
                    deployment.processes.stop(f"service-{gone}")
                    bench.tell(f"{gone} has gone; the others are served after {run.wait_for(len(NAMES) - 1):.0f} s")
                if number == 2:
                    deployment.start_node(gone)
                    bench.tell(f"{gone} is back; all are served after {run.wait_for(len(NAMES)):.0f} s")
                asked += ask_all(deployment, part)
            waits = [name for name in NAMES if _waits(deployment, name)]
            quiet = not any(text in line for line in run.log for _, text in questions)
        status = run.result.status if run.result else "none"
    left = deployment.processes.marked()
    good = status == STOPPED and all(one.good for one in asked) and not waits and quiet and not left
    told = [("-" if one.helped is None else one.helped.answer or "nobody knows") for one in asked]
    pairs = zip(asked, told, strict=True)
    rows = [(one.home, one.first.answer or "not known", helped, one.seconds) for one, helped in pairs]
    table = pd.DataFrame(rows, columns=["home", "at home", "with help", "seconds"]).round(1)
    return table, good and any(one.helped for one in asked)


def _waits(deployment: Deployment, name: str) -> bool:
    """Whether a question waits in a device's outbox."""
    with service(deployment, name) as at:
        return "fedrag_outbox_length 0.0" not in at.metrics().splitlines()
