"""The HTTP application of a device's service: guarded routes, and errors that tell no text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from fedrag_flwr import wire
from fedrag_flwr.errors import FedragError, NotFoundError, ServiceBusyError, SourceError, StoreLockedError, WireError
from fedrag_flwr.handling import HANDLERS
from fedrag_flwr.service.browse import add_views
from fedrag_flwr.service.guarding import NOTES, Guard, OwnSiteOnly, RateLimit, TooLargeError, TooSlowError
from fedrag_flwr.service.idle import writing_in_quiet
from fedrag_flwr.service.protocol import DOCUMENTS, MESSAGES, MOST_HEAD, MOST_JSON
from fedrag_flwr.service.queues import DeadlineError
from fedrag_flwr.service.resident import Resident
from fedrag_flwr.service.routes import Routes, json_response
from fedrag_flwr.service.watching import watched
from fedrag_flwr.sources.folder import MAX_BYTES

STATUS: tuple[tuple[type[FedragError], int], ...] = (
    (ServiceBusyError, 503),
    (TooLargeError, 413),
    (TooSlowError, 408),
    (DeadlineError, 504),
    (StoreLockedError, 503),
    (NotFoundError, 404),
    (WireError, 400),
    (SourceError, 409),
    (FedragError, 500),
)


def make_application(resident: Resident, token: str = "") -> FastAPI:
    """The service over one device, which is closed when the application ends."""
    routes, limits = Routes.of(resident), resident.config.service

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with watched(resident.folder if limits.watch else None, routes.read), writing_in_quiet(routes):
            yield
        routes.close()

    app = FastAPI(title="fedrag", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(
        Guard,
        token=token,
        rate=RateLimit(limits.rate, limits.burst),
        most_bytes=_most_bytes,
        metrics=routes.metrics,
        refuse=error_response,
    )
    app.add_middleware(OwnSiteOnly, refuse=error_response)
    app.add_exception_handler(FedragError, _refused)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.include_router(routes.router())
    add_views(app, resident.device)
    return app


def error_response(error: str, what: str, status: int, retry: float | None = None) -> Response:
    """An error as the service tells it: its kind and a sentence without any document's or question's text."""
    headers = {} if retry is None else {"Retry-After": str(max(1, round(retry)))}
    return json_response({"error": error, "what": what}, status, headers)


def _most_bytes(path: str) -> int:
    """The largest body of a request: of a message, twice what its record may hold, as `wire.unpack` allows."""
    if path.startswith(f"{DOCUMENTS}/"):
        return MAX_BYTES
    handler = HANDLERS.get(path.removeprefix(f"{MESSAGES}/"))
    return MOST_JSON if handler is None else 4 + MOST_HEAD + 2 * wire.LIMITS.get(handler.kind, 64 * wire.KIB)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, FedragError)
    request.scope[NOTES]["error"] = type(error).__name__
    status = next(code for kind, code in STATUS if isinstance(error, kind))
    retry = error.seconds if isinstance(error, ServiceBusyError) else 1.0 if status == 503 else None
    return error_response(type(error).__name__, error.abroad, status, retry)


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, FedragError):  # FastAPI makes one error of all that reading a JSON body raises
        return await _refused(request, error.__cause__)
    return error_response("HTTPException", str(error.detail), error.status_code)


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_response("RequestError", "; ".join(_problem(dict(one)) for one in error.errors()), 422)


def _problem(told: Mapping[str, object]) -> str:
    """A field and what is wrong with it; a field that is not ours is the sender's word, and is not quoted."""
    where, kind = told["loc"], str(told["type"])
    assert isinstance(where, tuple)
    if kind == "model_attributes_type":
        return "body: send a JSON object under 'Content-Type: application/json'"
    known = where[:-1] if kind == "extra_forbidden" else where
    return ".".join(map(str, known)) + ": " + kind
