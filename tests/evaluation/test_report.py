"""The report page: complete, self-contained, small, and deaf to hostile text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.evaluation import AnswerRow, Summary, read_answers, read_summary, render_report, write_results
from fedrag_flwr.evaluation.measures import COST
from fedrag_flwr.evaluation.page import grids
from fedrag_flwr.evaluation.page.charts import Dot, histograms, scatter
from fedrag_flwr.records import AnswerPath, EvidenceUnit, because
from tests.evaluation.made_up_run import UPPER_BOUND, Run, make_run, with_upper_bound

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!--'{{ 7 * 7 }}{% raw %}\u2028"
CHROMIUM = shutil.which("chromium")


class Outline(HTMLParser):
    """Collects the elements of a page, and every attribute that could reach out."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "href", "action", "data", "poster"):
                self.links.append(value or "")
            elif name.startswith("on"):
                self.handlers.append(name)
            elif name in ("aria-labelledby", "aria-describedby"):
                self.references += (value or "").split()
            elif name == "id":
                self.ids.append(value or "")


def results(run: Run, root: Path) -> tuple[Summary, list[AnswerRow], str]:
    folder = write_results(root, "run", run.manifest, run.systems, run.answers, run.gold, run.builds)
    return read_summary(folder), read_answers(folder), (folder / "report.html").read_text()


def hostile_run() -> Run:
    """Make a run in which every text that a device or a data set could choose is hostile."""
    run = make_run(30)
    return replace(
        run,
        systems={name + HOSTILE: replace(r, missing_devices={HOSTILE: HOSTILE}) for name, r in run.systems.items()},
        answers={
            name + HOSTILE: [
                replace(
                    a,
                    text=HOSTILE,
                    path=cast(AnswerPath, a.path + HOSTILE),
                    decisions=(because("memory", HOSTILE),),
                    sources=(HOSTILE,),
                )
                for a in given
            ]
            for name, given in run.answers.items()
        },
        gold=[replace(q, text=HOSTILE, answer=HOSTILE, aliases=(HOSTILE,), kind=HOSTILE) for q in run.gold],
        builds=[replace(build, device=HOSTILE) for build in run.builds],
        manifest=replace(run.manifest, settings={HOSTILE: HOSTILE}, models={HOSTILE: HOSTILE}),
    )


def embedded(page: str) -> tuple[list[str], list[dict[str, str]]]:
    """Unpack the systems and questions that a page carries."""
    match = re.search(r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert match
    content = json.loads(gzip.decompress(base64.b64decode(match[1])))
    return content["systems"], content["questions"]


def digests(text: str) -> str:
    """Make 512 characters that do not compress well."""
    return "".join(hashlib.sha256(f"{text}{number}".encode()).hexdigest() for number in range(8))


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    return parser


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Summary, list[AnswerRow], str]:
    return results(make_run(), tmp_path_factory.mktemp("report"))


def test_the_page_stands_alone(made: tuple[Summary, list[AnswerRow], str]) -> None:
    page = outline(made[2])
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.handlers == []
    assert page.tags["script"] == 2
    assert "link" not in page.tags
    assert not re.search(r"url\(|@import|https?://", made[2])
    assert "default-src 'none'" in made[2]


def test_the_page_is_accessible(made: tuple[Summary, list[AnswerRow], str]) -> None:
    page = outline(made[2])
    assert len(page.ids) == len(set(page.ids))
    assert set(page.references) <= set(page.ids)
    assert page.tags["caption"] == made[2].count('<table class="sortable"')
    assert all("aria-label" in svg for svg in re.findall(r"<svg[^>]*>", made[2]))
    for table in re.findall(r'<table class="sortable".*?</thead>', made[2], re.DOTALL):
        assert table.count("<th ") == table.count("<button")


def test_the_page_shows_what_the_summary_holds(made: tuple[Summary, list[AnswerRow], str]) -> None:
    summary, rows, page = made
    for name, result in summary.systems.items():
        assert name in page
        assert f"{100 * result.acc:.1f}" in page
    for device in summary.devices:
        assert device in page
    systems, questions = embedded(page)
    assert systems == list(summary.systems)
    assert len(questions) == len(rows) / 3
    assert "replayed" in page
    assert "no-rag went on without" in page


