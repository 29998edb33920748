"""Read-only views of a device for the people at it, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
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
from fedrag_flwr.path_drawing import PATH_PICTURE
from fedrag_flwr.service.accounting import SharedView, view_shared

STATIC = Path(__file__).parent / "static"
_MOST_QUERY, _MOST_OFFSET, _MOST_LINES = 500, 10_000_000, 200
_ANSWER_PATHS = f'import {{ el, SVG }} from "./dom.js";\n{PATH_PICTURE}\nexport {{ drawn, pathPicture }};\n'


def add_views(app: FastAPI, opened: Callable[[], AbstractContextManager[EdgeDevice]]) -> None:
    """Let an application show a device: the views, and the page, whose files hold no data and need no token.

    `opened` gives the device for as long as a request takes; several look at the same time.
    """
    router = APIRouter(prefix="/v1")

    @router.get("/device")
    def device() -> DeviceView:
        with opened() as one:
            return view_device(one.store, one.models.generator_id)

    @router.get("/memories")
    def memories(
        query: Annotated[str, Query(max_length=_MOST_QUERY)] = "",
        offset: Annotated[int, Query(ge=0, le=_MOST_OFFSET)] = 0,
        limit: Annotated[int, Query(ge=1, le=_MOST_LINES)] = 20,
    ) -> MemoryPage:
        with opened() as one:
            return view_memories(one.store, query, offset, limit)

    @router.get("/memories/{memory_id:path}")
    def memory(memory_id: str) -> MemoryView:
        with opened() as one:
            return view_memory(one.store, memory_id)

    @router.get("/hyperedges/{hyperedge_id:path}")
    def hyperedge(hyperedge_id: str) -> HyperedgeView:
        with opened() as one:
            return view_hyperedge(one.store, hyperedge_id)

    @router.get("/documents/{document_id:path}")
    def document(document_id: str) -> DocumentView:
        with opened() as one:
            return view_document(one.store, document_id)

    @router.get("/shared")
    def shared() -> SharedView:
        with opened() as one:
            return view_shared(one.store, one.settings, one.kept)

    app.include_router(router)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", media_type="text/html")

    @app.get("/static/answer_paths.js", include_in_schema=False)
    def answer_paths() -> Response:
        return Response(_ANSWER_PATHS, media_type="text/javascript")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
