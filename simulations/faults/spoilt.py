"""Spoilt messages to a device, to the server, to a device's service, and in whole runs: only errors of our own.

All start from the messages of real small runs, and spoil them at random (`mutations`).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import httpx
import numpy as np
from fastapi.testclient import TestClient
from flwr.app import Message, RecordDict

from fedrag_flwr import errors, wire
from fedrag_flwr.errors import WireError
from fedrag_flwr.local_grid import LocalGrid, assume_identity
from fedrag_flwr.service.application import make_application
from fedrag_flwr.service.config import device_config
from fedrag_flwr.service.protocol import ANSWERS, ASK, FEEDBACK, MESSAGES, OUTBOX, frame
from fedrag_flwr.service.resident import Resident
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire_bytes import from_bytes, to_bytes
from simulations.bench.measure import memory_mb
from simulations.faults.mutations import flipped, mutated
from simulations.faults.small_federation import (
    DEVICES,
    QUESTIONS,
    RUN,
    RUNS,
    Samples,
    SmallFederation,
    open_host,
    settings_for,
)
from simulations.faults.tally import Tally
from simulations.fixtures.kept_devices import OpenHost
from simulations.fixtures.simulated import simulated
from strategies.transport import Transport

NODE = 100
GROWN = "MB grown in a type's second half, at most"
_UNEXPECTED = re.compile(r"an unexpected error at (\S+)")
_SHARE = 0.3  # of a run's replies that are spoilt
S = TypeVar("S")


@cache
def samples_of(root: Path, runs: int) -> tuple[SmallFederation, dict[str, Samples]]:
    """A federation, and valid messages of its first runs."""
    federation = SmallFederation(root)
    federation.write()
    return federation, federation.samples(RUNS[:runs])


def feed(
    tally: Tally,
    samples: Sequence[bytes],
    count: int,
    rng: np.random.Generator,
    spoil: Callable[[bytes, np.random.Generator], S],
    judge: Callable[[S], str],
) -> None:
    """Send so many spoilt messages, and count what became of them.

    `samples`: valid contents to start from; `spoil`: makes of a valid content what is sent; where it raises WireError,
    Flower would not have handed it on; `judge`: handles it: "" if it passed for valid, else the error of ours that
    refused it.
    """
    half = 0.0
    for number in range(count):
        if number == count // 2:
            half = memory_mb()
        sample = samples[int(rng.integers(len(samples)))]
        tally.attempt(lambda sample=sample: judge(spoil(sample, rng)))  # type: ignore[misc]
    tally.seen[GROWN] = max(tally.seen[GROWN], round(memory_mb() - half))


def requests(root: Path, count: int, rng: np.random.Generator, runs: int) -> Tally:
    """Spoilt requests of each type to a device."""
    federation, samples = samples_of(root, runs)
    tally = Tally()
    for kind, valid in samples.items():
        with open_host(settings_for(federation, kind)) as host:
            feed(tally, valid.requests, count, rng, mutated, partial(to_device, host, kind))
    return tally


def replies(root: Path, count: int, rng: np.random.Generator, runs: int) -> Tally:
    """Spoilt replies of each type to the server's transport."""
    tally = Tally()
    for kind, valid in samples_of(root, runs)[1].items():
        to_server(tally, kind, valid, count, rng)
    return tally


def to_device(host: OpenHost, kind: str, content: RecordDict) -> str:
    """Let a device handle a content: "" where it was taken, else the error of ours that the reply tells of."""
    reply = host.respond(kind, content, RUN)
    if wire.kind_of(reply) != wire.Failure.__name__:
        return ""
    failure = wire.decode(reply, wire.Failure, run=RUN)
    found = _UNEXPECTED.search(failure.what)
    assert not found, f"{failure.error} in {kind} at {found and found.group(1)}"
    assert issubclass(getattr(errors, failure.error, Exception), errors.FedragError), f"{kind}: {failure.error}"
    return failure.error


def to_server(tally: Tally, kind: str, samples: Samples, count: int, rng: np.random.Generator) -> None:
    """Let the server's transport open spoilt replies of a type."""
    assume_identity(int(RUN))
    transport = Transport(LocalGrid(lambda message, context: message, [{}], {}), RUN, 1.0, 0.01)  # type: ignore[arg-type]
    names = Counter(wire.kind_of(from_bytes(one, kind)) for one in samples.replies)
    names.pop(wire.Failure.__name__, None)
    reply_kind = {one.__name__: one for one in wire.LIMITS}[names.most_common(1)[0][0]]

    def judge(content: RecordDict) -> str:
        asked = Message(RecordDict(), NODE, kind, group_id=RUN)
        asked.metadata.__dict__["_message_id"] = "asked"
        transport.asked = {"asked": asked}
        transport.traffic = type(transport.traffic)()
        opened: dict[int, object] = transport.open([Message(content, reply_to=asked)], reply_kind)
        assert opened or transport.traffic.missing, f"{kind}: neither taken nor refused"
        return "" if opened else "the device is missing"

    feed(tally, samples.replies, count, rng, mutated, judge)


