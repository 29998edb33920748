"""Send a device's service thousands of spoilt requests on each of its routes: only errors of our own, no traceback.

``python -m simulations.fuzz_service --messages 10000 --out fuzz`` uses the messages that `fuzz_messages` made there.
Stopped at any time, the same command goes on with the next route.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

import httpx
import numpy as np
from fastapi.testclient import TestClient
from rich.console import Console

from fedrag_flwr import errors
from fedrag_flwr.service.application import make_application
from fedrag_flwr.service.config import device_config
from fedrag_flwr.service.protocol import ANSWERS, ASK, FEEDBACK, MESSAGE_TYPES, MESSAGES, OUTBOX, frame
from fedrag_flwr.service.resident import Resident
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire_bytes import to_bytes
from simulations.fixtures.fuzz_world import DEVICES, QUESTIONS, RUN, FuzzWorld
from simulations.fixtures.mutations import flipped, mutated
from simulations.fuzz_messages import Acts, FuzzReport, Verdict, fuzz, go_on, samples_of, table_of

_TOKEN = "token-of-the-fuzzer"
_OWN = {one.__name__ for one in vars(errors).values() if isinstance(one, type)}
_OWN |= {"HTTPException", "RequestError", "TooLargeError", "TooSlowError", "DeadlineError"}
_VIEWS = {  # route -> what is asked for there, besides what the device holds
    "GET /v1/answers/": ("none", "../health", "a" * 5_000),
    "GET /v1/memories/": ("none", "0", "%00"),
    "GET /v1/hyperedges/": ("none", "sentence/0", "'; DROP TABLE items; --"),
    "GET /v1/documents/": ("none", "../../device.toml", "b1"),
    "GET /v1/memories?": (
        "query=tower&offset=0&limit=5",
        "query=%25_&limit=0",
        "offset=-1",
        f"limit={10**20}",
        "query=",
    ),
    "DELETE /v1/outbox/": ("none", "asked-0", "*"),
}
_BODIES: dict[str, tuple[object, ...]] = {
    ASK: (
        {"question": QUESTIONS[0][1], "help": False},
        {"question": "", "help": False},
        {"question": 7},
        {"question": "x" * 5_000},
        {"help": True},
        [],
        "x",
    ),
    FEEDBACK: ({"answer": "none", "verdict": "good"}, {"answer": "", "verdict": "bad"}, {"answer": "q1", "verdict": 1}),
}


@contextmanager
def service(world: FuzzWorld) -> Iterator[TestClient]:
    """The service of the first device, in this process."""
    folder = world.root / "data" / DEVICES[0]
    settings = {"models.generator": "smollm2-135m", "models.context-tokens": 2048, "inference.max-answer-tokens": 1}
    told = {
        "device-name": DEVICES[0],
        "data-path": str(folder),
        "outbox": True,
        "answers": "all",
        "lookup": True,
        "home": str(world.root / "service-home"),
        "settings": settings,
        "serve": {"rate": 1e6, "burst": 1_000_000},
    }
    app = make_application(Resident(device_config(told)), token=_TOKEN)
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    with TestClient(app, base_url="http://127.0.0.1", headers=headers, raise_server_exceptions=False) as client:
        yield client


def verdict_of(response: httpx.Response) -> Verdict:
    """What a response tells: taken, refused by an error of our own, or something else."""
    if response.status_code == 200:
        return "taken", ""
    try:
        told = response.json()
        kind, what = told["error"], told["what"]
    except (ValueError, KeyError, TypeError):
        return "finding", f"{response.status_code} without an error of ours"
    if kind not in _OWN or "Traceback" in what or set(told) != {"error", "what"}:
        return "finding", f"{response.status_code} {kind}"
    return "refused", kind


def fuzz_route(client: TestClient, world: FuzzWorld, route: str, samples: tuple[bytes, ...], count: int) -> FuzzReport:
    """Spoilt requests on one route, from valid bodies, or from ends of its path that show something."""
    samples += tuple(end.encode() for end in held(client).get(route, ())) if route in _VIEWS else ()
    spoil = _spoilt_message if route.startswith(MESSAGES) else _spoilt_text

    def judge(sent: bytes) -> Verdict:
        return _look(client, route, sent) if route in _VIEWS else _post(client, route, sent)

    return fuzz("service", route, samples, judge, count, 7, world.root / "service-home", spoil=spoil)


def _spoilt_text(body: bytes, rng: np.random.Generator) -> bytes:
    return flipped(body, rng) if rng.random() < 0.7 else body


def _spoilt_message(body: bytes, rng: np.random.Generator) -> bytes:
    config = Settings.from_config({"federation.devices": int(rng.integers(1, 3))}).flat()
    whole = frame(RUN, config, to_bytes(mutated(body, rng)))
    return flipped(whole, rng) if rng.random() < 0.1 else whole


def _post(client: TestClient, route: str, body: bytes) -> Verdict:
    kind = {} if route.startswith(MESSAGES) else {"Content-Type": "application/json"}
    return verdict_of(client.post(route, content=body, headers=kind))


def _look(client: TestClient, route: str, end: bytes) -> Verdict:
    method, path = route.split()
    return verdict_of(client.request(method, path + quote(end, safe="=&" if path.endswith("?") else "")))


def held(client: TestClient) -> dict[str, list[str]]:
    """What the device holds by the route that shows it: a question waits, memories and what they rest on are there."""
    client.post(ASK, json={"question": "What did the Duke of Pell eat?", "help": True}).raise_for_status()
    lines = client.get("/v1/memories", params={"limit": 20}).json()["memories"]
    views = [client.get(f"/v1/memories/{line['id']}").json() for line in lines]
    return {
        "GET /v1/answers/": [one["id"] for one in client.get(ANSWERS).json()["answers"]],
        "GET /v1/memories/": [line["id"] for line in lines],
        "GET /v1/hyperedges/": [edge for view in views for edge in view["hyperedges"]],
        "GET /v1/documents/": [unit["document"] for view in views for unit in view["support"]],
        "DELETE /v1/outbox/": [one["id"] for one in client.get(OUTBOX).json()["waiting"]],
    }


def run_all(out: Path, count: int) -> list[FuzzReport]:
    """All routes; what a run before has done stands."""
    world = FuzzWorld(out / "world")
    samples = samples_of(out)
    routes = {f"{MESSAGES}/{kind}": samples[kind].requests for kind in MESSAGE_TYPES}
    routes |= {route: tuple(json.dumps(body).encode() for body in bodies) for route, bodies in _BODIES.items()}
    routes |= {f"{MESSAGES}/query.unknown": samples["query.describe"].requests}
    with service(world) as client:
        build = frame(RUN, Settings().flat(), samples["train.build"].requests[0])
        client.post(f"{MESSAGES}/train.build", content=build).raise_for_status()
        routes |= {route: tuple(end.encode() for end in ends) for route, ends in _VIEWS.items()}
        acts: Acts = {
            ("service", name): partial(fuzz_route, client, world, name, bodies, count)
            for name, bodies in routes.items()
        }
        return go_on(out / "service.jsonl", acts, count)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000, help="on each route")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="folder for what is done")
    chosen = parser.parse_args()
    for name in ("flwr", "fedrag_flwr", "httpx"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    Console(width=160).print(table_of(run_all(chosen.out, chosen.messages)))


if __name__ == "__main__":
    main()
