"""What does a device's service cost beside an open device, and does it bear many people at once?

Each kind of request is timed in each way, turn by turn, so that a noisy machine hits all alike. Ways: ``in-process``
(an open device, models loaded), ``service`` (over a connection that stays open), ``cold`` (a new Flower process, or
`fedrag ask`, that finds the service) and ``naive`` (a new process that loads the models). Then askers put one question
after the other, all at once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from prometheus_client.parser import text_string_to_metric_families

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import ServiceError
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.handling import respond
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import (
    AnswerRequest,
    BuildRequest,
    DescribeRequest,
    EvidenceRequest,
    Question,
    RetrieveRequest,
)
from fedrag_flwr.service.answers import given
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.config import beside_file
from fedrag_flwr.service.protocol import OFF, Plain
from fedrag_flwr.wire_bytes import from_bytes, to_bytes
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import KeptRows, Row
from simulations.bench.measure import seconds_of
from simulations.fixtures.kept_devices import OpenHost
from simulations.fixtures.service_process import ServiceProcess, service_process

NAME, RUN, ASK = "missions", "1", "ask"
WARM, NEW = ("in-process", "service"), ("cold", "naive")
KINDS = (ASK, "query.answer", "query.describe", "query.retrieve", "train.build")
SETTINGS: dict[str, Plain] = {"memory.tokens-per-kilotoken": 0}
RSS = "process_resident_memory_bytes"


@dataclass(frozen=True, slots=True)
class Measured:
    """What is measured: an open device, the service of the same one, and where requests for new processes lie."""

    host: OpenHost
    service: ServiceProcess
    client: ServiceClient
    folder: Path

    def ways(self, kind: str, question: str) -> dict[str, Callable[[], object]]:
        """How a request can be made."""
        if kind == ASK:
            command = [sys.executable, "-c", "from fedrag_flwr.cli import app; app()", ASK, question, "--name", NAME]
            return {
                "in-process": lambda: self._here(question),
                "service": lambda: self.client.ask(question),
                "cold": lambda: self._process(command),
                "naive": lambda: self._process([*command, "--no-service"]),
            }
        content = self.request(kind, question)
        return {
            "in-process": lambda: respond(self.host, kind, from_bytes(content, kind), RUN),
            "service": lambda: self._through(kind, content),
            "cold": lambda: self._flower(kind, content, self.service.node),
            "naive": lambda: self._flower(kind, content, {**self.service.node, "service": OFF}),
        }

    def request(self, kind: str, question: str) -> bytes:
        """A message's content."""
        vector = self.host.opened.models.encoder.encode([question])[0]
        asked: Mapping[str, object] = {
            "query.describe": DescribeRequest("0"),
            "train.build": BuildRequest(memories=True),
            "query.answer": AnswerRequest("memory", (Question("q", question, NAME),)),
            "query.retrieve": RetrieveRequest((EvidenceRequest("q", vector, (), 4),), "nearest"),
        }
        return to_bytes(wire.encode(asked[kind], run=RUN))

    def _here(self, question: str) -> object:
        answer = self.host.opened.ask_at_home(Question("q", question, NAME))
        return given("q", question, answer, self.host.opened.trace(answer), time.time())

    def _through(self, kind: str, content: bytes) -> object:
        sent = to_bytes(from_bytes(content, kind))
        return from_bytes(self.client.message(kind, RUN, SETTINGS, sent), kind)

    def _flower(self, kind: str, content: bytes, node: Mapping[str, Plain]) -> None:
        path = self.folder / "request.json"
        told = {"type": kind, "node": dict(node), "run": SETTINGS, "content": content.hex()}
        path.write_text(json.dumps(told), encoding="utf-8")
        self._process([sys.executable, "-m", "simulations.fixtures.flower_message", str(path)])

    def _process(self, command: list[str]) -> None:
        environment = {**os.environ, "FEDRAG_HOME": str(self.service.home)}
        subprocess.run(command, check=True, capture_output=True, timeout=600, env=environment)


def measure(
    on: Measured, questions: Sequence[str], kinds: Sequence[str], rounds: Mapping[str, int], kept: KeptRows
) -> list[Row]:
    """Time each kind in each way; a round is all of them, in a new order and with a question of its own."""
    rows: list[Row] = []
    for number in range(max(rounds.values())):
        rng, question = np.random.default_rng([7, number]), questions[number % len(questions)]
        for kind in rng.permutation(kinds).tolist():
            ways = on.ways(kind, question)
            for way in rng.permutation([way for way in ways if number < rounds[way]]).tolist():
                rows.append(
                    {"kind": kind, "way": way, "seconds": kept.row(f"{kind} {way} {number}", seconds_of, ways[way])}
                )
    return rows


