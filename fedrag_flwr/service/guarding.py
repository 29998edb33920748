"""What every request passes before it is looked at: who sends it, from which page, how often, and how much."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fedrag_flwr.errors import ServiceError
from fedrag_flwr.records import Clock
from fedrag_flwr.service.metrics import Metrics, told
from fedrag_flwr.service.peers import STRANGER, caller_of, is_local

OPEN = ("/", "/static/")  # the page itself holds no data: a browser may fetch it before it has the token
NOTES = "fedrag.notes"  # in a request's scope: what its log line tells besides
_HOSTS = frozenset({b"127.0.0.1", b"localhost"})
_READ_SECONDS = 30.0
_LINES, _LINES_AT_ONCE = 1.0, 100  # of the log, a second, about those who have no token
_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_log = logging.getLogger(__name__)


class TooLargeError(ServiceError, ValueError):
    """A request is larger than it may be."""


class TooSlowError(ServiceError, TimeoutError):
    """A request did not arrive in time."""


class ErrorTeller(Protocol):
    """Makes an error's response."""

    def __call__(self, error: str, what: str, status: int, retry: float | None = None) -> Response: ...


@dataclass(frozen=True, slots=True, eq=False)
class RateLimit:
    """Buckets by caller; of too many callers the one that sent nothing for longest is forgotten."""

    rate: float  # requests a second that a caller may send for long
    burst: int  # requests that it may send at once
    clock: Clock = time.monotonic  # seconds
    most: int = 1_024  # callers that are remembered
    # Tokens, and when they were counted.
    _buckets: OrderedDict[str, tuple[float, float]] = field(init=False, default_factory=OrderedDict)

    def wait(self, caller: str) -> float:
        """Seconds until this caller may send; 0.0: it may now, and that is counted."""
        now = self.clock()
        tokens, then = self._buckets.pop(caller, (float(self.burst), now))
        tokens = min(float(self.burst), tokens + (now - then) * self.rate)
        allowed = tokens >= 1.0
        self._buckets[caller] = (tokens - 1.0 if allowed else tokens, now)
        if len(self._buckets) > self.most:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - tokens) / self.rate


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Middleware: a token where the socket does not tell the user, a rate for each caller, a size for each request.

    All who have no token are one caller, who takes nothing from the rate of those who have it. Counts every request and
    logs it, of that one caller only some lines; an error that nothing else caught becomes a response without its text.
    """

    app: ASGIApp  # what it guards
    token: str = field(repr=False)  # needed by whoever does not come by the Unix socket; "": nobody else may come
    rate: RateLimit  # how often callers may send
    most_bytes: Callable[[str], int]  # the largest body that a path may have
    metrics: Metrics  # where requests are counted
    refuse: ErrorTeller  # makes the response to a refusal
    _lines: RateLimit = field(init=False, default_factory=lambda: RateLimit(_LINES, _LINES_AT_ONCE))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
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
            await (refusal or self.app)(scope, _bounded(receive, self.most_bytes(scope["path"])), noting)
        except Exception as error:
            _log.error("an unexpected error", exc_info=error)
            if not status:
                await self.refuse(type(error).__name__, "an unexpected error", 500)(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self.metrics.request(route, status)
            if caller != STRANGER or not self._lines.wait(caller):
                by = "socket" if is_local(scope) else "tcp"
                seconds = round(time.perf_counter() - start, 4)
                told("request", route=route, status=status, seconds=seconds, by=by, **scope[NOTES])

    def _refusal(self, scope: Scope, caller: str) -> Response | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if wait := self.rate.wait(caller):
            return self.refuse("RateError", "too many requests from one caller", 429, wait)
        if not is_local(scope):
            if headers.get(b"host", b"").partition(b":")[0] not in _HOSTS:  # a page of another site, by a forged name
                return self.refuse("HostError", "this service answers to 127.0.0.1 and localhost alone", 421)
            if caller == STRANGER and not _is_open(scope):
                return self.refuse("TokenError", "a token is needed: Authorization: Bearer TOKEN", 401)
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.most_bytes(scope["path"]):
            return self.refuse("TooLargeError", "the request is larger than it may be", 413)
        return None

    def _has_token(self, scope: Scope) -> bool:
        given: bytes = dict(scope["headers"]).get(b"authorization", b"")
        return bool(self.token) and hmac.compare_digest(given, b"Bearer " + self.token.encode())


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


@dataclass(frozen=True, slots=True, eq=False)
class OwnSiteOnly:
    """Middleware: refuses what a page of another site makes a browser send, and adds strict headers to every response.

    Browsers say whose page asks in Origin and Sec-Fetch-Site; programs send neither. A forged Host is `Guard`'s.
    """

    app: ASGIApp
    refuse: ErrorTeller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        app = self.app
        if _is_foreign(dict(scope["headers"])):
            app = self.refuse("SiteError", "a page of another site must not ask", 403)
        await app(scope, receive, with_headers)


def _is_foreign(headers: dict[bytes, bytes]) -> bool:
    """Whether a browser says that another site's page asks."""
    origin = headers.get(b"origin")
    if origin is not None and origin != b"http://" + headers.get(b"host", b""):
        return True
    return headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")
