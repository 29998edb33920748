"""The page in a real browser, by keyboard alone: ask, see evidence, walk through the memory; texts stay texts."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.records import Answer, AnswerBatch, Delta, MemoryItem, because
from fedrag_flwr.service.config import device_config
from fedrag_flwr.service.resident import Resident
from tests.service.page_screenshots import served
from tests.strategies.federation import DOCUMENTS

CHROMIUM = shutil.which("chromium")
TOKEN = "token-of-this-test"
HARM = "<img src=x onerror=\"document.body.dataset.harmed='yes'\">"
SETTINGS = {
    "models.generator": "smollm2-135m",
    "memory.tokens-per-kilotoken": 0,
    "memory.alpha": 0.7,
    "memory.delta": 0.8,
    "inference.abstain-below": 0.4,
    "inference.max-answer-tokens": 8,
}
BUILT = ["Alder", "Aspen", "Birch", "Cedar", "Elder", "Hazel", "Holly", "Larch", "Maple", "Poplar", "Rowan", "Willow"]
SPANS = "# Spans of Vessland\n\n" + " ".join(  # memories for two pages of the list
    f"{name} Bridge was built by {builder} Moss in {1800 + year}."
    for year, (name, builder) in enumerate(zip(BUILT, cycle(("Edda", "Karl", "Nils")), strict=False))
)
ODD = {
    "id": "odd",
    "title": f"Odd {HARM}",
    "text": f"The Odd Tower {HARM} stands on Port Ferren. It was built by <script>alert(1)</script> in 1777.",
}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the page is not opened")


@dataclass(frozen=True)
class Shown:
    """A served device."""

    resident: Resident
    url: str


@dataclass
class Opened:
    """A page with what it said and asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def tab_to(self, target: Locator, key: str = "Tab") -> None:
        """Go on by one key until an element has the focus, and see that it shows."""
        for _ in range(120):
            if target.evaluate("node => node === document.activeElement"):
                assert target.evaluate("node => node.matches(':focus-visible')")
                return
            self.page.keyboard.press(key)
        raise AssertionError("the keyboard does not lead there")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    root = tmp_path_factory.mktemp("page")
    documents = root / "documents"
    documents.mkdir()
    texts = {**DOCUMENTS["bridges"], **DOCUMENTS["harbours"], "spans.md": SPANS, "odd.jsonl": json.dumps(ODD)}
    for name, text in texts.items():
        (documents / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(root / "home"))
        own = {"device-name": "desk", "data-path": str(documents), "outbox": True, "settings": SETTINGS}
        resident = Resident(device_config(own))
        with resident.device() as device:
            device.build()
            plant(device.store)
        with served(resident, TOKEN) as url:
            yield Shown(resident, url)


def plant(store: MemoryStore) -> None:
    """A memory of another device whose texts are markup."""
    embedding = store.items()[0].embedding
    texts = (f"Who drew {HARM}?", HARM, HARM, HARM, ("x",), (HARM,))
    store.import_delta(Delta("shared-memory", 0, 1, (MemoryItem(HARM, *texts, embedding, f"far {HARM}"),), ()))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(shown: Shown, browser: Browser) -> Iterator[Opened]:
    with browser.new_context() as context:
        opened = Opened(context.new_page())
        opened.watch()
        opened.page.goto(shown.url)
        enter_token(opened.page)
        yield opened
        expect(opened.page.locator("body")).not_to_have_attribute("data-harmed", "yes")
        assert opened.page.locator("img").count() == 1  # the page's own
        assert opened.said == []
        assert all(url.startswith(shown.url + "/") for url in opened.asked)


def enter_token(page: Page) -> None:
    """The dialog has the focus by itself."""
    page.locator("#token-dialog[open]").wait_for()
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#device")).to_have_text("desk")


