"""A system's answers against the gold: per device, averaged over devices, by kind of question and by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le
from pydantic import AllowInfNan

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.bootstrap import Interval
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import ABSTAINED, Verdict, is_unanswerable, judge_all
from fedrag_flwr.evaluation.traffic import PhaseTraffic, Traffic
from fedrag_flwr.records import Answer

Share = Annotated[float, Ge(0.0), Le(1.0)]
Amount = Annotated[float, Ge(0.0), AllowInfNan(False)]
Number = Annotated[int, Ge(0)]

PATHS = ("memorizer", "cognizer", "remote", "cache", ABSTAINED)


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds per answer that were measured in this run; None where none were."""

    mean: Amount | None
    p50: Amount | None
    p95: Amount | None


@dataclass(frozen=True, slots=True)
class GroupResult:
    """Means over a group of questions (a kind, or a path); seconds are measured ones only."""

    n: Number
    acc: Share
    f1: Share
    em: Share
    abstained: Share
    seconds: Amount | None = None


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """Means over the questions asked at one device; costs are per answer, peak memory in MB."""

    n: Number
    acc: Share
    f1: Share
    em: Share
    abstained: Share
    missing: Share
    paths: Mapping[str, Share]
    latency_s: Latency
    llm_calls: Amount
    tokens_in: Amount
    tokens_out: Amount
    peak_rss_mb: Amount = 0.0


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system's results over all questions.

    Shares, costs, paths and mean latency are computed for each device and then averaged over devices (FD-RAG 5.1).
    `paths` and `missing` together sum to 1; what failed is missing.
    """

    acc: Share
    f1: Share
    em: Share
    abstained: Share
    paths: Mapping[str, Share]
    latency_s: Latency  # percentiles over all answers; replayed ones are left out
    llm_calls: Amount
    tokens_in: Amount
    tokens_out: Amount
    messages: Number
    bytes_up: Number
    bytes_down: Number
    peak_rss_mb: Amount  # largest of any device
    n: Number = 0  # questions
    missing: Share = 0.0
    replayed: Share = 0.0  # whose generation came from the cache
    ignored: Number = 0  # answers to questions that were not asked, and second answers to one
    answerable_abstained: Share | None = None  # None where there is no such question
    unanswerable_abstained: Share | None = None
    kinds: Mapping[str, GroupResult] = field(default_factory=dict)  # means over all questions of a kind
    by_path: Mapping[str, GroupResult] = field(default_factory=dict)
    devices: Mapping[str, DeviceResult] = field(default_factory=dict)  # at which questions were asked
    by_phase: Mapping[str, PhaseTraffic] = field(default_factory=dict)
    missing_devices: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, Number] = field(default_factory=dict)  # of its own steps, such as memories that fusion merged
    upper_bound: bool = False  # whether its answers were chosen by the gold; it is best of nothing
    # 95 % bootstrap intervals of ACC, F1, EM and mean latency by their headings, and of the ACC difference to others
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    versus: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether it gave any answer, so that there is a cost of answers."""
        return self.missing < 1.0


