"""What a service does for each request; each waits in its queue."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, StringConstraints

from fedrag_flwr.answering.explain import marked
from fedrag_flwr.errors import FedragError, NotFoundError
from fedrag_flwr.handling import HANDLERS
from fedrag_flwr.models.base import Heard
from fedrag_flwr.path_drawing import for_page
from fedrag_flwr.records.base import MOST_LINE
from fedrag_flwr.service.answers import GivenAnswer
from fedrag_flwr.service.guarding import NOTES
from fedrag_flwr.service.metrics import Metrics
from fedrag_flwr.service.protocol import (
    ANSWERS,
    ASK,
    ASK_ALOUD,
    BINARY,
    DOCUMENTS,
    FEEDBACK,
    HEALTH,
    LINES,
    MESSAGES,
    METRICS,
    OUTBOX,
    READING,
    unframe,
)
from fedrag_flwr.service.queues import RequestQueue
from fedrag_flwr.service.resident import Resident
from fedrag_flwr.service.watching import Documents, Reading, put_document


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


@dataclass(frozen=True, slots=True)
class Routes:
    """The requests that a service knows, over its device, its queues and its metrics.

    Questions of people have threads of their own. Of a federation's messages one at a time is handled, and beside it
    one that writes: a long build keeps nobody else waiting.
    """

    resident: Resident
    asks: RequestQueue
    messages: RequestQueue
    writes: RequestQueue
    metrics: Metrics
    documents: Documents

    @classmethod
    def of(cls, resident: Resident) -> Self:
        """Those of one device."""
        limits = resident.config.service
        asks = RequestQueue("asks", limits.askers, limits.queue)
        messages, writes = (RequestQueue(name, 1, limits.queue) for name in ("messages", "writes"))
        metrics = Metrics(resident, (asks, messages, writes))
        return cls(resident, asks, messages, writes, metrics, Documents(resident.build))

    @property
    def queues(self) -> tuple[RequestQueue, ...]:
        """All queues."""
        return (self.asks, self.messages, self.writes)

    def router(self) -> APIRouter:
        """The routes for the application."""
        router = APIRouter()
        router.add_api_route(HEALTH, self.health, methods=["GET"])
        router.add_api_route(METRICS, self.told_metrics, methods=["GET"])
        router.add_api_route(MESSAGES + "/{message_type}", self.message, methods=["POST"])
        router.add_api_route(ASK, self.ask, methods=["POST"])
        router.add_api_route(ASK_ALOUD, self.ask_aloud, methods=["POST"])
        router.add_api_route(ANSWERS, self.answers, methods=["GET"])
        router.add_api_route(ANSWERS + "/{id}", self.answer, methods=["GET"])
        router.add_api_route(FEEDBACK, self.feedback, methods=["POST"])
        router.add_api_route(OUTBOX, self.outbox, methods=["GET"])
        router.add_api_route(OUTBOX + "/{id}", self.withdraw, methods=["DELETE"])
        router.add_api_route(READING, self.reading, methods=["GET"])
        router.add_api_route(READING, self.read_again, methods=["POST"])
        router.add_api_route(DOCUMENTS + "/{name}", self.upload, methods=["POST"])
        return router

    def close(self) -> None:
        """Finish what runs, and close the device."""
        for queue in self.queues:
            queue.close()
        self.resident.close()

    async def health(self) -> Response:
        """Which device this is, and how much waits."""
        waiting = sum(queue.length for queue in self.queues)
        return json_response({"device": self.resident.name, "status": "ok", "waiting": waiting})

    async def told_metrics(self) -> Response:
        """Prometheus' text."""
        return Response(await asyncio.to_thread(self.metrics.text), media_type=CONTENT_TYPE_LATEST)

    async def message(self, message_type: str, request: Request) -> Response:
        """Handle a Flower message."""
        handler = HANDLERS.get(message_type)
        if handler is None:
            raise NotFoundError("no such message type", where="message", fix="run the same version on all devices")
        run, config, content = unframe(await request.body())
        request.scope[NOTES]["message"] = message_type
        queue, seconds = self.writes if handler.writes else self.messages, self.resident.config.service.message_seconds
        reply = await queue.run(lambda: self.resident.message(message_type, run, config, content), seconds)
        return Response(reply, media_type=BINARY)

    async def ask(self, asked: Asked, request: Request) -> Response:
        """Answer a question."""
        return json_response(await self._answered(asked, request))

    async def ask_aloud(self, asked: Asked, request: Request) -> Response:
        """Answer a question in lines of JSON: ``{"text"}`` while the model writes, all of it so far; then the answer.

        What goes wrong before the first line is an error like any other, and after it the last line.
        """
        loop, texts = asyncio.get_running_loop(), asyncio.Queue[str | None]()

        def heard(text: str) -> None:
            loop.call_soon_threadsafe(texts.put_nowait, text)

        answering = asyncio.create_task(self._answered(asked, request, heard))
        answering.add_done_callback(lambda _: texts.put_nowait(None))
        first = await texts.get()
        if first is None:
            await answering
        return StreamingResponse(_lines(first, texts, answering, request), media_type=LINES)

    async def _answered(self, asked: Asked, request: Request, heard: Heard | None = None) -> dict[str, object]:
        start = time.perf_counter()
        told = await self.asks.run(
            lambda: self.resident.ask(asked.question, help=asked.help, heard=heard), self._patience
        )
        self.metrics.answer(told.path, time.perf_counter() - start)
        request.scope[NOTES]["path"] = told.path
        return _shown(told)

    async def answers(self) -> Response:
        """The latest answers."""
        told = await self.asks.run(self.resident.recent, self._patience)
        return json_response({"answers": [_shown(one) for one in told]})

    async def answer(self, id: str) -> Response:
        """One of them."""
        return json_response(_shown(await self.asks.run(lambda: self.resident.recalled(id), self._patience)))

    async def feedback(self, judged: Judged) -> Response:
        """Take in what somebody thinks of an answer."""
        noted = await self.asks.run(lambda: self.resident.feedback(judged.answer, judged.verdict), self._patience)
        self.metrics.feedback(judged.verdict)
        return json_response({"answer": judged.answer, "verdict": judged.verdict, "learnt": noted})

    async def outbox(self) -> Response:
        """The questions that wait for a federation."""
        told = await self.asks.run(self.resident.waiting, self._patience)
        return json_response({"waiting": [asdict(one) for one in told]})

    async def withdraw(self, id: str) -> Response:
        """Let a question wait no longer."""
        await self.asks.run(lambda: self.resident.withdraw(id), self._patience)
        return json_response({"withdrawn": id})

    async def read(self) -> Reading:
        """Bring the memory up to date with the documents, when its turn comes."""
        return await self.writes.run(self.documents.read, self.resident.config.service.message_seconds)

    async def reading(self) -> Response:
        """What the latest reading of the documents came to."""
        return json_response(asdict(self.documents.reading))

    async def read_again(self) -> Response:
        """Read the documents, and tell what that came to."""
        return json_response(asdict(await self.read()))  # the watch may begin another reading meanwhile

    async def upload(self, name: str, request: Request) -> Response:
        """Put a file among the documents, and read them."""
        body = await request.body()
        await asyncio.to_thread(put_document, self.resident.folder, name, body)
        return await self.read_again()

    @property
    def _patience(self) -> float:
        return self.resident.config.service.ask_seconds


def _shown(answer: GivenAnswer) -> dict[str, object]:
    """An answer, its evidence cut where the answer is marked, and its answer paths as pages draw them."""
    cut = [marked(one.text, answer.answer) for one in answer.evidence]
    return {**asdict(answer), "marked": cut, "drawn": [for_page(path) for path in answer.paths]}


async def _lines(
    first: str | None, texts: asyncio.Queue[str | None], answering: asyncio.Task[dict[str, object]], request: Request
) -> AsyncIterator[bytes]:
    """What is told of an answer: its text while it grows, and in the end itself, or the error in its place."""
    try:
        text = first
        while text is not None:
            yield _line({"text": text})
            text = await texts.get()
        try:
            yield _line({"answer": await answering})
        except FedragError as error:
            request.scope[NOTES]["error"] = type(error).__name__
            yield _line({"error": type(error).__name__, "what": error.abroad})
    finally:
        answering.cancel()  # whoever asked has left; what has begun goes on to its end


def _line(told: object) -> bytes:
    return json.dumps(told, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def json_response(told: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Plain values as JSON; numbers that JSON does not know are an error."""
    body = json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
    return Response(body, status, headers, media_type="application/json")
