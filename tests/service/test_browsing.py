"""The views over HTTP, the page's files, and who is kept away."""

import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from types import SimpleNamespace
from typing import cast
from urllib.parse import quote

import numpy as np
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.views import view_device, view_document, view_hyperedge, view_memories, view_memory
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.privacy.ledger import BUDGET, BudgetLedger
from fedrag_flwr.privacy.outgoing import FILE, OutgoingLedger
from fedrag_flwr.service.accounting import view_shared
from fedrag_flwr.service.application import error_response
from fedrag_flwr.service.browse import STATIC, add_views
from fedrag_flwr.service.guarding import OwnSiteOnly
from fedrag_flwr.settings import Settings
from tests.memory.store.samples import delta, memory, new_document, open_store, two_documents

HERE = "http://127.0.0.1:8100"
ODD = "wards/übersicht #2?.md"  # a document's id may be any file's name


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeDevice]:
    root = tmp_path_factory.mktemp("browsing")
    with open_store(root / "store") as store:
        store.apply(two_documents())
        store.apply(Change(documents=(new_document(ODD),), items=(memory("m/odd", [f"{ODD}/0/0"]),)))
        store.import_delta(delta(memory("far", origin="b", hyperedges=["x"])))
        models = SimpleNamespace(generator_id="tiny-1")
        parts = SimpleNamespace(store=store, settings=Settings(), kept=root / "kept", models=models)
        yield cast(EdgeDevice, parts)


@pytest.fixture(scope="module")
def client(window: EdgeDevice) -> Iterator[TestClient]:
    app = FastAPI()
    add_views(app, lambda: nullcontext(window))
    app.add_middleware(OwnSiteOnly, refuse=error_response)
    with TestClient(app, base_url=HERE) as client:
        yield client


def plain(value: object) -> object:
    """A record as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def test_the_views_are_what_the_store_holds(client: TestClient, window: EdgeDevice) -> None:
    store: MemoryStore = window.store
    for path, view in (
        ("device", view_device(store, "tiny-1")),
        ("memories?query=edition&offset=1&limit=2", view_memories(store, "edition", 1, 2)),
        ("memories/m12", view_memory(store, "m12")),
        ("memories/m/odd", view_memory(store, "m/odd")),
        ("hyperedges/h1", view_hyperedge(store, "h1")),
        ("documents/d1", view_document(store, "d1")),
        (f"documents/{quote(ODD, safe='')}", view_document(store, ODD)),
    ):
        told = client.get(f"/v1/{path}")
        assert told.status_code == 200, path
        assert told.json() == plain(asdict(view)), path


@pytest.mark.parametrize("query", ["offset=-1", "limit=0", "limit=201", "limit=x", f"query={'x' * 501}", "offset=1e9"])
def test_what_is_out_of_range_is_refused(client: TestClient, query: str) -> None:
    assert client.get(f"/v1/memories?{query}").status_code == 422


def test_nothing_can_be_changed_through_the_views(client: TestClient) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("memories", "memories/m1", "hyperedges/h1", "documents/d1", "shared"):
            assert client.request(method, f"/v1/{path}").status_code == 405, (method, path)


def test_what_left_is_told_with_budgets_settings_and_origins(client: TestClient, window: EdgeDevice) -> None:
    before = client.get("/v1/shared").json()
    assert (before["kinds"], before["newest"], before["budgets"]) == ([], [], [])
    assert not window.kept.exists()  # looking leaves nothing behind
    outgoing = OutgoingLedger(window.kept / FILE)
    outgoing.note("items", ["ab", "c"], 1)
    outgoing.note("vectors", [np.zeros(8, dtype=np.float32)])
    outgoing.write("run", "query.share", 500)
    outgoing.close()
    budget = BudgetLedger(window.kept / BUDGET, 10.0)
    budget.spend("entity", "epoch 0", 1.5)
    budget.close()
    told = client.get("/v1/shared").json()
    assert told == plain(asdict(view_shared(window.store, window.settings, window.kept)))
    assert {row["kind"]: (row["count"], row["bytes"], row["withheld"]) for row in told["kinds"]} == {
        "items": (2, 3, 1),
        "vectors": (1, 16, 0),
        "query.share": (1, 500, 0),
    }
    [entities] = told["budgets"]
    assert (entities["whose"], entities["account"]["most"], entities["account"]["limit"]) == ("entities", 1.5, 10.0)
    assert {"name": "privacy.export", "value": "type-masking"} in told["held"]
    assert told["origins"] == [{"name": "a", "memories": 4, "own": True}, {"name": "b", "memories": 1, "own": False}]


FILES = ["", *(f"static/{path.name}" for path in sorted(STATIC.iterdir())), "static/answer_paths.js"]


@pytest.mark.parametrize("file", FILES)
def test_the_page_is_of_this_host_alone_with_nothing_inline(client: TestClient, file: str) -> None:
    told = client.get(f"/{file}")
    assert told.status_code == 200
    policy = told.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert told.headers["x-content-type-options"] == "nosniff"
    assert set(re.findall(r"\w+://[\w.]+", told.text)) <= {"http://www.w3.org"}  # the name of SVG's elements
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\b", told.text)
    if not file:
        assert not re.search(r"<style|\son\w+=|\sstyle=|<script(?![^>]*\ssrc=)", told.text)
    if file.endswith(".js"):
        assert told.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("path", ["static/../browsing.py", "static/%2e%2e/browsing.py", "static//etc/passwd", "none"])
def test_no_other_file_is_served(client: TestClient, path: str) -> None:
    assert client.get(f"/{path}").status_code == 404


REQUESTS: list[tuple[dict[str, str], int]] = [
    ({}, 200),
    ({"origin": HERE, "sec-fetch-site": "same-origin"}, 200),
    ({"origin": "http://127.0.0.1:9999"}, 403),
    ({"origin": "https://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://localhost:8100", "host": "localhost:8100"}, 200),
    ({"origin": "http://localhost:8100"}, 403),
    ({"sec-fetch-site": "none"}, 200),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), REQUESTS)
def test_other_sites_are_kept_away(client: TestClient, headers: dict[str, str], status: int) -> None:
    told = client.get("/v1/memories", headers=headers)
    assert told.status_code == status
    assert "frame-ancestors 'none'" in told.headers["content-security-policy"]
    assert told.headers["cache-control"] == "no-store"
    if status != 200:
        assert set(told.json()) == {"error", "what"}
