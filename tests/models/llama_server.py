"""llama.cpp behind OpenAI's protocol on the loopback interface, and servers that do what it does not."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

KEY = "a-key"
_START_SECONDS = 120.0
_SERVE = (  # the library loads the code for this processor, which the server would not
    "from fedrag_flwr.models.llama import library; library(); from llama_cpp.server.__main__ import main; main()"
)


@contextmanager
def llama_server(model: Path) -> Iterator[str]:
    """Serve a model on a free port, for who has the key; gives the address of the protocol."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    options = ["--model", str(model), "--host", "127.0.0.1", "--port", port, "--api_key", KEY]
    options += ["--n_ctx", "512", "--n_threads", "1", "--n_threads_batch", "1"]
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _await(f"http://127.0.0.1:{port}/v1/models", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if requests.get(address, headers={"Authorization": f"Bearer {KEY}"}, timeout=5).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise RuntimeError("the server does not start")


@dataclass
class Front:
    """A server before another, or alone.

    `props` is what it tells of itself beside the protocol, as llama.cpp's `llama-server` does; None: nothing. Questions
    go on to `behind`; "": they get `status` and `body`. `asked` is what came.
    """

    behind: str = ""
    props: dict[str, object] | None = None
    status: int = 200
    body: str = ""
    content_type: str = "application/json"
    location: str = ""
    delay: float = 0.0
    asked: list[dict[str, object]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve(front: Front) -> Iterator[Front]:
    """Run a front on a free port; its `url` is the address of the protocol."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = front.props if self.path == "/props" else None
            self._reply(404 if told is None else 200, json.dumps(told).encode(), "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            front.asked.append(json.loads(body))
            if not front.behind:
                time.sleep(front.delay)
                self._reply(front.status, front.body.encode(), front.content_type)
                return
            headers = {"Authorization": self.headers["Authorization"], "Content-Type": "application/json"}
            told = requests.post(front.behind + self.path.removeprefix("/v1"), body, headers=headers, timeout=60)
            self._reply(told.status_code, told.content, told.headers["Content-Type"])

        def _reply(self, status: int, body: bytes, content_type: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if front.location:
                self.send_header("Location", front.location)
            self.end_headers()
            with suppress(BrokenPipeError):  # who asked has given up
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    front.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield front
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
