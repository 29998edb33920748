"""Many people ask one device at once: ``python simulations/bench_service_load.py --out FOLDER``.

Each asker has a connection of its own and asks its next question as soon as it has an answer. Prints how many requests
failed, the latencies, and how the service's memory grew in the second half.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from fedrag_flwr.demo import CORPUS
from fedrag_flwr.errors import ServiceError
from fedrag_flwr.nodes import Node
from simulations.bench_service import NAME, SETTINGS, from_memory
from simulations.fixtures.service_process import ServiceProcess, service_process

RSS = "process_resident_memory_bytes"


@dataclass(slots=True)
class Tally:
    """What the askers saw: seconds of each answer, kinds of failures, and samples of (seconds, bytes) of memory."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)


def ask_on(service: ServiceProcess, questions: list[str], number: int, until: float, tally: Tally) -> None:
    """One asker."""
    with service.client() as client:
        turn = number
        while time.perf_counter() < until:
            start = time.perf_counter()
            try:
                client.ask(questions[turn % len(questions)])
                tally.seconds.append(time.perf_counter() - start)
            except ServiceError as error:
                tally.failures.append(type(error).__name__)
            turn += 1


def watch(service: ServiceProcess, start: float, until: float, tally: Tally) -> None:
    """Sample the service's memory once a second."""
    with service.client() as client:
        while (now := time.perf_counter()) < until:
            found = {family.name: family for family in text_string_to_metric_families(client.metrics())}
            tally.memory.append((now - start, found[RSS].samples[0].value))
            time.sleep(1.0)


def summary(tally: Tally, askers: int, seconds: float) -> dict[str, object]:
    """The figures; growth compares the mean memory of the second half's first and last fifth."""
    half = [value for at, value in tally.memory if at >= seconds / 2]
    fifth = max(1, len(half) // 5)
    first, last = float(np.mean(half[:fifth])), float(np.mean(half[-fifth:]))
    p50, p95, p99 = np.quantile(tally.seconds, [0.5, 0.95, 0.99]).tolist()
    return {
        "askers": askers,
        "seconds": seconds,
        "requests": len(tally.seconds) + len(tally.failures),
        "failed": len(tally.failures),
        "kinds": sorted(set(tally.failures)),
        "a_second": round(len(tally.seconds) / seconds, 1),
        "p50_s": round(p50, 3),
        "p95_s": round(p95, 3),
        "p99_s": round(p99, 3),
        "rss_half_mb": round(first / 1e6, 1),
        "rss_end_mb": round(last / 1e6, 1),
        "growth_second_half_percent": round(100 * (last / first - 1), 2),
    }


def main() -> None:
    """Build, start, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("service-bench"))
    parser.add_argument("--askers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300.0)
    chosen = parser.parse_args()
    home = chosen.out.resolve() / "home"
    home.mkdir(parents=True, exist_ok=True)
    with service_process(NAME, home, CORPUS / NAME, SETTINGS) as service:
        with Node(service.node, SETTINGS).device() as device:
            device.build()
            questions = from_memory(device)
        tally, start = Tally(), time.perf_counter()
        until = start + chosen.seconds
        askers = [
            threading.Thread(target=ask_on, args=(service, questions, number, until, tally))
            for number in range(chosen.askers)
        ]
        watcher = threading.Thread(target=watch, args=(service, start, until, tally))
        for thread in (*askers, watcher):
            thread.start()
        for thread in (*askers, watcher):
            thread.join()
    told = summary(tally, chosen.askers, chosen.seconds)
    (chosen.out / "load.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
