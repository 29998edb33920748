"""What keeps other sites' pages from asking, and theirs and ours from showing anything that is not ours."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fedrag_flwr.service.guarding import ErrorTeller

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


class OwnSiteOnly:
    """Middleware: refuses what a page of another site makes a browser send, and adds strict headers to every response.

    Browsers say whose page asks in Origin and Sec-Fetch-Site; programs send neither. A forged Host is `Guard`'s.
    """

    def __init__(self, app: ASGIApp, *, refuse: ErrorTeller) -> None:
        self._app = app
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        app = self._app
        if _is_foreign(dict(scope["headers"])):
            app = self._refuse("SiteError", "a page of another site must not ask", 403)
        await app(scope, receive, with_headers)


def _is_foreign(headers: dict[bytes, bytes]) -> bool:
    """Whether a browser says that another site's page asks."""
    origin = headers.get(b"origin")
    if origin is not None and origin != b"http://" + headers.get(b"host", b""):
        return True
    return headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")