def test_a_question_is_asked_and_its_evidence_read_by_keyboard(opened: Opened) -> None:
    page = opened.page
    opened.tab_to(page.locator("#question"))
    page.keyboard.type("Who designed Tarn Bridge?")
    page.keyboard.press("Enter")
    said = "Odile Varro From memory: Who designed Tarn Bridge? (sure)"
    expect(page.locator("#ask-status")).to_have_text(said, timeout=60_000)
    expect(page.locator("#writing")).to_be_empty()
    assert page.locator("#ask-status").get_attribute("aria-live") == "polite"
    card = page.locator("#answers article").first
    expect(card.locator(".said")).to_have_text("Odile Varro")
    expect(card.locator(".meta")).to_contain_text("From memory: Who designed Tarn Bridge?")
    expect(card.locator(".tag")).to_have_text("sure")
    assert "calls of the model" not in card.inner_text()  # numbers are folded
    opened.tab_to(card.locator(".numbers summary"))
    page.keyboard.press("Enter")
    expect(card.locator(".numbers")).to_contain_text("0 calls of the model")
    evidence = card.locator(".evidence li")
    expect(evidence.first).to_contain_text("designed by the engineer Odile Varro")
    expect(evidence.first.locator("mark")).to_have_text("Odile Varro")
    opened.tab_to(card.get_by_role("button", name="Good answer"))
    page.keyboard.press("Enter")
    expect(card.get_by_role("button", name="Good answer")).to_have_attribute("aria-pressed", "true")

    opened.tab_to(evidence.first.locator("a"), "Shift+Tab")
    page.keyboard.press("Enter")
    title = page.locator("#view h1")
    expect(title).to_be_focused()
    expect(title).to_have_text("Tarn Bridge")
    edge = page.locator("#view a[href^='#hyperedge/']").first
    opened.tab_to(edge)
    page.keyboard.press("Enter")
    expect(title).to_have_text(f"Hyperedge {edge_id(page)}")
    walk_on(opened)


def walk_on(opened: Opened) -> None:
    """From one hyperedge to the next one and to a document of its members, all in the picture."""
    page = opened.page
    picture = page.locator("#view svg")
    expect(picture).to_have_attribute("role", "group")
    members = picture.locator("a.member")
    rows = page.get_by_role("table", name="Members", exact=True).locator("tbody tr")
    assert 1 <= members.count() <= rows.count()
    widths = [float(str(tie.get_attribute("stroke-width"))) for tie in picture.locator("path.tie").all()]
    assert widths == sorted(widths, reverse=True)
    frame = picture.bounding_box()
    assert frame is not None
    for sealed in (sealed.bounding_box() for sealed in picture.locator("a text").all()):
        assert sealed is not None
        assert frame["x"] <= sealed["x"]
        assert sealed["x"] + sealed["width"] <= frame["x"] + frame["width"] + 1
    before = edge_id(page)
    opened.tab_to(picture.locator("a.beside").first)
    page.keyboard.press("Enter")
    expect(page.locator("#view h1")).not_to_have_text(f"Hyperedge {before}")
    opened.tab_to(page.locator("#view a.member").first)
    page.keyboard.press("Enter")
    expect(page.locator("#view .passage").first).to_be_visible()
    page.go_back()
    expect(page.locator("#view h1")).to_have_text(f"Hyperedge {edge_id(page)}")


def edge_id(page: Page) -> str:
    return page.url.partition("#hyperedge/")[2]


def test_memories_are_searched_and_turned_over_by_keyboard(opened: Opened) -> None:
    page = opened.page
    opened.tab_to(page.locator("nav a", has_text="Memory"))
    page.keyboard.press("Enter")
    expect(page.locator("#view h1")).to_be_focused()
    status = page.locator("#view p[role=status]")
    expect(status).to_contain_text("1 to 20 of")
    opened.tab_to(page.get_by_role("button", name="Later"))
    page.keyboard.press("Enter")
    expect(status).to_contain_text("21 to ")
    opened.tab_to(page.locator("#words"), "Shift+Tab")
    page.keyboard.type("tarn VARRO")
    page.keyboard.press("Enter")
    rows = page.locator("#view tbody tr")
    expect(rows.first).to_contain_text("Varro")
    assert all("Tarn" in text and "Varro" in text for text in rows.all_inner_texts())
    opened.tab_to(rows.first.locator("a"))
    page.keyboard.press("Enter")
    expect(page.locator("#view .units blockquote").first).to_contain_text("Odile Varro")


def test_markup_in_documents_and_memories_is_text(opened: Opened, shown: Shown) -> None:
    page = opened.page
    page.goto(f"{shown.url}/#document/odd")
    expect(page.locator("#view h1")).to_contain_text(HARM)
    expect(page.locator("#view .passage").first).to_contain_text("<script>alert(1)</script>")
    page.locator("#view a[href^='#hyperedge/']").first.click()
    expect(page.locator("#view a.member").first).to_be_visible()
    page.goto(f"{shown.url}/#memory")
    page.locator("#words").fill("drew")
    page.keyboard.press("Enter")
    row = page.locator("#view tbody tr", has_text="Who drew")
    expect(row).to_contain_text(f"Who drew {HARM}?")
    row.locator("a").click()
    expect(page.locator("#view .said")).to_have_text(HARM)
    expect(page.locator("#view dl")).to_contain_text(f"far {HARM}")
    page.goto(f"{shown.url}/#shared")
    expect(page.get_by_role("table", name="Memories by origin")).to_contain_text(f"far {HARM}")


