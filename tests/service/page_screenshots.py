"""Pictures of the page at a device, for docs/how-to/operate.md: a real service over the demo's documents.

    python -m tests.service.page_screenshots

Two devices of the demo are built under ``$FEDRAG_HOME/page-pictures``; a second call finds them, and forgets what they
shared. One helps the other with a question that waits, and they share their memories, by the messages of a run.
"""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.records import (
    AnswerBatch,
    AnswerRequest,
    BuildReport,
    BuildRequest,
    Delta,
    DescribeRequest,
    DeviceCard,
    EvidenceBatch,
    EvidenceRequest,
    FinishRequest,
    ImportReport,
    RetrieveRequest,
    ShareRequest,
    WaitingBatch,
    WaitingRequest,
)
from fedrag_flwr.service.application import make_application
from fedrag_flwr.service.config import device_config
from fedrag_flwr.service.resident import Resident
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.wire_bytes import from_bytes, to_bytes

KNOWN = "When did Dawn enter orbit around Ceres?"
HELPED = "What does the name of the Molniya rocket mean?"
RUN, TOKEN = "pictures", "token"
MOST_BYTES = 150_000
R = TypeVar("R")


def tell(resident: Resident, message_type: str, request: object, kind: type[R]) -> R:
    """Send a device one message of a run, and read its reply."""
    content = to_bytes(wire.encode(request, run=RUN))
    return wire.decode(from_bytes(resident.message(message_type, RUN, {}, content), message_type), kind, run=RUN)


def device(home: Path, name: str, **own: str | bool) -> Resident:
    """A device over one folder of the demo's documents."""
    config = {"device-name": name, "data-path": str(CORPUS / name), "home": str(home), "public-names": "demo", **own}
    resident = Resident(device_config(config))
    tell(resident, "train.build", BuildRequest(True), BuildReport)
    return resident


def exchange(asking: Resident, helping: Resident) -> None:
    """Both devices share their memories, and the asking one takes in the other's."""
    shared = [tell(one, "query.share", ShareRequest(0), Delta) for one in (asking, helping)]
    tell(asking, "query.import", shared[1], ImportReport)


def help_with_what_waits(asking: Resident, helping: Resident) -> None:
    """The steps of a run that serves: the question stays at home, its vector goes, evidence comes back."""
    waiting = tell(asking, "query.waiting", WaitingRequest(most=8, texts=False), WaitingBatch)
    asked = tell(asking, "query.answer", AnswerRequest("assisted", waiting.questions), AnswerBatch)
    wanted = tuple(EvidenceRequest(one.question_id, one.vector, (), 4) for one in asked.open)
    given = tell(helping, "query.retrieve", RetrieveRequest(wanted, "nearest"), EvidenceBatch)
    tell(asking, "query.finish", FinishRequest(waiting.questions, given.evidence), AnswerBatch)


@contextmanager
def served(resident: Resident, token: str) -> Iterator[str]:
    """The device's service on a free port of loopback; gives its address."""
    server = uvicorn.Server(uvicorn.Config(make_application(resident, token), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def opened(browser: Browser, url: str, width: int, height: int, scheme: str) -> Page:
    """The page in a window of its own, past the question for the token."""
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page.goto(url)
    page.locator("#token-dialog[open]").wait_for()
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    page.locator("#token-dialog").wait_for(state="hidden")
    return page


def ask(page: Page, question: str, *, help: bool) -> None:
    """Type a question and wait for home's answer."""
    before = page.locator("#answers article").count()
    page.locator("#question").fill(question)
    page.locator("#help").set_checked(help)
    page.locator("#ask-button").click()
    expect(page.locator("#answers article")).to_have_count(before + 1, timeout=120_000)


def save(page: Page, path: Path) -> None:
    """Take the picture; a larger one than belongs into a repository is an error."""
    page.wait_for_timeout(400)
    page.screenshot(path=path)
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{path.name} has more than {MOST_BYTES:,} bytes: take a smaller window")


def take(browser: Browser, url: str, out: Path, asking: Resident, helping: Resident) -> None:
    """Walk through the page and take the pictures."""
    page = opened(browser, url, 860, 900, "light")
    ask(page, HELPED, help=True)
    expect(page.locator(".waiting")).to_be_visible()
    help_with_what_waits(asking, helping)
    expect(page.locator(".later .said")).to_be_visible(timeout=20_000)
    page.locator("#answers-title").scroll_into_view_if_needed()
    save(page, out / "page-help.png")
    ask(page, KNOWN, help=False)
    page.evaluate("scrollTo(0, 0)")
    save(page, out / "page-ask.png")
    exchange(asking, helping)
    page.goto(f"{url}/#shared")
    save(page, out / "page-shared.png")
    page.goto(f"{url}/#document/dawn")
    page.locator("#view a[href^='#hyperedge/']").first.click()
    save(page, out / "page-hyperedge.png")
    address = page.url
    phone = opened(browser, url, 390, 780, "dark")
    phone.goto(address)
    save(phone, out / "page-phone.png")


def main(out: Path) -> None:
    """Make the devices, and take all pictures."""
    home = fedrag_home() / "page-pictures"
    shutil.rmtree(home / "privacy", ignore_errors=True)  # the account of the last call
    asking, helping = device(home, "missions", export="ldp", outbox=True), device(home, "launchers")
    tell(asking, "query.import", Delta(helping.name, 0, 1, (), ()), ImportReport)
    tell(asking, "query.describe", DescribeRequest(), DeviceCard)
    with served(asking, TOKEN) as url, sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take(browser, url, out, asking, helping)
        browser.close()
    helping.close()


if __name__ == "__main__":
    main(Path("docs/pictures"))
