"""The report page: complete, self-contained, small, and deaf to hostile text."""

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import sync_playwright

from fedrag_flwr.evaluation.charts import frontier
from fedrag_flwr.evaluation.report import render_report
from fedrag_flwr.evaluation.results import read_answers, read_summary, write_results
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.scoring import score_system
from fedrag_flwr.evaluation.summary import Summary
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import AnswerPath, ChosenPath, EvidenceUnit, PathStep, because
from tests.evaluation.made_up_run import UPPER_BOUND, Run, make_run, with_upper_bound

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!--'{{ 7 * 7 }}{% raw %}\u2028"


class Outline(HTMLParser):
    """Collects the elements of a page, and every attribute that could reach out."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "href", "action", "data", "poster"):
                self.links.append(value or "")
            elif name.startswith("on"):
                self.handlers.append(name)
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


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    return parser


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Summary, list[AnswerRow], str]:
    return results(make_run(), tmp_path_factory.mktemp("report"))


def test_the_page_stands_alone(made: tuple[Summary, list[AnswerRow], str]) -> None:
    page = outline(made[2])
    assert {link[1:] for link in page.links if not link.startswith("#m")} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert page.handlers == []
    assert page.tags["script"] == 1
    assert "link" not in page.tags
    told = re.sub(r'xmlns(:\w+)?="[^"]*"', "", made[2])
    assert not re.search(r"@import|https?://", told)
    assert not re.search(r"url\((?!#)", told)
    assert "default-src 'none'" in told


def test_the_page_is_accessible(made: tuple[Summary, list[AnswerRow], str]) -> None:
    page = outline(made[2])
    assert len(page.ids) == len(set(page.ids))
    assert page.tags["caption"] == page.tags["table"]
    assert page.tags["svg"] == 2
    assert all("aria-label" in svg for svg in re.findall(r"<svg[^>]*>", made[2]))


def test_the_page_shows_what_the_summary_holds(made: tuple[Summary, list[AnswerRow], str]) -> None:
    summary, rows, page = made
    for name, result in summary.systems.items():
        assert name in page
        assert f"{100 * result.acc:.1f}" in page
    for device in summary.devices:
        assert device in page
    assert page.count('class="question"') == len(rows) / 3
    assert page.count('class="answer"') == len(rows)
    assert "replayed" in page
    assert "no-rag went on without" in page


def test_an_upper_bound_is_told_and_is_best_of_nothing(tmp_path: Path) -> None:
    summary, _, page = results(with_upper_bound(make_run(60)), tmp_path)
    assert summary.systems[UPPER_BOUND].acc == 1.0
    assert f"{UPPER_BOUND} (upper bound)" in page
    assert f"{UPPER_BOUND}: answers chosen by the gold" in page
    assert "vs memory-fusion" in page


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    _, _, page = results(hostile_run(), tmp_path)
    parsed = outline(page)
    assert "img" not in parsed.tags
    assert parsed.handlers == []
    assert parsed.tags["script"] == 1
    assert "{{ 7 * 7 }}" in page


def test_an_answer_says_where_it_comes_from_and_marks_it(tmp_path: Path) -> None:
    run = make_run(5)
    unit = EvidenceUnit("u", "The tower is 47 metres high.", "people", 0.5, "Port Ferren › Tower")
    path = ChosenPath("ferren#0", "port", 2.5, 0.4, ("<b>",), (PathStep("<b>", "founded", "Port", "keel#1"),))
    answers = {
        name: [replace(a, text="47 metres", path="cognizer", score=0.6, evidence=(unit,), paths=(path,)) for a in given]
        for name, given in run.answers.items()
    }
    folder = write_results(
        tmp_path, "run", run.manifest, run.systems, answers, run.gold, run.builds, with_evidence=True
    )
    page = (folder / "report.html").read_text()
    assert "<p>Read in Port Ferren › Tower (likely)</p>" in page
    assert "Port Ferren › Tower: The tower is <mark>47 metres</mark> high." in page
    assert "(Port)\n  ▲ founded   keel#1\n[&lt;b&gt;]" in page


@settings(max_examples=3)
@given(st.text(max_size=40))
def test_any_title_is_escaped(title: str) -> None:
    run = make_run(5)
    page = render_report(Summary(run.systems, {}, run.manifest), [], title=title + HOSTILE)
    assert outline(page).tags.get("img") is None


@pytest.mark.parametrize("count", [1, 2])
def test_small_runs_render(tmp_path: Path, count: int) -> None:
    assert "Federated RAG evaluation" in results(make_run(count), tmp_path)[2]


def test_a_run_without_measured_latency_renders(tmp_path: Path) -> None:
    run = make_run(10)
    answers = {
        name: [replace(a, cost=replace(a.cost, replayed=True)) for a in given] for name, given in run.answers.items()
    }
    systems = {name: score_system(run.gold, given, Traffic()) for name, given in answers.items()}
    page = results(replace(run, systems=systems, answers=answers, builds=[]), tmp_path)[2]
    assert "No latency was measured" in page
    assert "Without a measured latency" in page


def test_a_large_run_stays_under_a_megabyte(tmp_path: Path) -> None:
    run = make_run(400)
    long = "word " * 100
    noisy = {
        name: [a.decided(because("evidence", long + a.question_id)) for a in given]
        for name, given in run.answers.items()
    }
    _, _, page = results(replace(run, answers=noisy), tmp_path)
    assert len(page.encode()) < 1_000_000
    shown = page.count('class="question"')
    assert 150 < shown < 400
    assert f"The first {shown} of 400 questions" in page


def test_the_frontier_holds_who_is_not_beaten() -> None:
    assert frontier({"fast": (0.1, 50.0), "good": (2.0, 70.0), "beaten": (2.5, 60.0)}) == {"fast", "good"}
    assert frontier({}) == set()


CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the report is not opened")
def test_answers_open_and_are_filtered_and_no_other_host_is_asked(tmp_path: Path) -> None:
    run = make_run(30)
    folder = write_results(tmp_path, "run", run.manifest, run.systems, run.answers, run.gold, run.builds)
    address = (folder / "report.html").as_uri()
    said: list[str] = []
    asked: list[str] = []
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        first = page.locator(".question").first
        assert not first.locator(".answer").first.is_visible()
        first.locator("summary").first.click()
        assert first.locator(".answer").first.is_visible()
        assert page.locator("#count").inner_text() == "30 of 30 questions"
        page.locator("#search").fill(run.gold[0].text)
        assert 1 <= page.locator(".question:visible").count() < 30
        page.locator("#search").fill("")
        page.locator("#outcome").select_option("none")
        assert page.locator(".question:visible").count() == page.locator('[data-outcome="none"]').count() < 30
        browser.close()
    assert said == []
    assert asked == [address]
