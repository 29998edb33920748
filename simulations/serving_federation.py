"""A run that stays, on real SuperNodes: questions put at devices wait, are taken up and come home answered.

    python -m simulations.serving_federation [--strategy memory-fusion] [--questions 6] [--documents 6]

Five devices with services and outboxes, TLS and node keys as in `deployed_federation`, and a run in ``mode="serve"``.
People ask at the devices, all at once, and let the federation help; the script waits until the answers are there, or
the run has tried twice and nobody knew. Then one device goes while the run stays, the others are asked again, and it
comes back and is asked itself. In the end the run is stopped by ``flwr stop``. Exits with status 1 unless the run took
every device in, lost it and took it in again, every question that waited came home, no outbox holds one, the run's log
holds no question, and all processes are gone.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.cli.flower import RUN_ID
from fedrag_flwr.errors import FederationError
from fedrag_flwr.service.answers import GivenAnswer, read_answer
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import default_socket
from fedrag_flwr.settings import Plain, Settings
from server_app.run import questions_of
from simulations.deployment.federation import CONNECTION, Deployment, Run
from simulations.deployment.small_runs import DEVICES, few_documents, node_configs, small_config

STOPPED = "finished:stopped"
_SERVES = re.compile(r"serves (\d+) devices")
_PATIENCE = 600.0  # seconds for whatever a device or the run is to do
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

        Raises
        ------
        FederationError
            It does not, or it ended.
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
        helped = wait_for_help(deployment, home, first) if first.waiting else None
        yield Asked(home, first, helped, time.monotonic() - since)


def wait_for_help(deployment: Deployment, home: str, first: GivenAnswer) -> GivenAnswer | None:
    """Look at a device until what the federation said is there; None where it does not come."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with service(deployment, home) as at:
            for one in map(read_answer, at.answers()):
                if one.id == first.id and not one.waiting and one.explanation != first.explanation:
                    return one
        time.sleep(0.5)
    return None


def show(asked: Asked) -> None:
    """Print a row of the table; of the texts only the answers, which are of the demo's public corpus."""
    help_ = "was not needed | -" if not asked.first.waiting else "did not come | -"
    if asked.helped:
        origins = sorted({source.partition("/")[0] for source in asked.helped.sources})
        help_ = f"{asked.helped.answer or 'nobody knows'} ({', '.join(origins) or 'none'}) | {asked.seconds:.1f}"
    first = f"{asked.first.answer or 'not known'} | {asked.first.seconds:.2f}"
    print(f"| {asked.home} | {first} | {help_} |", flush=True)


def main() -> None:
    """Serve, ask, lose a device, ask, take it back, ask, stop, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategy", default="memory-fusion")
    parser.add_argument("--questions", type=int, default=6)
    parser.add_argument("--documents", type=int, default=6, help="of each device, out of the demo's 20")
    given = parser.parse_args()
    start = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="fedrag-serving-"))
    devices = {
        name: {**config, "outbox": True}
        for name, config in node_configs(few_documents(root / "documents", given.documents)).items()
    }
    config = small_config(given.strategy, given.questions)
    gone, gold = DEVICES[-1], questions_of(Settings.from_config({"data.limit": 3 * given.questions}))
    questions = [(question.home, question.text) for question in gold]
    first = questions[: given.questions]
    rest = [one for one in questions[given.questions :] if one[0] != gone][: given.questions]
    again = [one for one in questions[given.questions :] if one[0] == gone][:1]
    patience: dict[str, Plain] = {"serving.tries": 2, "serving.retry-seconds": 5.0}
    own = {key: config[key] for key in _DEVICE_KEYS} | patience
    serve: dict[str, Plain] = {**config, **patience, "mode": "serve", "serving.poll-seconds": 5.0}
    rows: list[Asked] = []
    with Deployment(root, devices, service=True, settings=own) as deployment:
        with ServingRun(deployment, serve) as run:
            print(f"five devices are served after {run.wait_for(len(DEVICES)):.0f} s")
            for part in (first, rest, again):
                if part is rest:
                    deployment.processes.stop(f"node-{gone}")
                    deployment.processes.stop(f"service-{gone}")
                    print(f"{gone} has gone; the others are served after {run.wait_for(len(DEVICES) - 1):.0f} s")
                if part is again:
                    deployment.start_node(gone)
                    print(f"{gone} is back; all are served after {run.wait_for(len(DEVICES)):.0f} s")
                print("| home | at home | seconds | with help | seconds |\n|---|---|---|---|---|")
                for row in ask_all(deployment, part):
                    rows.append(row)
                    show(row)
            waits = [name for name in DEVICES if waiting(deployment, name)]
            quiet = not any(text in line for line in run.log for _, text in questions)
        status = run.result.status if run.result else "none"
    left = deployment.processes.marked()
    good = status == STOPPED and all(row.good for row in rows) and not waits and quiet and not left
    helped = [row for row in rows if row.helped]
    print(
        f"{status}; {len(rows)} asked, {len(helped)} waited and came home; outboxes that hold any: {waits or 'none'}; "
        f"questions in the log: {'none' if quiet else 'YES'}; {len(left)} processes left; "
        f"{time.monotonic() - start:.0f} s in all; {'as it must be' if good else 'NOT as it must be'}"
    )
    sys.exit(0 if good and helped else 1)


def waiting(deployment: Deployment, name: str) -> bool:
    """Whether a question waits in a device's outbox."""
    with service(deployment, name) as at:
        return "fedrag_outbox_length 0.0" not in at.metrics().splitlines()


if __name__ == "__main__":
    main()