def whole_runs(root: Path, count: int, rng: np.random.Generator, runs: int) -> Tally:
    """Runs of all strategies in which three replies of ten are spoilt; one may end for want of a quorum."""
    federation, tally = SmallFederation(root / "runs"), Tally()
    federation.write()

    def tamper(reply: Message) -> Message:
        if reply.has_content() and rng.random() < _SHARE:
            try:
                reply.content = mutated(to_bytes(reply.content), rng)
            except WireError:
                return reply
        return reply

    def end(settings: Settings) -> str:
        federation.ask(settings, simulated(settings, tamper=tamper), retries=0)
        return ""

    for changes in RUNS[:runs]:
        tally.attempts(count, partial(end, federation.settings(**changes, **{"federation.quorum": 0.0})))
    return tally


_TOKEN = "token-of-the-fuzzer"
_OWN = {one.__name__ for one in vars(errors).values() if isinstance(one, type)}
_OWN |= {"HTTPException", "RequestError", "TooLargeError", "TooSlowError", "DeadlineError"}
_VIEWS = {  # route -> what is asked for there, besides what the device holds
    "GET /v1/answers/": ("none", "../health", "a" * 5_000),
    "GET /v1/memories/": ("none", "0", "%00"),
    "GET /v1/hyperedges/": ("none", "sentence/0", "'; DROP TABLE items; --"),
    "GET /v1/documents/": ("none", "../../device.toml", "b1"),
    "GET /v1/memories?": ("query=tower&offset=0&limit=5", "query=%25_&limit=0", "offset=-1", f"limit={10**20}"),
    "DELETE /v1/outbox/": ("none", "asked-0", "*"),
}
_BODIES: dict[str, tuple[object, ...]] = {
    ASK: (
        *({"question": text, "help": False} for text in (QUESTIONS[0][1], "", 7, "x" * 5_000)),
        *({"help": True}, [], "x"),
    ),
    FEEDBACK: ({"answer": "none", "verdict": "good"}, {"answer": "", "verdict": "bad"}, {"answer": "q1", "verdict": 1}),
}


def service(root: Path, count: int, rng: np.random.Generator, runs: int) -> Tally:
    """Spoilt requests on each route of a device's service, from valid bodies, and from paths that show something."""
    federation, samples = samples_of(root, runs)
    tally = Tally()
    with _service(federation) as client:
        build = frame(RUN, Settings().flat(), samples["train.build"].requests[0])
        client.post(f"{MESSAGES}/train.build", content=build).raise_for_status()
        for kind, valid in {**samples, "query.unknown": samples["query.describe"]}.items():
            feed(tally, valid.requests, count, rng, _spoilt_message, _posting(client, f"{MESSAGES}/{kind}", {}))
        for route, bodies in _BODIES.items():
            texts = [json.dumps(body).encode() for body in bodies]
            post = _posting(client, route, {"Content-Type": "application/json"})
            feed(tally, texts, count, rng, _spoilt_text, post)
        for route, ends in _VIEWS.items():
            every = [end.encode() for end in (*ends, *_held(client).get(route, ()))]
            feed(tally, every, count, rng, _spoilt_text, _looking(client, route))
    return tally


@contextmanager
def _service(federation: SmallFederation) -> Iterator[TestClient]:
    """The service of the first device, in this process."""
    told = {
        "device-name": DEVICES[0],
        "data-path": str(federation.root / "data" / DEVICES[0]),
        "outbox": True,
        "answers": "all",
        "lookup": True,
        "home": str(federation.root / "service-home"),
        "settings": {
            "models.generator": "smollm2-135m",
            "models.context-tokens": 2048,
            "inference.max-answer-tokens": 1,
        },
        "serve": {"rate": 1e6, "burst": 1_000_000},
    }
    app = make_application(Resident(device_config(told)), token=_TOKEN)
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    with TestClient(app, base_url="http://127.0.0.1", headers=headers, raise_server_exceptions=False) as client:
        yield client


def _spoilt_text(body: bytes, rng: np.random.Generator) -> bytes:
    return flipped(body, rng) if rng.random() < 0.7 else body


def _spoilt_message(body: bytes, rng: np.random.Generator) -> bytes:
    config = Settings.from_config({"federation.devices": int(rng.integers(1, 3))}).flat()
    whole = frame(RUN, config, to_bytes(mutated(body, rng)))
    return flipped(whole, rng) if rng.random() < 0.1 else whole


def _posting(client: TestClient, route: str, headers: Mapping[str, str]) -> Callable[[bytes], str]:
    return lambda body: _verdict(route, client.post(route, content=body, headers=dict(headers)))


def _looking(client: TestClient, route: str) -> Callable[[bytes], str]:
    method, path = route.split()
    safe = "=&" if path.endswith("?") else ""
    return lambda end: _verdict(route, client.request(method, path + quote(end, safe=safe)))


def _verdict(route: str, response: httpx.Response) -> str:
    """What a response tells: "" where the request was taken, else the error of ours that refused it."""
    if response.status_code == 200:
        return ""
    told = response.json()
    assert set(told) == {"error", "what"}, f"{route}: {response.status_code} without an error of ours"
    assert told["error"] in _OWN, f"{route}: {response.status_code} {told['error']}"
    assert "Traceback" not in told["what"], f"{route}: a traceback"
    return str(told["error"])


def _held(client: TestClient) -> dict[str, list[str]]:
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
