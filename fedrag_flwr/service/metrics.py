"""What Prometheus is told of a service: requests, answers, queues, model and memory; numbers and fixed names only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fedrag_flwr.service.queues import Lane
from fedrag_flwr.service.resident import Resident

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """The metrics of one service.

    Parameters
    ----------
    resident
        The device.
    lanes
        Its queues.
    """

    def __init__(self, resident: Resident, queues: Iterable[Lane]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "fedrag_requests", "Requests by route and status.", ["route", "status"], registry=self._registry
        )
        self._answers = Histogram(
            "fedrag_answer_seconds",
            "Seconds from a question to its answer, waiting included, by the answer's path.",
            ["path"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._verdicts = Counter(
            "fedrag_feedback", "What people think of answers.", ["verdict"], registry=self._registry
        )
        queue = Gauge("fedrag_queue_length", "Requests that wait or are worked on.", ["lane"], registry=self._registry)
        for lane in queues:
            queue.labels(lane.name).set_function(partial(_length, lane))
        ProcessCollector(registry=self._registry)  # process_resident_memory_bytes and its like
        self._registry.register(_Device(resident))

    def request(self, route: str, status: int) -> None:
        """Count a request; `route` is a pattern, never a path that somebody sent."""
        self._requests.labels(route, str(status)).inc()

    def answer(self, path: str, seconds: float) -> None:
        """Count an answer."""
        self._answers.labels(path).observe(seconds)

    def feedback(self, verdict: str) -> None:
        """Count a verdict."""
        self._verdicts.labels(verdict).inc()

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)


def _length(lane: Lane) -> float:
    return float(lane.length)


class _Device(Collector):
    """What is read from the device when somebody looks."""

    def __init__(self, resident: Resident) -> None:
        self._resident = resident

    def describe(self) -> Iterable[Metric]:
        """Nothing: what is told is not known before it is looked at."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Read the device."""
        busy = CounterMetricFamily("fedrag_generator_busy_seconds", "For how long models were at work.")
        busy.add_metric([], self._resident.generator_seconds())
        yield busy
        version, counts = self._resident.store_state()
        yield GaugeMetricFamily("fedrag_store_version", "Version of the memory.", value=version)
        held = GaugeMetricFamily("fedrag_store_held", "What the memory holds.", labels=["what"])
        for what, count in counts.items():
            held.add_metric([what], count)
        yield held
        waiting = self._resident.waiting_count()
        yield GaugeMetricFamily("fedrag_outbox_length", "Questions that wait for help.", value=waiting)