def test_help_that_comes_later_appears_by_itself(opened: Opened, shown: Shown) -> None:
    page = opened.page
    card = let_wait(page, "Where was the Duke of Pell born?")
    page.goto(f"{shown.url}/#device-state")
    expect(page.locator("#view tbody tr")).to_contain_text("Duke of Pell")
    [waiting] = waiting_ids(shown)
    with shown.resident.device() as device:
        told = because("help", "helped")
        answer = Answer(waiting, f"Lindmoor {HARM}", "remote", 0.8, ("museums/x", "people/y"), decisions=(told,))
        device.keep(AnswerBatch("desk", (answer,), (), 0.0))
    page.goto(f"{shown.url}/#ask")
    expect(card.locator(".later .said")).to_have_text(f"Lindmoor {HARM}", timeout=10_000)
    expect(card.locator(".later")).to_contain_text("From what these devices hold: museums, people")
    expect(page.locator("#ask-status")).to_contain_text("The federation answered")
    assert waiting_ids(shown) == []


def test_a_waiting_question_is_withdrawn(opened: Opened, shown: Shown) -> None:
    page = opened.page
    let_wait(page, "What did the Duke of Pell eat?")
    page.goto(f"{shown.url}/#device-state")
    page.get_by_role("button", name="Withdraw").click()
    expect(page.locator("#view p[role=status]")).to_have_text("The question is withdrawn.")
    assert waiting_ids(shown) == []


def let_wait(page: Page, question: str) -> Locator:
    """Ask what home does not know; gives the answer that says so."""
    page.locator("#question").fill(question)
    page.locator("#help").check()
    page.locator("#ask-button").click()
    card = page.locator("#answers article", has_text=question)
    expect(card.locator(".waiting")).to_be_visible(timeout=60_000)
    return card


def waiting_ids(shown: Shown) -> list[str]:
    with shown.resident.device() as device:
        return [one.id for one in device.waiting.outbox.waiting()]


def test_a_file_that_is_added_answers_at_once(opened: Opened, shown: Shown, tmp_path: Path) -> None:
    page, file = opened.page, tmp_path / "heron gate.md"
    file.write_text(f"# Heron Gate {HARM}\n\nHeron Gate was painted green by Tilda Rask.", encoding="utf-8")
    page.goto(f"{shown.url}/#device-state")
    documents = page.get_by_role("status").first
    expect(documents).to_have_text("Not read since the service started.")
    page.get_by_label("Add documents").set_input_files(file)
    expect(documents).to_contain_text("(1 added)", timeout=60_000)
    page.goto(f"{shown.url}/#ask")
    page.get_by_label("Your question").fill("Who painted Heron Gate?")
    page.keyboard.press("Enter")
    expect(page.locator("#answers")).to_contain_text("Tilda Rask", timeout=60_000)
    assert shown.resident.folder is not None
    (shown.resident.folder / file.name).unlink()
    page.goto(f"{shown.url}/#device-state")
    page.get_by_role("button", name="Read the documents again").click()
    expect(documents).to_contain_text("(1 removed)", timeout=60_000)


@pytest.mark.parametrize("width", [360, 1100])
def test_no_view_is_wider_than_the_screen(opened: Opened, width: int) -> None:
    page = opened.page
    page.set_viewport_size({"width": width, "height": 800})
    views = {
        "ask": "Ask this device",
        "memory": "Memory",
        "shared": "Shared",
        "device-state": "Device",
        "document/tarn-bridge": "Tarn Bridge",
    }
    for view, heading in views.items():
        page.goto(f"{page.url.partition('#')[0]}#{view}")
        expect(page.locator("h1:visible")).to_have_text(heading)  # what was shown before is gone
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        unnamed = page.locator("input:visible, textarea:visible, button:visible, meter:visible").evaluate_all(
            "nodes => nodes.filter((node) => !node.labels?.length && !node.textContent.trim()).length"
        )
        assert unnamed == 0, view


def test_a_wrong_token_is_asked_for_again(shown: Shown, browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(shown.url)
        page.locator("#token-dialog[open]").wait_for()
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#token-wrong")).to_have_text("That is not the token of this device.")
        assert page.locator("#device").inner_text() == "This device"
        enter_token(page)
        page.reload()  # the tab remembers it
        expect(page.locator("#device")).to_have_text("desk")


def test_what_is_not_there_is_said(shown: Shown) -> None:
    for kind in ("memories", "hyperedges", "documents"):
        with pytest.raises(HTTPError) as refused:
            urlopen(Request(f"{shown.url}/v1/{kind}/none", headers={"Authorization": f"Bearer {TOKEN}"}))
        assert refused.value.code == 404
        assert json.load(refused.value)["error"] == "NotFoundError"