def times(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a table: p50 and p95 in milliseconds by way, and the ratio of the p50 to the open device's."""
    frame = pd.DataFrame(rows)
    spread = frame.groupby(["kind", "way"], sort=False)["seconds"].quantile(np.array([0.5, 0.95])).mul(1000).unstack()
    told = (spread[0.5].map("{:,.1f}".format) + " / " + spread[0.95].map("{:,.1f}".format)).unstack().fillna("-")
    median = spread[0.5].unstack()
    table = told[[way for way in (*WARM, *NEW) if way in told]]
    return table.assign(ratio=(median["service"] / median["in-process"]).round(2)).reset_index()


def many_at_once(service: ServiceProcess, questions: Sequence[str], askers: int, seconds: float) -> pd.DataFrame:
    """Let so many ask for so long; growth compares the memory of the second half's first and last fifth."""
    times: list[float] = []
    failures: list[str] = []
    memory: list[tuple[float, float]] = []  # seconds, bytes
    start = time.perf_counter()

    def ask(number: int) -> None:
        """One asker, with a connection of its own."""
        with service.client() as client:
            for turn in count(number):
                if (begun := time.perf_counter()) >= start + seconds:
                    return
                try:
                    client.ask(questions[turn % len(questions)])
                    times.append(time.perf_counter() - begun)
                except ServiceError as error:
                    failures.append(type(error).__name__)

    def watch(_: int) -> None:
        """Sample the service's memory once a second."""
        with service.client() as client:
            while (now := time.perf_counter() - start) < seconds:
                found = {family.name: family for family in text_string_to_metric_families(client.metrics())}
                memory.append((now, found[RSS].samples[0].value))
                time.sleep(1.0)

    with ThreadPoolExecutor(askers + 1) as threads:
        done = [threads.submit(watch, 0), *(threads.submit(ask, number) for number in range(askers))]
    for one in done:
        one.result()
    half = [value for at, value in memory if at >= seconds / 2] or [memory[-1][1]]
    fifth = max(1, len(half) // 5)
    growth = np.mean(half[-fifth:]) / np.mean(half[:fifth]) - 1
    row: dict[str, float] = {"askers": askers, "seconds": seconds, "questions": len(times), "failed": len(failures)}
    row |= {f"p{level}, s": round(float(np.percentile(times, level)), 3) for level in (50, 95, 99)}
    return pd.DataFrame([row | {"growth of memory, %": round(100 * float(growth), 2)}])


def from_memory(device: EdgeDevice) -> list[str]:
    """The demo's training questions of the device that its memory answers."""
    asked = [one for one in read_gold(QUESTIONS) if one.split == "train" and one.home == NAME]

    def recalled(text: str) -> bool:
        return bool(device.engine.at_home(Question("q", text, NAME), reading=False).text)

    return [one.text for one in asked if recalled(one.text)]


def run(
    bench: Bench,
    rounds: Annotated[int, typer.Option(help="Rounds of the ways without a new process.")] = 30,
    cold: Annotated[int, typer.Option(help="Rounds with a new process that finds the service.")] = 3,
    naive: Annotated[int, typer.Option(help="Rounds with a new process that loads the models.")] = 1,
    askers: Annotated[int, typer.Option(help="People who ask at once.")] = 50,
    seconds: Annotated[float, typer.Option(help="For how long.")] = 300.0,
) -> None:
    """Time every kind of request in every way, then let many ask at once."""
    home, documents = bench.out / "home", bench.out / "documents" / NAME
    for folder in (home, documents):
        folder.mkdir(parents=True, exist_ok=True)
    for file in sorted((CORPUS / NAME).iterdir())[: bench.sized(20, 2)]:
        shutil.copy(file, documents)
    kinds = bench.sized(KINDS, (ASK, "query.answer", "query.describe"))
    with (
        service_process(NAME, home, documents, SETTINGS) as service,
        service.client() as client,
        Node(beside_file(service.node), SETTINGS).device() as device,
    ):
        bench.tell("building")
        device.build()
        measured = Measured(OpenHost(Node(beside_file(service.node), SETTINGS), device), service, client, bench.out)
        questions = from_memory(device) or [item.question for item in device.store.items()[:8]]
        for kind in kinds:  # what is made once is made before anything is timed
            for way in WARM:
                measured.ways(kind, questions[0])[way]()
        times_each = {**dict.fromkeys(WARM, bench.sized(rounds, 1)), "cold": bench.sized(cold, 1)}
        times_each["naive"] = bench.sized(naive, 0)
        rows = measure(measured, questions, kinds, times_each, bench.rows("rows", device.models.generator_id))
        bench.table("times", times(rows), f"{len(questions)} questions that memory answers; ms, p50 / p95")
        load = many_at_once(service, questions, bench.sized(askers, 2), bench.sized(seconds, 1.0))
    bench.table("load", load, "many people at once")
