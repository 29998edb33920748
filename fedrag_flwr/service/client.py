"""A client of a device's service over its Unix socket; the standard library alone, for what must start quickly.

What the service refuses comes back as the project's own errors.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from fedrag_flwr.errors import ServiceAbsentError, ServiceBusyError, ServiceError
from fedrag_flwr.service.protocol import (
    ANSWERS,
    ASK,
    ASK_ALOUD,
    BINARY,
    FEEDBACK,
    HEALTH,
    MESSAGES,
    METRICS,
    Plain,
    frame,
)

Json = dict[str, object]
Response = http.client.HTTPResponse
Read = Callable[[Response], bytes]
_CONNECT_SECONDS = 5.0
_TRIES = 5
_UNAVAILABLE = 503
_JSON = "application/json"


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, seconds: float | None) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(_CONNECT_SECONDS)
            sock.connect(str(self._path))
            sock.settimeout(self.timeout)
        except BaseException:
            sock.close()
            raise
        self.sock = sock


class ServiceClient:
    """One connection to a service, kept open between requests; not shared by threads.

    Parameters
    ----------
    seconds
        To wait for an answer; None: for ever, as the service keeps deadlines itself.
    """

    def __init__(self, path: Path, seconds: float | None = None) -> None:
        self._path = path
        self._connection = _Connection(path, seconds)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def health(self) -> Json:
        """Which device the service is of, and how it is."""
        return self._json("GET", HEALTH)

    def metrics(self) -> str:
        """What Prometheus is told."""
        return self._request("GET", METRICS).decode()

    def ask(self, question: str, *, help: bool = False, heard: Callable[[str], None] | None = None) -> Json:
        """Ask a question; the answer with what it rests on.

        `heard` is told all of what the model writes so far, each time that it grows. The answer may be another.
        """
        asked = {"question": question, "help": help}
        if heard is None:
            return self._json("POST", ASK, asked)
        body = json.dumps(asked).encode()
        told = json.loads(self._request("POST", ASK_ALOUD, body, _JSON, lambda lines: _last_line(lines, heard)))
        if "answer" not in told:
            raise ServiceError(f"{told.get('error')}: {told.get('what')}", where="service")
        return dict(told["answer"])

    def answers(self) -> list[Json]:
        """What was answered lately, the newest first."""
        told = json.loads(self._request("GET", ANSWERS))
        return [dict(one) for one in told["answers"]]

    def feedback(self, answer: str, verdict: str) -> Json:
        """Say that an answer was "good" or "bad"."""
        return self._json("POST", FEEDBACK, {"answer": answer, "verdict": verdict})

    def message(self, message_type: str, run: str, config: Mapping[str, Plain], content: bytes) -> bytes:
        """Have a Flower message handled: its content as bytes in, the reply's out.

        A busy service is asked again, as often and as late as it says.
        """
        body = frame(run, config, content)
        for _ in range(_TRIES - 1):
            try:
                return self._request("POST", f"{MESSAGES}/{message_type}", body, BINARY)
            except ServiceBusyError as busy:
                time.sleep(busy.seconds)
        return self._request("POST", f"{MESSAGES}/{message_type}", body, BINARY)

    def _json(self, method: str, path: str, body: object = None) -> Json:
        sent = b"" if body is None else json.dumps(body).encode()
        return dict(json.loads(self._request(method, path, sent, _JSON)))

    def _request(self, method: str, path: str, body: bytes = b"", kind: str = "", read: Read = Response.read) -> bytes:
        kept_open = self._connection.sock is not None
        try:
            status, retry, data = self._exchange(method, path, body, kind, read)
        except (http.client.RemoteDisconnected, ConnectionError) as error:
            if not kept_open:
                raise _broken(error) from error
            status, retry, data = self._again(
                method, path, body, kind, read
            )  # it was idle for longer than the service waits
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise _broken(error) from error
        if status >= 400:
            raise _refusal(status, retry, data)
        return data

    def _again(self, method: str, path: str, body: bytes, kind: str, read: Read) -> tuple[int, str | None, bytes]:
        self._connection.close()
        try:
            return self._exchange(method, path, body, kind, read)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise _broken(error) from error

    def _exchange(self, method: str, path: str, body: bytes, kind: str, read: Read) -> tuple[int, str | None, bytes]:
        if self._connection.sock is None:
            self._connect()
        with suppress(BrokenPipeError):  # refused before all of it was sent: the answer says why
            self._connection.request(method, path, body or None, {"Content-Type": kind} if body else {})
        response = self._connection.getresponse()
        data = read(response) if response.status < 400 else response.read()
        return response.status, response.getheader("Retry-After"), data

    def _connect(self) -> None:
        try:
            self._connection.connect()
        except OSError as error:
            raise ServiceAbsentError(
                f"no service listens ({type(error).__name__})", where=self._path.name, fix="fedrag serve NAME"
            ) from error


def _last_line(lines: Response, heard: Callable[[str], None]) -> bytes:
    """The last of the lines in which an answer comes; those before tell its text."""
    last = b"{}"
    for line in lines:
        last = line
        if isinstance(text := json.loads(line).get("text"), str):
            heard(text)
    return last


def _broken(error: Exception) -> ServiceError:
    return ServiceError(
        f"the connection to the device's service broke ({type(error).__name__})",
        fix="look at the service's log, and try again",
    )


def _refusal(status: int, retry: str | None, data: bytes) -> ServiceError:
    try:
        told = json.loads(data)
        what = f"{told['error']}: {told['what']}"
    except (ValueError, KeyError, TypeError):
        what = f"status {status}"
    if status == _UNAVAILABLE and retry is not None and retry.isdecimal():
        return ServiceBusyError(what, where="service", fix="try again later", seconds=int(retry))
    return ServiceError(what, where="service")
