"""What Prometheus is told of a service: requests, answers, queues, model and memory; numbers and fixed names only."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from types import TracebackType

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

from fedrag_flwr.handling import place_of
from fedrag_flwr.service.queues import RequestQueue
from fedrag_flwr.service.resident import Resident

OURS = "fedrag_flwr"
_log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """Our own messages in full; of a library's only that there was one, as it may quote what it worked on."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        ours = record.name.partition(".")[0] == OURS
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if ours else "a library's message",
            "logger": record.name,
        }
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= {"error": type(record.exc_info[1]).__name__, "place": place_of(record.exc_info[1])}
        return json.dumps(line)


def start_logging() -> None:
    """Send all logs of this process to standard error, as JSON lines; errors that nobody caught, too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(OURS).setLevel(logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda told: _uncaught(told.exc_type, told.exc_value, told.exc_traceback)


def told(event: str, **fields: object) -> None:
    """Log an event of the service with its numbers and names."""
    _log.info(event, extra={"fields": fields})


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    _log.error("an error that nobody caught", exc_info=(kind, error or kind(), trace))


_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """The metrics of one service."""

    def __init__(self, resident: Resident, queues: Iterable[RequestQueue]) -> None:
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
        length = Gauge("fedrag_queue_length", "Requests waiting or worked on.", ["queue"], registry=self._registry)
        for queue in queues:
            length.labels(queue.name).set_function(partial(_length, queue))
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


def _length(queue: RequestQueue) -> float:
    return float(queue.length)


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
