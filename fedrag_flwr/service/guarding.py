"""What every request passes before it is looked at: who sends it, how often, and how much."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable
from typing import Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fedrag_flwr.errors import ServiceError
from fedrag_flwr.service.limits import RateLimit
from fedrag_flwr.service.metrics import Metrics, told
from fedrag_flwr.service.peers import STRANGER, caller_of, is_local

OPEN = ("/", "/static/")  # the page itself holds no data: a browser may fetch it before it has the token
NOTES = "fedrag.notes"  # in a request's scope: what its log line tells besides
_HOSTS = frozenset({b"127.0.0.1", b"localhost"})
_READ_SECONDS = 30.0
_LINES, _LINES_AT_ONCE = 1.0, 100  # of the log, a second, about those who have no token
_log = logging.getLogger(__name__)


class TooLargeError(ServiceError, ValueError):
    """A request is larger than it may be."""


class TooSlowError(ServiceError, TimeoutError):
    """A request did not arrive in time."""


class ErrorTeller(Protocol):
    """Makes an error's response."""

    def __call__(self, error: str, what: str, status: int, retry: float | None = None) -> Response: ...


class Guard:
    """Middleware: a token where the socket does not tell the user, a rate for each caller, a size for each request.

    All who have no token are one caller, who takes nothing from the rate of those who have it. Counts every request and
    logs it, of that one caller only some lines; an error that nothing else caught becomes a response without its text.

    Parameters
    ----------
    token
        Needed by whoever does not come by the Unix socket; "": nobody else may come.
    most_bytes
        The largest body that a path may have.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        rate: RateLimit,
        most_bytes: Callable[[str], int],
        metrics: Metrics,
        refuse: ErrorTeller,
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._rate = rate
        self._lines = RateLimit(_LINES, _LINES_AT_ONCE)
        self._most_bytes = most_bytes
        self._metrics = metrics
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0
        caller = caller_of(scope, self._has_token(scope))

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        scope[NOTES] = {}
        try:
            refusal = self._refusal(scope, caller)
            await (refusal or self._app)(scope, _bounded(receive, self._most_bytes(scope["path"])), noting)
        except Exception as error:
            _log.error("an unexpected error", exc_info=error)
            if not status:
                await self._refuse(type(error).__name__, "an unexpected error", 500)(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.request(route, status)
            if caller != STRANGER or not self._lines.wait(caller):
                by = "socket" if is_local(scope) else "tcp"
                seconds = round(time.perf_counter() - start, 4)
                told("request", route=route, status=status, seconds=seconds, by=by, **scope[NOTES])

    def _refusal(self, scope: Scope, caller: str) -> Response | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if wait := self._rate.wait(caller):
            return self._refuse("RateError", "too many requests from one caller", 429, wait)
        if not is_local(scope):
            if headers.get(b"host", b"").partition(b":")[0] not in _HOSTS:  # a page of another site, by a forged name
                return self._refuse("HostError", "this service answers to 127.0.0.1 and localhost alone", 421)
            if caller == STRANGER and not _is_open(scope):
                return self._refuse("TokenError", "a token is needed: Authorization: Bearer TOKEN", 401)
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._most_bytes(scope["path"]):
            return self._refuse("TooLargeError", "the request is larger than it may be", 413)
        return None

    def _has_token(self, scope: Scope) -> bool:
        given: bytes = dict(scope["headers"]).get(b"authorization", b"")
        return bool(self._token) and hmac.compare_digest(given, b"Bearer " + self._token)


def _is_open(scope: Scope) -> bool:
    """Whether anybody may have what a request asks for."""
    path: str = scope["path"]
    return scope["method"] in ("GET", "HEAD") and (path == OPEN[0] or path.startswith(OPEN[1]))


def _bounded(receive: Receive, most: int) -> Receive:
    """A body that raises where it is larger than it may be, or comes too slowly."""
    taken, more, end = 0, True, time.monotonic() + _READ_SECONDS

    async def bounded() -> Message:
        nonlocal taken, more
        try:
            message = await asyncio.wait_for(receive(), max(0.0, end - time.monotonic()) if more else None)
        except TimeoutError:
            raise TooSlowError("the request did not arrive in time") from None
        taken += len(message.get("body", b""))
        more = bool(message.get("more_body", False))
        if taken > most:
            raise TooLargeError("the request is larger than it may be")
        return message

    return bounded
