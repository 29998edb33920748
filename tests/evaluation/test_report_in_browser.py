"""The report in a real browser: answers open and are filtered, and nothing else is asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from fedrag_flwr.evaluation import write_results
from tests.evaluation.made_up_run import make_run

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
