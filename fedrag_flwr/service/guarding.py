"""What keeps other sites away from a page on loopback: who may be named as host and origin, and strict headers."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN_HOSTS = frozenset({"localhost", "127.0.0.1"})
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


class Guard:
    """Refuses requests that a page of another site could make a browser send, and adds headers to every response.

    A name that resolves to loopback (DNS rebinding) shows in the Host header, a request from another site's page in
    Origin or Sec-Fetch-Site. Neither is sent by programs, for which the token is the guard.

    Parameters
    ----------
    app
        The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                told = {name for name, _ in message.get("headers", ())}
                more = [header for header in _HEADERS if header[0] not in told]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        if refusal := _refusal({name: value.decode("latin-1") for name, value in scope["headers"]}):
            await _refuse(with_headers, refusal)
        else:
            await self._app(scope, receive, with_headers)


def _refusal(headers: dict[bytes, str]) -> str:
    """Why a request is refused; empty where it is not."""
    host = headers.get(b"host", "")
    if _name_of(f"//{host}") not in OWN_HOSTS:
        return "the host must be localhost or 127.0.0.1"
    origin = headers.get(b"origin")
    if origin is not None and origin != f"http://{host}":
        return "a page of another site must not ask"
    if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
        return "a page of another site must not ask"
    return ""


def _name_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def _refuse(send: Send, what: str) -> None:
    body = json.dumps({"error": "RefusedError", "what": what}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