def test_an_upper_bound_is_told_and_is_best_of_nothing(tmp_path: Path) -> None:
    summary, _, page = results(with_upper_bound(make_run(60)), tmp_path)
    assert summary.systems[UPPER_BOUND].acc == 1.0
    named = f"{UPPER_BOUND} (upper bound)"
    assert f"{UPPER_BOUND}: answers chosen by the gold" in page
    assert UPPER_BOUND not in re.findall(r'<dd class="name">([^<]*)', page)
    assert "difference of ACC to memory-fusion" in page
    assert f"{named}: ACC 100.0 at\n0.001 seconds." in page  # and not on the frontier
    for grid in (grids.quality(summary.systems), grids.cost(summary.systems)):
        assert not any(cell.best for name, cells in grid.rows for cell in cells if name == named)
        assert any(cell.best for _, cells in grid.rows for cell in cells)
    for grid in (grids.kinds(summary.systems), grids.devices(summary.devices, summary.systems)):
        column = [heading for heading, _ in grid.headings].index(named)
        assert not any(cells[column].best for _, cells in grid.rows)


def test_costs_have_bars_beside_the_largest_of_their_column(made: tuple[Summary, list[AnswerRow], str]) -> None:
    summary, _, page = made
    for column, measure in enumerate(COST):
        values = [measure.value(result) for result in summary.systems.values()]
        longest = max(value for value in values if value is not None)
        bars = [cells[column].bar for _, cells in grids.cost(summary.systems).rows]
        assert bars == [pytest.approx((value or 0.0) / longest) for value in values]
    drawn = re.search(r'id="cost-table".*?</table>', page, re.DOTALL)
    assert drawn
    assert drawn[0].count('class="meter"') == len(COST) * len(summary.systems)


def test_nothing_measured_has_no_bar() -> None:
    run = make_run(5)
    unmeasured = {name: replace(result, peak_rss_mb=0.0, bytes_up=0) for name, result in run.systems.items()}
    grid = grids.cost(unmeasured)
    headings = [heading for heading, _ in grid.headings]
    assert {cells[headings.index("Peak memory")].bar for _, cells in grid.rows} == {None}
    assert {cells[headings.index("Up")].bar for _, cells in grid.rows} == {0.0}


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    _, _, page = results(hostile_run(), tmp_path)
    parsed = outline(page)
    assert "img" not in parsed.tags
    assert parsed.handlers == []
    assert parsed.tags["script"] == 2
    assert not any("49" in told for told in re.findall(r"owned[^<]{0,80}", page))
    assert "{{ 7 * 7 }}" in page
    assert embedded(page)[1][0]["question"] == HOSTILE


def test_the_drill_down_says_where_an_answer_comes_from_and_marks_it(tmp_path: Path) -> None:
    run = make_run(5)
    unit = EvidenceUnit("u", "The tower is 47 metres high.", "people", 0.5, "Port Ferren › Tower")
    answers = {
        name: [replace(a, text="47 metres", path="cognizer", score=0.6, evidence=(unit,)) for a in given]
        for name, given in run.answers.items()
    }
    folder = write_results(
        tmp_path, "run", run.manifest, run.systems, answers, run.gold, run.builds, with_evidence=True
    )
    page = (folder / "report.html").read_text()
    given = [answer for question in embedded(page)[1] for answer in cast(list[list[object]], question["answers"])]
    told = {(str(answer[11]), str(answer[9])) for answer in given if answer and answer[0] is not None}
    parts = ["Port Ferren › Tower: The tower is ", "47 metres", " high."]
    assert told == {("Read in Port Ferren › Tower (likely)", str([parts]))}


@settings(max_examples=5, deadline=None)
@given(st.text(max_size=40))
def test_any_title_is_escaped(title: str) -> None:
    run = make_run(5)
    page = render_report(Summary(run.systems, {}, run.manifest), [], title=title + HOSTILE)
    assert outline(page).tags.get("img") is None


@pytest.mark.parametrize("count", [1, 2, 5])
def test_small_runs_render(tmp_path: Path, count: int) -> None:
    assert "Federated RAG evaluation" in results(make_run(count), tmp_path)[2]


