"""A small federation, every message that its strategies exchange, and one of its devices to send messages to."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flwr.common.serde import message_from_proto
from flwr.proto.message_pb2 import Message as MessageProto

from client_app.app import app
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import Node
from fedrag_flwr.ordering.controller import TrainingQuestion
from fedrag_flwr.records import Question
from fedrag_flwr.service.protocol import MESSAGE_TYPES
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.wire_bytes import to_bytes
from server_app.serving import Serving
from simulations.worlds.kill_world import TEXTS
from strategies import ServerTools, make_strategy

RUN = "1"
DEVICES = ("kiln", "mill", "weir")
QUESTIONS = (
    ("q1", "When was the glass kiln of Orvale lit?", "kiln", "paper-0"),
    ("q2", "How many bells does the clock tower of Nemby hold?", "kiln", "paper-3"),
    ("q3", "How many kinds of plum does the orchard at Brisel grow?", "mill", "paper-2"),
    ("q4", "When did the tram line to Pelluc open?", "weir", "paper-5"),
)
RUNS: tuple[dict[str, Plain], ...] = (  # so that every type of message is sent
    {"strategy": "memory-fusion", "federation.page-bytes": 8_000},
    {"strategy": "summary-routing", "routing.answers-at": "server"},
    {"strategy": "summary-routing", "exchange": "encrypted"},
    {"strategy": "summary-routing", "exchange": "encrypted"},  # now the server knows the devices' public keys
    {"strategy": "summary-routing", "exchange": "download", "routing.precision": "int8"},
    {"strategy": "summary-routing", "exchange": "download", "graph.share": "sealed"},
    {"strategy": "rag-route"},
    {"strategy": "confidential-broadcast"},
    {"strategy": "topic-walk", "overlay.walk": "sketch", "overlay.epsilon": 8.0, "overlay.threshold": 0.99},
    {"strategy": "topic-walk", "overlay.topics": "learnt", "overlay.learnt-topics": 2, "overlay.learning-rounds": 1},
    {"strategy": "hybrid-fusion"},
    {"strategy": "centralized", "privacy.share-documents": True, "privacy.export": "none"},
    {"strategy": "controller-fedavg", "exchange": "encrypted", "controller.rounds": 1, "controller.local-epochs": 1},
    {"strategy": "memory-fusion", "mode": "serve", "serving.outbox": True, "serving.polls": 1},
)
_MOST, _LARGEST = 8, 2**16  # samples of a type and side, and bytes of one


@dataclass(frozen=True, slots=True)
class Samples:
    """Valid contents of one type of message, as bytes: what is asked, and what is replied."""

    requests: tuple[bytes, ...]
    replies: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class FuzzWorld:
    """The federation's files under one directory."""

    root: Path

    def settings(self, **changes: Plain) -> Settings:
        """The settings of a run; names as in a run config."""
        flat: dict[str, Plain] = {
            "baselines": "",
            "home": str(self.root / "home"),
            "models.generator": "smollm2-135m",
            "models.context-tokens": 2048,
            "inference.max-answer-tokens": 1,
            "inference.ask-below": 1.0,
            "memory.tokens-per-kilotoken": 0,
            "gate.candidates": 1,
            "gate.threshold": 1.0,
            "graph.community-least": 1,
            "graph.community-most": 4,
            "hybrid.report": "extractive",
            "routing.quota": 1_000_000,
            "federation.devices": len(DEVICES),
            "federation.poll-seconds": 0.001,
            "data.root": str(self.root / "data"),
            "data.questions": str(self.root / "questions.jsonl"),
            "data.split": "train",
        }
        return Settings.from_config(flat | changes)

    def write(self) -> None:
        """Write documents and questions; each device has those of every third text."""
        lines = []
        for place, name in enumerate(DEVICES):
            folder = self.root / "data" / name
            folder.mkdir(parents=True, exist_ok=True)
            for number in range(place, len(TEXTS), len(DEVICES)):
                text = TEXTS[number].format(year=1700 + number, count=20 + number)
                (folder / f"paper-{number}.txt").write_text(text, encoding="utf-8")
        for name, text, home, document in QUESTIONS:
            line = {"id": name, "question": text, "answer": "-", "kind": "single", "home": home, "split": "train"}
            lines.append(json.dumps({**line, "documents": [document]}))
        (self.root / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def samples(self) -> dict[str, Samples]:
        """Run all strategies and keep some messages of each type; small ones first."""
        requests: dict[str, set[bytes]] = defaultdict(set)
        replies: dict[str, set[bytes]] = defaultdict(set)
        for changes in RUNS:
            for kind, content, is_reply in self._exchanged(self.settings(**changes)):
                (replies if is_reply else requests)[kind].add(content)
        return {kind: Samples(_smallest(requests[kind]), _smallest(replies[kind])) for kind in MESSAGE_TYPES}

    def _exchanged(self, settings: Settings) -> Iterator[tuple[str, bytes, bool]]:
        asked = [Question(name, text, home) for name, text, home, _ in QUESTIONS]
        grid = LocalGrid(app, [{"partition-id": n} for n in range(len(DEVICES))], settings.flat())
        tools = ServerTools(settings)
        strategy = make_strategy(settings.strategy, settings, asked, tools)
        if settings.mode == "serve":
            with Node({"partition-id": 0}, settings.flat()).device() as device:
                device.ask_or_wait(Question("w1", "Who painted the largest ferry?", DEVICES[0]))
            Serving(grid, RUN, strategy, settings).run()
        else:
            strategy.run(grid, RUN)
        tools.close()
        for data in grid.sent:
            message = message_from_proto(MessageProto.FromString(data))
            if message.has_content():
                envelope = message.content.config_records["envelope"]
                is_reply = bool(message.metadata.reply_to_message_id)
                envelope["step"] = 0  # with a place among others it would be refused
                yield message.metadata.message_type, to_bytes(message.content), is_reply


@dataclass(slots=True)
class OpenHost:
    """A device that stays open for all messages of one type."""

    node: Node
    opened: EdgeDevice

    def name(self) -> str:
        """The device's name."""
        return self.opened.name

    @contextmanager
    def device(self) -> Iterator[EdgeDevice]:
        """The device, which stays open."""
        yield self.opened

    def training_questions(self) -> list[TrainingQuestion]:
        """Its own."""
        return self.node.training_questions()


@contextmanager
def open_host(settings: Settings) -> Iterator[OpenHost]:
    """The first device, open."""
    own: Mapping[str, Plain] = {"partition-id": 0}
    node = Node(own, settings.flat())
    with node.device() as device:
        yield OpenHost(node, device)


def settings_for(world: FuzzWorld, kind: str) -> Settings:
    """The settings under which a type of message is sent."""
    encrypted = {"query.encrypt", "query.route", "query.retrieve_sealed", "query.finish_sealed", "train.group"}
    changes: dict[str, Plain] = {}
    if kind in encrypted | {"train.controller"}:
        changes = {"strategy": "summary-routing", "exchange": "encrypted"}
    elif kind in ("query.walk", "query.gossip", "train.topics"):
        changes = next(one for one in RUNS if one["strategy"] == "topic-walk")
    return world.settings(**changes, **{"privacy.share-documents": True})


def _smallest(found: set[bytes]) -> tuple[bytes, ...]:
    ordered = sorted(found, key=lambda one: (len(one), one))
    fitting = [one for one in ordered if len(one) <= _LARGEST] or ordered[:1]
    step = max(1, len(fitting) // _MOST)
    return tuple(fitting[::step][:_MOST])
