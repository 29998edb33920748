"""The HTTP interface of a device's service; what is asked waits in lanes, and errors tell no text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.exceptions import HTTPException

from fedrag_flwr.errors import FedragError, NotFoundError, ServiceBusyError, StoreLockedError, WireError
from fedrag_flwr.handling import HANDLERS
from fedrag_flwr.records.base import MOST_LINE
from fedrag_flwr.service.lanes import DeadlineError, Lane
from fedrag_flwr.service.protocol import ANSWERS, ASK, BINARY, FEEDBACK, HEALTH, MESSAGES, unframe
from fedrag_flwr.service.resident import Resident

STATUS: tuple[tuple[type[FedragError], int], ...] = (
    (ServiceBusyError, 503),
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


def make_application(resident: Resident) -> FastAPI:
    """The service over one device.

    Parameters
    ----------
    resident
        The device; it is closed when the application ends.
    """
    limits = resident.config.service
    asks = Lane("asks", limits.askers, limits.queue)
    messages = Lane("messages", 1, limits.queue)
    writes = Lane("writes", 1, limits.queue)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        for lane in (asks, messages, writes):
            lane.close()
        resident.close()

    app = FastAPI(title="fedrag", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(FedragError, _refused)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _malformed)

    @app.get(HEALTH)
    async def health() -> Response:
        return _json({"device": resident.name, "status": "ok"})

    @app.post(MESSAGES + "/{message_type}")
    async def message(message_type: str, request: Request) -> Response:
        run, config, content = unframe(await request.body())
        handler = HANDLERS.get(message_type)
        lane = writes if handler is not None and handler.writes else messages
        reply = await lane.run(lambda: resident.message(message_type, run, config, content), limits.message_seconds)
        return Response(reply, media_type=BINARY)

    @app.post(ASK)
    async def ask(asked: Asked) -> Response:
        told = await asks.run(lambda: resident.ask(asked.question, help=asked.help), limits.ask_seconds)
        return _json(asdict(told))

    @app.get(ANSWERS)
    async def answers() -> Response:
        return _json({"answers": [asdict(one) for one in resident.answers.all()]})

    @app.get(ANSWERS + "/{id}")
    async def answer(id: str) -> Response:
        return _json(asdict(resident.answers.get(id)))

    @app.post(FEEDBACK)
    async def feedback(judged: Judged) -> Response:
        noted = await messages.run(lambda: resident.feedback(judged.answer, judged.verdict), limits.ask_seconds)
        return _json({"answer": judged.answer, "verdict": judged.verdict, "learnt": noted})

    return app


def error_response(error: str, what: str, status: int, retry: float | None = None) -> Response:
    """An error as the service tells it: its kind and a sentence without any document's or question's text."""
    headers = {} if retry is None else {"Retry-After": str(max(1, round(retry)))}
    return _json({"error": error, "what": what}, status, headers)


def _json(told: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
    return Response(body, status, headers, media_type="application/json")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, FedragError)
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