def test_a_run_without_measured_latency_renders(tmp_path: Path) -> None:
    run = make_run(10)
    answers = {
        name: [replace(a, cost=replace(a.cost, replayed=True)) for a in given] for name, given in run.answers.items()
    }
    from fedrag_flwr.evaluation import Traffic, score_system

    systems = {name: score_system(run.gold, given, Traffic()) for name, given in answers.items()}
    page = results(replace(run, systems=systems, answers=answers, builds=[]), tmp_path)[2]
    assert "No latency was measured" in page
    assert "Without a measured latency" in page


def test_a_large_run_stays_under_a_megabyte(tmp_path: Path) -> None:
    run = make_run(900)
    noisy = {
        name: [a.decided(because("evidence", digests(name + a.question_id))) for a in given]
        for name, given in run.answers.items()
    }
    _, _, page = results(replace(run, answers=noisy), tmp_path)
    assert len(page.encode()) < 1_000_000
    shown = len(embedded(page)[1])
    assert 300 < shown < 900
    assert f"The first {shown} of 900 questions" in page


def test_the_frontier_holds_who_is_not_beaten() -> None:
    dots = [Dot("fast", 0.1, 0.5, 0.4, 0.6), Dot("good", 2.0, 0.7, 0.6, 0.8), Dot("beaten", 2.5, 0.6, 0.5, 0.7)]
    plane = scatter(dots)
    assert plane is not None
    assert {mark.dot.name for mark in plane.marks if mark.frontier} == {"fast", "good"}
    for mark in plane.marks:
        assert plane.left <= mark.x <= plane.right
        assert plane.top <= mark.top <= mark.y <= mark.bottom <= plane.bottom
    assert scatter([]) is None


SECONDS = st.floats(0, 1e4)


@given(st.lists(st.tuples(SECONDS, st.floats(0, 1)), min_size=1, max_size=12))
def test_dots_and_ticks_stay_inside(values: list[tuple[float, float]]) -> None:
    plane = scatter([Dot(str(i), s, a, max(0, a - 0.1), min(1, a + 0.1)) for i, (s, a) in enumerate(values)])
    assert plane is not None
    assert len(plane.x_ticks) >= 1
    assert len(plane.y_ticks) >= 2
    for x in [mark.x for mark in plane.marks] + [tick.at for tick in plane.x_ticks]:
        assert plane.left - 0.01 <= x <= plane.right + 0.01
    for y in [mark.y for mark in plane.marks] + [tick.at for tick in plane.y_ticks]:
        assert plane.top - 0.01 <= y <= plane.bottom + 0.01


@given(st.dictionaries(st.sampled_from(["memorizer", "cognizer"]), st.lists(SECONDS, max_size=30)))
def test_histograms_stay_in_the_unit_square(latencies: dict[str, list[float]]) -> None:
    drawn, ticks = histograms({"system": latencies}, ["memorizer", "cognizer"])
    assert bool(drawn) == any(latencies.values())
    for bar in (bar for histogram in drawn for bar in histogram.bars):
        assert 0 <= bar.x < bar.x + bar.width <= 1.0001
        assert -0.0001 <= bar.y < bar.y + bar.height <= 1.0001
    assert all(0 <= tick.at <= 1 for tick in ticks)


def dumped(page: Path, profile: Path) -> str:
    """The page as Chromium has it once the script has run."""
    return subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=4000",
            f"--user-data-dir={profile}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the page's script is not run")
@pytest.mark.parametrize("hostile", [False, True])
def test_the_script_lists_the_answers(tmp_path: Path, hostile: bool) -> None:
    run = hostile_run() if hostile else make_run(30)
    results(run, tmp_path)
    dom = dumped(tmp_path / "run" / "report.html", tmp_path / "profile")
    assert dom.count('class="open"') == 25
    assert "30 questions, the first 25 shown" in dom
    assert "owned</title>" not in dom
    assert "img" not in outline(dom).tags


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the page's script is not run")
def test_who_was_not_asked_a_question_is_not_missing(tmp_path: Path) -> None:
    summary, rows, _ = results(make_run(5), tmp_path)
    partly = [row for row in rows if row.system != "local-rag" or row.question_id == "q000"]
    page = tmp_path / "partly.html"
    page.write_text(render_report(summary, partly), encoding="utf-8")
    dom = dumped(page, tmp_path / "profile")
    assert dom.count("– not asked</span>") == 4