def score_system(
    gold: Sequence[GoldQuestion],
    answers: Sequence[Answer],
    traffic: Traffic,
    *,
    peak_rss_mb: Mapping[str, float] | None = None,
    counts: Mapping[str, int] | None = None,
) -> SystemResult:
    """Score one system's answers, which may come in any order.

    `peak_rss_mb`: peak memory of each device, in MB; `counts`: what the system counted of its own steps. Raises
    SettingError: there are no gold questions, or two have the same id.
    """
    asked = {question.question_id for question in gold}
    if not gold or len(asked) != len(gold):
        raise SettingError("gold questions are absent or share an id", where="evaluation", fix="give each its own id")
    verdicts = judge_all(gold, answers)
    answered = {answer.question_id for answer in answers} & asked
    memory = dict(peak_rss_mb or {})
    devices = {
        name: _device(group, memory.get(name, 0.0)) for name, group in _grouped(verdicts, lambda v: v.gold.home).items()
    }
    each = list(devices.values())
    seconds = _seconds(verdicts)
    given = [verdict.answer for verdict in verdicts if verdict.answer is not None]
    return SystemResult(
        acc=_mean(device.acc for device in each),
        f1=_mean(device.f1 for device in each),
        em=_mean(device.em for device in each),
        abstained=_mean(device.abstained for device in each),
        paths={path: _mean(device.paths.get(path, 0.0) for device in each) for path in _paths(verdicts)},
        latency_s=Latency(
            _mean_or_none(device.latency_s.mean for device in each if device.latency_s.mean is not None),
            _percentile(seconds, 50),
            _percentile(seconds, 95),
        ),
        llm_calls=_mean(device.llm_calls for device in each if device.missing < 1.0),
        tokens_in=_mean(device.tokens_in for device in each if device.missing < 1.0),
        tokens_out=_mean(device.tokens_out for device in each if device.missing < 1.0),
        messages=traffic.messages,
        bytes_up=traffic.bytes_up,
        bytes_down=traffic.bytes_down,
        peak_rss_mb=max(memory.values(), default=0.0),
        n=len(gold),
        missing=_mean(device.missing for device in each),
        replayed=_mean(answer.cost.replayed for answer in given),
        ignored=len(answers) - len(answered),
        answerable_abstained=_mean_or_none(v.abstained for v in verdicts if not is_unanswerable(v.gold)),
        unanswerable_abstained=_mean_or_none(v.abstained for v in verdicts if is_unanswerable(v.gold)),
        kinds={kind: _group(group) for kind, group in _grouped(verdicts, lambda v: v.gold.kind).items()},
        by_path={path: _group(group) for path, group in _grouped(verdicts, _path).items() if path},
        devices=devices,
        by_phase=traffic.by_phase,
        missing_devices=traffic.missing,
        counts=dict(counts or {}),
    )


def _device(verdicts: Sequence[Verdict], peak_rss_mb: float) -> DeviceResult:
    group = _group(verdicts)
    seconds = _seconds(verdicts)
    costs = [verdict.answer.cost for verdict in verdicts if verdict.answer is not None]
    return DeviceResult(
        n=group.n,
        acc=group.acc,
        f1=group.f1,
        em=group.em,
        abstained=group.abstained,
        missing=_mean(verdict.answer is None for verdict in verdicts),
        paths={path: _mean(_path(verdict) == path for verdict in verdicts) for path in _paths(verdicts)},
        latency_s=Latency(_mean_or_none(seconds), _percentile(seconds, 50), _percentile(seconds, 95)),
        llm_calls=_mean(cost.llm_calls for cost in costs),
        tokens_in=_mean(cost.tokens_in for cost in costs),
        tokens_out=_mean(cost.tokens_out for cost in costs),
        peak_rss_mb=peak_rss_mb,
    )


def _group(verdicts: Sequence[Verdict]) -> GroupResult:
    return GroupResult(
        n=len(verdicts),
        acc=_mean(verdict.acc for verdict in verdicts),
        f1=_mean(verdict.f1 for verdict in verdicts),
        em=_mean(verdict.em for verdict in verdicts),
        abstained=_mean(verdict.abstained for verdict in verdicts),
        seconds=_mean_or_none(_seconds(verdicts)),
    )


def _grouped(verdicts: Iterable[Verdict], key: Callable[[Verdict], str]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(key(verdict), []).append(verdict)
    return dict(sorted(groups.items()))


def _path(verdict: Verdict) -> str:
    return "" if verdict.answer is None else verdict.answer.path


def _paths(verdicts: Iterable[Verdict]) -> list[str]:
    """Return the known paths, then any others that occur."""
    return [*PATHS, *sorted({_path(verdict) for verdict in verdicts} - {*PATHS, ""})]


def _seconds(verdicts: Iterable[Verdict]) -> list[float]:
    costs = (verdict.answer.cost for verdict in verdicts if verdict.answer is not None)
    return [cost.seconds for cost in costs if not cost.replayed]


def _mean_or_none(values: Iterable[float]) -> float | None:
    sample = np.fromiter(values, dtype=np.float64)
    return float(sample.mean()) if sample.size else None


def _mean(values: Iterable[float]) -> float:
    return _mean_or_none(values) or 0.0


def _percentile(values: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None
