"""The summary of a run: every system's result, every device's build, and the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from annotated_types import MinLen

from fedrag_flwr.evaluation.bootstrap import Interval, mean_interval, paired_difference
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.manifest import Manifest
from fedrag_flwr.evaluation.metrics import Verdict, judge_all
from fedrag_flwr.evaluation.scoring import Amount, Number, Share, SystemResult
from fedrag_flwr.records import Answer, BuildReport, has_no_memory


@dataclass(frozen=True, slots=True)
class DeviceSummary:
    """What one device holds, what its memory cost to build, and each system's ACC at it.

    Seconds, calls and tokens are summed over the device's builds in this run; counts are those after the last one.
    `tokens_per_kilotoken` is generated tokens per 1,000 corpus tokens; `failed` and `orphans` are numbers of documents
    and units, and `failures` has those by reason; `skipped` counts files that are not to be read, by reason; `graph`
    tells the size and modularity of a knowledge graph, where there is one.
    """

    build_seconds: Amount = 0.0
    documents: Number = 0
    passages: Number = 0
    sentences: Number = 0
    hyperedges: Number = 0
    orphans: Number = 0
    items: Number = 0
    corpus_tokens: Number = 0
    llm_calls: Number = 0
    tokens_out: Number = 0
    tokens_per_kilotoken: Amount = 0.0
    peak_rss_mb: Amount = 0.0
    failed: Number = 0
    failures: Mapping[str, Number] = field(default_factory=dict)
    replayed: bool = False
    rejects: tuple[str, ...] = ()
    graph: tuple[str, ...] = ()
    skipped: Mapping[str, Number] = field(default_factory=dict)
    acc: Mapping[str, Share] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Summary:
    """All that a run's tables and plots show, except the single answers."""

    systems: Annotated[Mapping[str, SystemResult], MinLen(1)]
    devices: Mapping[str, DeviceSummary]
    manifest: Manifest


def summarise(
    manifest: Manifest,
    systems: Mapping[str, SystemResult],
    answers: Mapping[str, Sequence[Answer]],
    gold: Sequence[GoldQuestion],
    build_reports: Sequence[BuildReport],
    *,
    rng: np.random.Generator,
) -> Summary:
    """Put a run's results together and add the bootstrap intervals (95 %, drawn within devices; differences paired)."""
    homes = [question.home for question in gold]
    verdicts = {name: judge_all(gold, answers.get(name, ())) for name in systems}
    right = {name: [verdict.acc for verdict in judged] for name, judged in verdicts.items()}
    compared: dict[str, SystemResult] = {}
    for name, result in systems.items():
        compared[name] = replace(
            result,
            intervals={"ACC": mean_interval(right[name], rng=rng, groups=homes)},
            versus={
                other: paired_difference(right[name], right[other], rng=rng, groups=homes)
                for other in systems
                if other != name
            },
        )
    for name, result in compared.items():
        compared[name] = replace(result, intervals={**result.intervals, **_intervals(verdicts[name], rng)})
    return Summary(compared, _devices(compared, build_reports), manifest)


def _intervals(verdicts: Sequence[Verdict], rng: np.random.Generator) -> dict[str, Interval]:
    """Of F1 and EM, and of the seconds that were measured, if any were."""
    homes = [verdict.gold.home for verdict in verdicts]
    found = {
        "F1": mean_interval([verdict.f1 for verdict in verdicts], rng=rng, groups=homes),
        "EM": mean_interval([verdict.em for verdict in verdicts], rng=rng, groups=homes),
    }
    timed = [one for one in verdicts if one.answer is not None and not one.answer.cost.replayed]
    if timed:
        seconds = [one.answer.cost.seconds for one in timed if one.answer is not None]
        found["Mean latency"] = mean_interval(seconds, rng=rng, groups=[one.gold.home for one in timed])
    return found


def _devices(systems: Mapping[str, SystemResult], reports: Sequence[BuildReport]) -> dict[str, DeviceSummary]:
    builds: dict[str, list[BuildReport]] = {}
    for report in reports:
        builds.setdefault(report.device, []).append(report)
    asked = {device for result in systems.values() for device in result.devices}
    return {
        name: replace(
            _built(builds.get(name, [])),
            acc={system: result.devices[name].acc for system, result in systems.items() if name in result.devices},
        )
        for name in sorted(asked | builds.keys())
    }


def _built(reports: Sequence[BuildReport]) -> DeviceSummary:
    if not reports:
        return DeviceSummary()
    last = reports[-1]
    tokens_out = sum(report.cost.tokens_out for report in reports)
    return DeviceSummary(
        build_seconds=sum(report.cost.seconds for report in reports),
        documents=last.documents,
        passages=last.passages,
        sentences=last.sentences,
        hyperedges=last.hyperedges,
        orphans=last.orphans,
        items=last.items,
        corpus_tokens=last.corpus_tokens,
        llm_calls=sum(report.cost.llm_calls for report in reports),
        tokens_out=tokens_out,
        tokens_per_kilotoken=1000 * tokens_out / last.corpus_tokens if last.corpus_tokens else 0.0,
        peak_rss_mb=max(report.peak_rss_mb for report in reports),
        failed=sum(not has_no_memory(told) for told in last.failed),
        failures=dict(Counter(told.rpartition(": ")[2] for told in last.failed)),
        replayed=any(report.cost.replayed for report in reports),
        rejects=last.rejects,
        graph=last.graph,
        skipped={reason: int(count) for reason, _, count in (told.rpartition("=") for told in last.skip_counts)},
    )
