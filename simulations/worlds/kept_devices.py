"""Devices of this process that stay open between messages, as a device's service keeps them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from flwr.app import Context, Message, RecordDict

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.releases import Releases
from fedrag_flwr.handling import respond
from fedrag_flwr.nodes import Node, store_root
from fedrag_flwr.ordering.controller import TrainingQuestion
from fedrag_flwr.records import Answer, AnswerBatch, AnswerMode, OpenQuestion
from fedrag_flwr.service.keeping import OpenDevices
from fedrag_flwr.settings import Settings
from fedrag_flwr.walking.notes import WalkNotes
from fedrag_flwr.walking.peer import NOTES


@dataclass(slots=True)
class Overheard(Releases):
    """A releases that tells a benchmark what home answered, as people there read it; what leaves may be masked."""

    said: dict[str, Answer] = field(default_factory=dict)

    def batch(
        self,
        answers: Iterable[Answer],
        still_open: Iterable[OpenQuestion] = (),
        mode: AnswerMode = "memory",
        waiting: Container[str] = (),
        asked: Mapping[str, str] | None = None,
    ) -> AnswerBatch:
        """Answers and open questions as they may leave."""
        told = list(answers)
        self.said.update({answer.question_id: answer for answer in told})
        return Releases.batch(self, told, still_open, mode, waiting, asked)


def overhear(device: EdgeDevice, said: dict[str, Answer]) -> None:
    """Note what a device answers."""
    keeper = device.releases
    device.releases = Overheard(keeper.device, keeper.store, keeper.export, keeper.hide, keeper.settings, said=said)


@dataclass(frozen=True, slots=True)
class KeptNode:
    """A node whose device is opened once, with the first message."""

    node: Node
    kept: OpenDevices

    @classmethod
    def of(cls, node: Node, said: dict[str, Answer], walker: str = "") -> KeptNode:
        """Keep a simulated node's device, and note what it answers; what a walker learns is noted apart."""
        root = store_root(node.settings, node.device_name())

        def opened(_: Settings) -> EdgeDevice:
            device = node.device()
            overhear(device, said)
            if walker:
                device.walks.notes = WalkNotes(root / notes_of(walker))
            return device

        return cls(node, OpenDevices(root, opened, 1))

    def name(self) -> str:
        """What the device is called in replies."""
        return self.node.name()

    def device(self) -> AbstractContextManager[EdgeDevice]:
        """The device, for as long as one message takes."""
        return self.kept.device(self.node.settings)

    def training_questions(self) -> list[TrainingQuestion]:
        """The device's own training questions."""
        return self.node.training_questions()


def notes_of(walker: str) -> str:
    """The name of the file of what a system's walks taught a device."""
    return f"{walker}.{NOTES}"


class KeptDevices:
    """Answers messages of the nodes of one run; its `reply` makes a ClientApp (`app_of`).

    `said` has what devices answered, by question and as home reads it.

    Parameters
    ----------
    walker
        Under which name it walks, if it does: what walks of other names teach is noted apart.
    """

    def __init__(self, walker: str = "") -> None:
        self._walker = walker
        self.said: dict[str, Answer] = {}
        self._nodes: dict[int, KeptNode] = {}

    def reply(self, message_type: str, message: Message, context: Context) -> RecordDict:
        """Handle a message at its node's device."""
        return respond(self.node(context), message_type, message.content, str(message.metadata.run_id))

    def node(self, context: Context) -> KeptNode:
        """The node that a message is for, the same one each time."""
        if context.node_id not in self._nodes:
            node = KeptNode.of(Node(context.node_config, context.run_config, context.node_id), self.said, self._walker)
            self._nodes[context.node_id] = node
        return self._nodes[context.node_id]

    def close(self) -> None:
        """Close all devices."""
        for node in self._nodes.values():
            node.kept.close()
        self._nodes.clear()
