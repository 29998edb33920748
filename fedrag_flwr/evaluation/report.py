"""The report: one self-contained HTML page with tables, figures and every answer."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence

from fedrag_flwr.evaluation.measures import comparable, contenders, label, number, points, seconds
from fedrag_flwr.evaluation.page import grids
from fedrag_flwr.evaluation.page.charts import Dot, histograms, scatter
from fedrag_flwr.evaluation.page.embed import embed
from fedrag_flwr.evaluation.page.grids import path_stacks, traffic, used_paths
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.scoring import SystemResult
from fedrag_flwr.evaluation.summary import Summary


def render_report(summary: Summary, rows: Sequence[AnswerRow], *, title: str = "") -> str:
    """Render the report of a run as one HTML page that needs no network; all texts are treated as untrusted.

    Parameters
    ----------
    summary, rows
        The run's summary and answers.
    title
        A name for the run, shown in the heading.
    """
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    from fedrag_flwr.evaluation.page.script import SCRIPT
    from fedrag_flwr.evaluation.page.style import STYLE
    from fedrag_flwr.evaluation.page.template import PARTS

    environment = Environment(
        loader=DictLoader(PARTS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    systems = summary.systems
    fair = comparable(systems)
    used = used_paths(systems)
    bins, bin_ticks = histograms(_latencies(systems, rows), used)
    embedded, shown = embed(rows, list(systems))
    asked = len({row.asked for row in rows})
    return environment.get_template("page").render(
        title=title,
        summary=summary,
        systems=systems,
        took=seconds(summary.manifest.seconds),
        questions=max((result.n for result in systems.values()), default=0),
        comparable=fair,
        highlights=_highlights(contenders(systems)) if fair else [],
        bounds=[name for name, result in systems.items() if result.upper_bound],
        quality=grids.quality(systems),
        cost=grids.cost(systems),
        plane=scatter(_dots(systems), ranked=fair),
        unmeasured=[name for name, result in systems.items() if result.latency_s.mean is None],
        replayed={name: points(result.replayed) for name, result in systems.items() if result.replayed},
        lost={name: result.missing_devices for name, result in systems.items() if result.missing_devices},
        paths=used,
        path_stacks=path_stacks(systems, used),
        path_grid=grids.path_grid(systems),
        histograms=bins,
        histogram_ticks=bin_ticks,
        abstention=grids.abstention(systems),
        kinds=grids.kinds(systems),
        devices=grids.devices(summary.devices, systems),
        builds=grids.builds(summary.devices),
        traffic=traffic(systems),
        shown=shown,
        asked=asked,
        embedded=embedded,
        style=Markup(STYLE),
        script=Markup(SCRIPT),
        script_hash=base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode(),
    )


def _highlights(systems: Mapping[str, SystemResult]) -> list[tuple[str, str, str]]:
    """Pick what a reader asks first: who is right most often, who is fastest, who abstains when it should."""
    found = []
    top = max(systems, key=lambda name: systems[name].acc)
    interval = systems[top].intervals.get("ACC")
    note = f"95% interval {points(interval.low)} to {points(interval.high)}" if interval else ""
    found.append(("Most accurate", top, f"ACC {points(systems[top].acc)}" + (f", {note}" if note else "")))
    timed = {name: r.latency_s.mean for name, r in systems.items() if r.latency_s.mean is not None}
    if timed:
        fastest = min(timed, key=lambda name: timed[name])
        p95 = systems[fastest].latency_s.p95
        found.append(("Fastest", fastest, f"{seconds(timed[fastest])} on average, p95 {seconds(p95)}"))
    asked = {name: r.llm_calls for name, r in systems.items() if r.answered}
    if asked:
        fewest = min(asked, key=lambda name: asked[name])
        found.append(("Fewest LLM calls", fewest, f"{number(asked[fewest])} per answer"))
    return found


def _dots(systems: Mapping[str, SystemResult]) -> list[Dot]:
    return [
        Dot(
            label(name, result),
            result.latency_s.mean,
            result.acc,
            interval.low if interval else result.acc,
            interval.high if interval else result.acc,
            result.upper_bound,
        )
        for name, result in systems.items()
        for interval in [result.intervals.get("ACC")]
        if result.latency_s.mean is not None
    ]


def _latencies(systems: Iterable[str], rows: Iterable[AnswerRow]) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {name: {} for name in systems}
    for row in rows:
        if row.answer is not None and not row.cost.replayed and row.system in found:
            found[row.system].setdefault(row.path, []).append(row.cost.seconds)
    return found
