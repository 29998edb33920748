"""The report's stacked bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedrag_flwr.evaluation.measures import number, seconds, size
from fedrag_flwr.evaluation.page.cells import Segment, Stack
from fedrag_flwr.evaluation.scoring import PATHS, SystemResult

_MISSING = "missing"


def used_paths(systems: Mapping[str, SystemResult]) -> list[str]:
    """Return the paths that occur, the known ones first."""
    found = {path for result in systems.values() for path, share in result.paths.items() if share}
    return [path for path in PATHS if path in found] + sorted(found.difference(PATHS))


def path_stacks(systems: Mapping[str, SystemResult], paths: Sequence[str]) -> list[Stack]:
    stacks = []
    for name, result in systems.items():
        shares = [(path, result.paths.get(path, 0.0)) for path in paths] + [(_MISSING, result.missing)]
        segments = tuple(Segment(path, share, f"{100 * share:.0f}%") for path, share in shares if share)
        stacks.append(Stack(name, 1.0, segments, ", ".join(f"{part.kind} {part.text}" for part in segments)))
    return stacks


def traffic(systems: Mapping[str, SystemResult]) -> list[tuple[str, str, list[Stack]]]:
    """Return, for each system that sent anything, its totals and a bar of bytes up and down for each phase."""
    most = max((p.bytes_up + p.bytes_down for r in systems.values() for p in r.by_phase.values()), default=0) or 1
    found = []
    for name, result in systems.items():
        stacks = []
        for phase, sent in result.by_phase.items():
            total = sent.bytes_up + sent.bytes_down
            both = (("up", sent.bytes_up), ("down", sent.bytes_down))
            segments = tuple(Segment(kind, amount / total, size(amount)) for kind, amount in both if amount)
            text = f"{size(sent.bytes_up)} up, {size(sent.bytes_down)} down, {number(sent.messages)} messages"
            text += f", {seconds(sent.seconds)}" if sent.seconds else ""
            stacks.append(Stack(phase, total / most, segments, text))
        totals = f"{size(result.bytes_up)} up, {size(result.bytes_down)} down, {number(result.messages)} messages"
        found.append((name, totals, stacks))
    return found
