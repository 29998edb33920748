"""The HTTP interface of a device's service; what is asked waits in lanes, and errors tell no text."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.exceptions import HTTPException

from fedrag_flwr import wire
from fedrag_flwr.errors import FedragError, NotFoundError, ServiceBusyError, StoreLockedError, WireError
from fedrag_flwr.handling import HANDLERS
from fedrag_flwr.records.base import MOST_LINE
from fedrag_flwr.service.guarding import NOTES, Guard, TooLargeError, TooSlowError
from fedrag_flwr.service.lanes import DeadlineError, Lane
from fedrag_flwr.service.limits import RateLimit
from fedrag_flwr.service.metrics import Metrics
from fedrag_flwr.service.protocol import (
    ANSWERS,
    ASK,
    BINARY,
    FEEDBACK,
    HEALTH,
    MESSAGES,
    METRICS,
    MOST_HEAD,
    MOST_JSON,
    unframe,
)
from fedrag_flwr.service.resident import Resident

STATUS: tuple[tuple[type[FedragError], int], ...] = (
    (ServiceBusyError, 503),
    (TooLargeError, 413),
    (TooSlowError, 408),
    (DeadlineError, 504),
    (StoreLockedError, 503),
    (NotFoundError, 404),
    (WireError, 400),
    (FedragError, 500),
)


class Asked(BaseModel):
    """A question of somebody at the device."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_LINE)]
    help: bool = False


class Judged(BaseModel):
    """What somebody thinks of an answer."""

    model_config = ConfigDict(extra="forbid")

    answer: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    verdict: Literal["good", "bad"]


def make_application(resident: Resident, token: str = "") -> FastAPI:
    """The service over one device.

    Questions of people have threads of their own. Of a federation's messages one at a time is handled, and beside it
    one that writes: a long build keeps nobody else waiting.

    Parameters
    ----------
    resident
        The device; it is closed when the application ends.
    token
        Of those who do not come by the Unix socket.
    """
    limits = resident.config.service
    asks = Lane("asks", limits.askers, limits.queue)
    messages = Lane("messages", 1, limits.queue)
    writes = Lane("writes", 1, limits.queue)
    lanes = (asks, messages, writes)
    metrics = Metrics(resident, lanes)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        for lane in lanes:
            lane.close()
        resident.close()

    app = FastAPI(title="fedrag", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(
        Guard,
        token=token,
        rate=RateLimit(limits.rate, limits.burst),
        most_bytes=_most_bytes,
        metrics=metrics,
        refuse=error_response,
    )
    app.add_exception_handler(FedragError, _refused)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _malformed)

    @app.get(HEALTH)
    async def health() -> Response:
        return _json({"device": resident.name, "status": "ok", "waiting": sum(lane.length for lane in lanes)})

    @app.get(METRICS)
    async def tell_metrics() -> Response:
        return Response(await asyncio.to_thread(metrics.text), media_type=CONTENT_TYPE_LATEST)

    @app.post(MESSAGES + "/{message_type}")
    async def message(message_type: str, request: Request) -> Response:
        handler = HANDLERS.get(message_type)
        if handler is None:
            raise NotFoundError("no such message type", where="message", fix="run the same version on all devices")
        run, config, content = unframe(await request.body())
        request.scope[NOTES]["message"] = message_type
        lane = writes if handler.writes else messages
        reply = await lane.run(lambda: resident.message(message_type, run, config, content), limits.message_seconds)
        return Response(reply, media_type=BINARY)

    @app.post(ASK)
    async def ask(asked: Asked, request: Request) -> Response:
        start = time.perf_counter()
        told = await asks.run(lambda: resident.ask(asked.question, help=asked.help), limits.ask_seconds)
        metrics.answer(told.path, time.perf_counter() - start)
        request.scope[NOTES]["path"] = told.path
        return _json(asdict(told))

    @app.get(ANSWERS)
    async def answers() -> Response:
        told = await asks.run(resident.recent, limits.ask_seconds)
        return _json({"answers": [asdict(one) for one in told]})

    @app.get(ANSWERS + "/{id}")
    async def answer(id: str) -> Response:
        return _json(asdict(await asks.run(lambda: resident.recalled(id), limits.ask_seconds)))

    @app.post(FEEDBACK)
    async def feedback(judged: Judged) -> Response:
        noted = await messages.run(lambda: resident.feedback(judged.answer, judged.verdict), limits.ask_seconds)
        metrics.feedback(judged.verdict)
        return _json({"answer": judged.answer, "verdict": judged.verdict, "learnt": noted})

    return app


def error_response(error: str, what: str, status: int, retry: float | None = None) -> Response:
    """An error as the service tells it: its kind and a sentence without any document's or question's text."""
    headers = {} if retry is None else {"Retry-After": str(max(1, round(retry)))}
    return _json({"error": error, "what": what}, status, headers)


def _most_bytes(path: str) -> int:
    """The largest body of a request: of a message, twice what its record may hold, as `wire.unpack` allows."""
    handler = HANDLERS.get(path.removeprefix(f"{MESSAGES}/"))
    return MOST_JSON if handler is None else 4 + MOST_HEAD + 2 * wire.LIMITS.get(handler.kind, 64 * wire.KIB)


def _json(told: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
    return Response(body, status, headers, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, FedragError)
    request.scope[NOTES]["error"] = type(error).__name__
    status = next(code for kind, code in STATUS if isinstance(error, kind))
    retry = error.seconds if isinstance(error, ServiceBusyError) else 1.0 if status == 503 else None
    return error_response(type(error).__name__, error.abroad, status, retry)


async def _unknown(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response("HTTPException", str(error.detail), error.status_code)


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fields = (".".join(map(str, problem["loc"])) + ": " + str(problem["type"]) for problem in error.errors())
    return error_response("RequestError", "; ".join(fields), 422)
