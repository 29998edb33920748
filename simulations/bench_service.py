"""Round trips of questions and messages: in one process, through the service, and with models loaded for each message.

``python simulations/bench_service.py --out FOLDER`` builds a device over the demo's missions, starts its service, and
times every kind of request in every way, turn by turn, so that a noisy machine hits all alike. Rows are kept in
``FOLDER/rows.jsonl``; stopped at any time, the same command goes on where it stopped.

Ways: ``in-process`` (an open device, models loaded), ``service`` (over a connection that stays open), ``connection``
(a new one for each request), ``cold`` (a new Flower process, or `fedrag ask`, that finds the service) and ``naive`` (a
new process that loads the models).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.handling import respond
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import (
    AnswerRequest,
    BuildRequest,
    CentroidRequest,
    DescribeRequest,
    EvidenceRequest,
    HitsRequest,
    Question,
    RetrieveRequest,
)
from fedrag_flwr.records.exchanges import AskedQuestion
from fedrag_flwr.retrieval.device_controller import TrainingQuestion
from fedrag_flwr.service.answers import given
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import OFF, Plain
from fedrag_flwr.wire_bytes import from_bytes, to_bytes
from simulations.fixtures.service_process import ServiceProcess, service_process
from simulations.reporting.row_file import RowFile, this_code

NAME, RUN, ASK = "missions", "1", "ask"
WARM, NEW = ("in-process", "service", "connection"), ("cold", "naive")
SETTINGS: dict[str, Plain] = {"memory.tokens-per-kilotoken": 0}
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class OpenHost:
    """A device that is open already, as the ClientApp of the simulation would have it."""

    opened: EdgeDevice

    def name(self) -> str:
        """Its name."""
        return self.opened.name

    def device(self) -> AbstractContextManager[EdgeDevice]:
        """The device."""
        return nullcontext(self.opened)

    def training_questions(self) -> list[TrainingQuestion]:
        """None."""
        return []


@dataclass(frozen=True, slots=True)
class World:
    """What is measured: an open device, the service of the same one, and where requests for new processes lie."""

    device: EdgeDevice
    service: ServiceProcess
    client: ServiceClient
    folder: Path

    def ways(self, kind: str, question: str) -> dict[str, Callable[[], object]]:
        """How a request can be made."""
        return self._asking(question) if kind == ASK else self._sending(kind, self.request(kind, question))

    def request(self, kind: str, question: str) -> bytes:
        """A message's content."""
        vector = self.device.models.encoder.encode([question])[0]
        asked: Mapping[str, object] = {
            "query.describe": DescribeRequest("0"),
            "train.build": BuildRequest(memories=True),
            "query.centroids": CentroidRequest(16),
            "query.answer": AnswerRequest("memory", (Question("q", question, NAME),)),
            "query.retrieve": RetrieveRequest((EvidenceRequest("q", vector, (), 4),), "sentences"),
            "query.hits": HitsRequest((AskedQuestion("q", question),), 3, 0),
        }
        return to_bytes(wire.encode(asked[kind], run=RUN))

    def _asking(self, question: str) -> dict[str, Callable[[], object]]:
        def here() -> object:
            answer = self.device.ask_at_home(Question("q", question, NAME))
            return given("q", question, answer, self.device.trace(answer), time.time())

        def again() -> object:
            with self.service.client() as client:
                return client.ask(question)

        command = [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", "ask", question, "--name", NAME]
        return {
            "in-process": here,
            "service": lambda: self.client.ask(question),
            "connection": again,
            "cold": lambda: self._process(command),
            "naive": lambda: self._process([*command, "--no-service"]),
        }

    def _sending(self, kind: str, content: bytes) -> dict[str, Callable[[], object]]:
        def through(client: ServiceClient) -> object:
            sent = to_bytes(from_bytes(content, kind))
            return from_bytes(client.message(kind, RUN, SETTINGS, sent), kind)

        def again() -> object:
            with self.service.client() as client:
                return through(client)

        return {
            "in-process": lambda: respond(OpenHost(self.device), kind, from_bytes(content, kind), RUN),
            "service": lambda: through(self.client),
            "connection": again,
            "cold": lambda: self._flower(kind, content, self.service.node),
            "naive": lambda: self._flower(kind, content, {**self.service.node, "service": OFF}),
        }

    def _flower(self, kind: str, content: bytes, node: Mapping[str, Plain]) -> None:
        path = self.folder / "request.json"
        told = {"type": kind, "node": dict(node), "run": SETTINGS, "content": content.hex()}
        path.write_text(json.dumps(told), encoding="utf-8")
        self._process([sys.executable, "-m", "simulations.flower_message", str(path)])

    def _process(self, command: list[str]) -> None:
        subprocess.run(command, check=True, capture_output=True, timeout=600, env=_environment(self.service.home))


KINDS = (
    *(ASK, "query.answer", "query.describe", "query.retrieve", "query.hits", "query.centroids"),
    "train.build",
)


def measure(
    world: World, questions: list[str], kinds: Sequence[str], rounds: Mapping[str, int], kept: RowFile
) -> list[Row]:
    """Time what is not yet among the rows, and give all: a round is each kind in each way, in a new order."""
    rows: list[Row] = kept.rows()
    known = {(row["kind"], row["way"], row["round"]) for row in rows}
    for number in range(max(rounds.values())):  # a question a round
        rng = np.random.default_rng([7, number])
        question = questions[number % len(questions)]
        for kind in rng.permutation(kinds).tolist():
            ways = world.ways(kind, question)
            for way in rng.permutation([way for way in ways if number < rounds[way]]).tolist():
                if (kind, way, number) not in known:
                    start = time.perf_counter()
                    ways[way]()
                    seconds = time.perf_counter() - start
                    rows.append({"kind": kind, "way": way, "round": number, "seconds": seconds})
                    kept.add(rows[-1])
    return rows


def table(rows: list[Row]) -> Iterator[str]:
    """The rows in Markdown: p50 and p95 in milliseconds, and ratios of the p50 to the open device's."""
    yield "| request | " + " | ".join(f"{way} p50 / p95" for way in (*WARM, *NEW)) + " | service / in-process |"
    yield "|---" * (len(WARM) + len(NEW) + 2) + "|"
    for kind in KINDS:
        p50: dict[str, float] = {}
        cells = []
        for way in (*WARM, *NEW):
            told = [1000 * float(str(row["seconds"])) for row in rows if (row["kind"], row["way"]) == (kind, way)]
            p50[way] = float(np.median(told)) if told else float("nan")
            cells.append(f"{p50[way]:,.1f} / {np.quantile(told, 0.95):,.1f}" if told else "-")
        yield f"| `{kind}` | {' | '.join(cells)} | {p50['service'] / p50['in-process']:.2f} |"


def from_memory(device: EdgeDevice) -> list[str]:
    """The demo's training questions of the device that its memory answers."""
    asked = [one for one in read_gold(QUESTIONS) if one.split == "train" and one.home == NAME]

    def recalled(text: str) -> bool:
        return bool(device.engine.at_home(Question("q", text, NAME), reading=False).text)

    return [one.text for one in asked if recalled(one.text)]


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "FEDRAG_HOME": str(home)}


