"""The report in a real browser: tables sort, an answer opens down to what was read, and nothing else is asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, sync_playwright

from fedrag_flwr.evaluation import write_results
from fedrag_flwr.records import ChosenPath, EvidenceUnit, PathStep
from tests.evaluation.made_up_run import make_run

CHROMIUM = shutil.which("chromium")
READ = "The tower of Port Ferren is 47 metres high."

ODD = "<b>Keel</b>"  # a name that would be markup, were it not text
PATH = ChosenPath(
    "ferren#0",
    "port ferren",
    2.5,
    0.4,
    (ODD,),
    (
        PathStep(ODD, "founded", "Port Ferren", "keel#1"),
        PathStep("The light tower at the very end of the long northern mole", "stands in", "Port Ferren", "ferren#0"),
    ),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the report is not opened")


class Opened:
    """A page with what it said and asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", self._request)

    def _request(self, request: Request) -> None:
        self.asked.append(request.url)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(30)
    answers = {
        name: [
            replace(answer, evidence=(EvidenceUnit("u", READ, "people", 0.5, "Ferren"),), paths=(PATH,))
            for answer in given
        ]
        for name, given in run.answers.items()
    }
    folder = write_results(
        tmp_path_factory.mktemp("browser"),
        "run",
        run.manifest,
        run.systems,
        answers,
        run.gold,
        run.builds,
        with_evidence=True,
    )
    return folder / "report.html"


@pytest.fixture(scope="module")
def opened(report: Path) -> Iterator[Opened]:
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = Opened(browser.new_page())
        opened.page.goto(report.as_uri())
        yield opened
        browser.close()


def shown(page: Page, table: str, column: int) -> list[float]:
    cells = page.locator(f"#{table}-table tbody tr td:nth-child({column})")
    return [float(value) for value in cells.evaluate_all("cells => cells.map((cell) => cell.dataset.value)")]


def test_a_table_sorts_both_ways(opened: Opened) -> None:
    head = opened.page.locator("#quality-table thead th").nth(1)
    for direction in ("descending", "ascending"):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        values = shown(opened.page, "quality", 2)
        assert len(values) >= 3
        assert values == sorted(values, reverse=direction == "descending")
        assert values != sorted(values, reverse=direction != "descending")


def test_an_answer_opens_down_to_what_was_read(opened: Opened) -> None:
    page = opened.page
    first = page.locator("#list button.open").first
    first.wait_for()
    assert page.locator("#list tr.detail").count() == 0
    first.click()
    detail = page.locator("#list tr.detail")
    assert detail.count() == 1
    evidence = detail.locator("details").first
    assert not evidence.locator("li").first.is_visible()
    evidence.locator("summary").click()
    assert evidence.locator("li").first.inner_text() == f"Ferren: {READ}"
    paths = detail.locator("details.paths").first
    assert not paths.locator("svg").is_visible()
    paths.locator("summary").click()
    picture = paths.locator("svg")
    assert picture.get_attribute("role") == "img"
    assert ODD in str(picture.get_attribute("aria-label"))
    names = picture.locator("g.vertex text.name")
    assert names.all_text_contents()[:2] == [ODD, "Port Ferren"]
    assert names.nth(2).text_content() == "The light tower at the very end of the lo…"
    assert picture.locator("g.vertex title").nth(2).text_content() == PATH.steps[1].head
    assert picture.locator("g.asked").count() == 1
    assert picture.locator("g.bridge text.name").all_text_contents() == ["Port Ferren"]
    boxes = [box for box in (picture.locator("rect").nth(i).bounding_box() for i in range(3)) if box]
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    frame = picture.bounding_box()
    assert frame is not None
    assert all(frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"] for box in boxes)
    first.press("Enter")  # by keyboard it closes again
    assert page.locator("#list tr.detail").count() == 0


def test_nothing_is_said_on_the_console_and_no_other_host_is_asked(opened: Opened, report: Path) -> None:
    opened.page.locator("#list button.open").first.wait_for()
    assert opened.said == []
    assert opened.asked == [report.as_uri()]
