"""Documents that come, change and go while a service watches them, and files that people put there by the page."""

import asyncio
import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from fedrag_flwr.cli import app
from fedrag_flwr.errors import ServiceBusyError, SourceError
from fedrag_flwr.records import BuildReport
from fedrag_flwr.service.protocol import DOCUMENTS, READING
from fedrag_flwr.service.watching import Documents, put_document, watched
from tests.service.running import CANARY, SETTINGS, free_port
from tests.service.service_process import ServiceProcess, service_process

RULES = "The boat house opens at seven. The key of the boat house hangs at {who}'s desk.\n"
QUESTION = "Where does the key of the boat house hang?"


@pytest.fixture(scope="module")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    base = tmp_path_factory.mktemp("watching")
    documents = base / "documents"
    documents.mkdir()
    (documents / "rules.txt").write_text(RULES.format(who=CANARY))
    made = service_process(
        "club", base / "home", documents, SETTINGS, generator="smollm2-135m", port=free_port(), watch=True
    )
    with made as service:
        until(service, added=1)
        yield service


def call(service: ServiceProcess, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/octet-stream"}
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    told: dict[str, object] = json.loads(response.read())
    return response.status, told


def until(service: ServiceProcess, **counts: int) -> None:
    """Wait for a reading with these counts."""
    deadline = time.monotonic() + 60
    while True:
        _, told = call(service, "GET", READING)
        found = told["counts"]
        assert isinstance(found, dict)
        if told["state"] == "done" and counts.items() <= found.items():
            return
        assert time.monotonic() < deadline, told
        time.sleep(0.1)


def evidence(service: ServiceProcess) -> str:
    with service.client() as client:
        return json.dumps([client.ask(QUESTION)[part] for part in ("evidence", "near")])


def test_what_stands_in_a_changed_moved_or_removed_file_is_what_answers(watching: ServiceProcess) -> None:
    service = watching
    assert CANARY in evidence(service)
    (service.documents / "rules.txt").write_text(RULES.format(who="the caretaker"))
    until(service, changed=1)
    told = evidence(service)
    assert "caretaker" in told
    assert CANARY not in told
    (service.documents / "rules.txt").rename(service.documents / "house.txt")
    until(service, added=1, removed=1)
    assert "caretaker" in evidence(service)
    (service.documents / "other.txt").write_text("The tea room closes at five in winter.\n")
    until(service, documents=2, added=1)
    (service.documents / "house.txt").unlink()
    until(service, documents=1, removed=1)
    assert "caretaker" not in evidence(service)
    kept = b"".join(file.read_bytes() for file in service.root.rglob("*") if file.is_file())
    assert CANARY.encode() not in kept


def test_a_file_of_the_page_is_read_at_once(watching: ServiceProcess) -> None:
    status, told = call(watching, "POST", f"{DOCUMENTS}/{quote('opening hours.md')}", b"# Pool\n\nThe pool opens at 6.")
    assert (status, told["state"]) == (200, "done")
    assert (watching.documents / "opening hours.md").read_bytes() == b"# Pool\n\nThe pool opens at 6."
    with watching.client() as client:
        assert "opens at 6" in json.dumps(client.ask("When does the pool open?")["evidence"])


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("..%2Fout.md", 405),
        ("%2Fetc%2Fout.md", 405),
        (".hidden.md", 409),
        ("run.exe", 409),
        ("a%00b.md", 409),
        ("opening%20hours.md", 409),
        ("a" * 300 + ".md", 409),
    ],
)
def test_a_file_that_may_not_be_there_is_refused(watching: ServiceProcess, name: str, error: int) -> None:
    (watching.documents / "opening hours.md").write_text("The pool opens at 6.")
    before = sorted(watching.documents.parent.rglob("*.md"))
    status, told = call(watching, "POST", f"{DOCUMENTS}/{name}", b"The pool never opens.")
    assert status == error
    assert set(told) == {"error", "what"}
    assert sorted(watching.documents.parent.rglob("*.md")) == before
    assert (watching.documents / "opening hours.md").read_text() == "The pool opens at 6."


def test_a_file_that_cannot_be_read_is_named(watching: ServiceProcess) -> None:
    status, told = call(watching, "POST", f"{DOCUMENTS}/scan.pdf", b"%PDF-1.4 nothing")
    assert status == 200
    failed = told["failed"]
    assert isinstance(failed, list)
    assert any("scan.pdf" in one for one in failed)
    (watching.documents / "scan.pdf").unlink()


def test_without_a_folder_nothing_is_watched_or_put_anywhere(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no folder"):
        put_document(None, "a.md", b"a")
    config = tmp_path / "device.toml"
    config.write_text('device-name = "club"\n')
    config.chmod(0o600)
    told = CliRunner().invoke(app, ["serve", "--config", str(config), "--watch"])
    assert told.exit_code
    assert "no folder to watch" in told.output


def test_a_reading_that_fails_ends_neither_the_watch_nor_the_service(tmp_path: Path) -> None:
    calls: list[int] = []

    async def read() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            raise ServiceBusyError("too much waits", where="writes", seconds=1.0)

    async def follow() -> None:
        async with asyncio.timeout(30), watched(tmp_path, read):
            for reading in (1, 2, 3):
                while len(calls) < reading:
                    await asyncio.sleep(0.05)
                (tmp_path / f"{reading}.md").write_text("The pool opens at 6.")

    asyncio.run(follow())
    assert len(calls) >= 3


def test_what_is_unexpected_is_told_without_its_text() -> None:
    def build() -> BuildReport:
        raise ValueError(CANARY)

    documents = Documents(build)
    documents.read()
    assert documents.reading.state == "failed"
    assert "unexpected" in documents.reading.what
    assert CANARY not in documents.reading.what
