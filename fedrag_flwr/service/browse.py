"""Read-only views of a device for the people at it, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.views import (
    DeviceView,
    DocumentView,
    HyperedgeView,
    MemoryPage,
    MemoryView,
    view_device,
    view_document,
    view_hyperedge,
    view_memories,
    view_memory,
)
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.path_drawing import PATH_PICTURE
from fedrag_flwr.service.accounting import SharedView, view_shared
from fedrag_flwr.settings import Settings

STATIC = Path(__file__).parent / "static"
_MOST_QUERY, _MOST_OFFSET, _MOST_LINES = 500, 10_000_000, 200
_ANSWER_PATHS = f'import {{ el, SVG }} from "./dom.js";\n{PATH_PICTURE}\nexport {{ drawn, pathPicture }};\n'


@dataclass(frozen=True, slots=True)
class Window:
    """What is looked at: a device's memory, the settings that it holds to, its ledgers' folder, its generator's id."""

    store: MemoryStore
    settings: Settings
    kept: Path
    generator: str

    @classmethod
    def of(cls, device: EdgeDevice) -> Window:
        """A window to an open device."""
        return cls(device.store, device.settings, device.kept, device.models.generator_id)


Look = Callable[[], AbstractContextManager[Window]]


def add_views(app: FastAPI, opened: Callable[[], AbstractContextManager[EdgeDevice]]) -> None:
    """Let an application show a device: the views, and the page."""

    @contextmanager
    def look() -> Iterator[Window]:
        with opened() as device:
            yield Window.of(device)

    app.include_router(make_router(look))
    add_page(app)


def make_router(look: Look) -> APIRouter:
    """Make the routes of the views."""
    router = APIRouter(prefix="/v1")

    @router.get("/device")
    def device() -> DeviceView:
        with look() as window:
            return view_device(window.store, window.generator)

    @router.get("/memories")
    def memories(
        query: Annotated[str, Query(max_length=_MOST_QUERY)] = "",
        offset: Annotated[int, Query(ge=0, le=_MOST_OFFSET)] = 0,
        limit: Annotated[int, Query(ge=1, le=_MOST_LINES)] = 20,
    ) -> MemoryPage:
        with look() as window:
            return view_memories(window.store, query, offset, limit)

    @router.get("/memories/{memory_id:path}")
    def memory(memory_id: str) -> MemoryView:
        with look() as window:
            return view_memory(window.store, memory_id)

    @router.get("/hyperedges/{hyperedge_id:path}")
    def hyperedge(hyperedge_id: str) -> HyperedgeView:
        with look() as window:
            return view_hyperedge(window.store, hyperedge_id)

    @router.get("/documents/{document_id:path}")
    def document(document_id: str) -> DocumentView:
        with look() as window:
            return view_document(window.store, document_id)

    @router.get("/shared")
    def shared() -> SharedView:
        with look() as window:
            return view_shared(window.store, window.settings, window.kept)

    return router


def add_page(app: FastAPI) -> None:
    """Serve the page and its files, which hold no data and need no token."""

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", media_type="text/html")

    @app.get("/static/answer_paths.js", include_in_schema=False)
    def answer_paths() -> Response:
        return Response(_ANSWER_PATHS, media_type="text/javascript")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