def main() -> None:
    """Build, start, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("service-bench"))
    parser.add_argument("--rounds", type=int, default=60, help="of the warm ways")
    parser.add_argument("--cold", type=int, default=10, help="rounds with a new process that finds the service")
    parser.add_argument("--naive", type=int, default=3, help="rounds with a new process that loads the models")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of requests, separated by commas")
    chosen = parser.parse_args()
    home = chosen.out.resolve() / "home"
    home.mkdir(parents=True, exist_ok=True)
    with (
        service_process(NAME, home, CORPUS / NAME, SETTINGS) as service,
        service.client() as client,
        Node(service.node, SETTINGS).device() as device,
    ):
        device.build()
        world = World(device, service, client, chosen.out.resolve())
        questions = from_memory(device)
        for kind in chosen.kinds.split(","):  # what is made once is made before anything is timed
            for way in WARM:
                world.ways(kind, questions[0])[way]()
        rounds = {**dict.fromkeys(WARM, chosen.rounds), "cold": chosen.cold, "naive": chosen.naive}
        kept = RowFile(chosen.out / "rows.jsonl", this_code(device.models.generator_id))
        rows = measure(world, questions, chosen.kinds.split(","), rounds, kept)
    lines = list(table(rows))
    (chosen.out / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(questions)} questions that memory answers\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
