"""What a strategy's run brought, and the few numbers of it that Flower's own results hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flwr.app import MetricRecord

from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer, BuildReport, DeviceCard


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a strategy's run brought: answers, build reports, traffic, peak memory by device, and its own counts.

    `server_seconds` are those of the server's own work, without what messages and waiting for devices take.
    """

    strategy: str
    answers: tuple[Answer, ...]
    builds: tuple[BuildReport, ...]
    cards: tuple[DeviceCard, ...]
    traffic: Traffic
    peak_rss_mb: dict[str, float]
    seconds: float
    counts: dict[str, int]
    server_seconds: float = 0.0


def metrics_of_builds(reports: Iterable[BuildReport]) -> MetricRecord:
    """How many devices built a memory, of how many documents and items, and the seconds that took them together."""
    builds = list(reports)
    return MetricRecord(
        {
            "devices": len(builds),
            "documents": sum(report.documents for report in builds),
            "items": sum(report.items for report in builds),
            "seconds": sum(report.cost.seconds for report in builds),
        }
    )


def metrics_of_answers(given: Iterable[Answer]) -> MetricRecord:
    """How many answers there are, how many of them decline, and what model calls they took."""
    answers = list(given)
    return MetricRecord(
        {
            "answers": len(answers),
            "abstained": sum(answer.path == "abstained" for answer in answers),
            "llm-calls": sum(answer.cost.llm_calls for answer in answers),
        }
    )
