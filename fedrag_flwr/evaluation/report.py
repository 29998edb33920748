"""The report: one self-contained HTML page with tables, figures and every answer."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.answering.explain import marked
from fedrag_flwr.evaluation import charts, table
from fedrag_flwr.evaluation.measures import points, seconds
from fedrag_flwr.evaluation.page import PAGE, SCRIPT, STYLE
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.summary import Summary
from fedrag_flwr.path_drawing import drawn

if TYPE_CHECKING:
    from markupsafe import Markup
    from pandas import DataFrame

_BUDGET = 550_000  # characters of the list of answers; keeps the page under 1 MB
_MARKUP = 400  # of an answer, about


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question as the page lists it: who was right, and all systems' answers."""

    outcome: str
    rows: tuple[AnswerRow, ...]

    @property
    def first(self) -> AnswerRow:
        """Where the question itself stands."""
        return self.rows[0]


def render_report(summary: Summary, rows: Sequence[AnswerRow], *, title: str = "") -> str:
    """Render the report of a run as one HTML page that needs no network; all texts are treated as untrusted.

    `title`: a name for the run, shown in the heading.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    systems = summary.systems
    return environment.from_string(PAGE).render(
        title=title,
        summary=summary,
        systems=systems,
        took=seconds(summary.manifest.seconds),
        asked=len({row.question_id for row in rows}) or max((result.n for result in systems.values()), default=0),
        bounds=[name for name, result in systems.items() if result.upper_bound],
        quality=_html(table.quality(systems), "Answer quality in points, means over devices; latency per answer"),
        intervals=_html(table.intervals(systems), "ACC with intervals, and the paired difference to the best system"),
        by_path=_html(table.by_path(systems), "What each path answers (FD-RAG table 2)"),
        declined=_html(table.declined(systems), "Share of questions that a system declined, in %"),
        kinds=_html(table.kinds(systems), "ACC by kind of question, in points"),
        by_device=_html(table.by_device(summary.devices, systems), "ACC by device, in points"),
        costs=_html(
            table.costs(systems),
            "Model calls and tokens per answer; messages and bytes of the whole run, where what several systems share "
            "alike is sent once and counted at the first of them",
        ),
        builds=_html(table.builds(summary.devices), "What each device's memory cost to build"),
        traffic=_html(table.traffic(systems), "Traffic by phase"),
        plane=Markup(charts.plane(systems)),
        shares=Markup(charts.shares(systems)),
        unmeasured=[name for name, result in systems.items() if result.latency_s.mean is None],
        replayed={name: points(result.replayed) for name, result in systems.items() if result.replayed},
        lost={name: result.missing_devices for name, result in systems.items() if result.missing_devices},
        questions=_listed(rows),
        verdict=_verdict,
        mark=lambda row: {"right": "✓", "wrong": "✗"}.get(_verdict(row), "–"),
        marked=marked,
        seconds=seconds,
        path_text=drawn,
        style=Markup(STYLE),
        script=Markup(SCRIPT),
        script_hash=base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode(),
    )


def _html(frame: DataFrame, caption: str) -> Markup:
    from markupsafe import Markup, escape
    from pandas import option_context

    with option_context("display.max_colwidth", None):
        text = frame.to_html(border=0, index_names=False, max_rows=None)
    return Markup('<div class="scroll">{}</div>').format(
        Markup(text.replace("<thead>", f"<caption>{escape(caption)}</caption><thead>", 1))
    )


def _listed(rows: Sequence[AnswerRow]) -> list[AskedQuestion]:
    """The questions with all systems' answers, as many as the page has room for."""
    asked: dict[str, list[AnswerRow]] = {}
    for row in rows:
        asked.setdefault(row.question_id, []).append(row)
    found, left = [], _BUDGET
    for own in asked.values():
        texts = (text for row in own for text in (row.answer or "", row.explanation, row.told, *row.evidence))
        left -= sum(map(len, texts)) + _MARKUP * len(own)
        if left < 0:
            break
        right = sum(row.right for row in own)
        outcome = "all" if right == len(own) else "differ" if right else "none"
        found.append(AskedQuestion(outcome, tuple(own)))
    return found


def _verdict(row: AnswerRow) -> str:
    if row.right:
        return "right"
    return "none" if row.answer is None or row.path == "abstained" else "wrong"
