"""Devices of this process that stay open between messages, as a device's service keeps them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from flwr.app import Context, Message, RecordDict

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.handling import respond
from fedrag_flwr.nodes import Node, store_root
from fedrag_flwr.ordering.controller import TrainingQuestion
from fedrag_flwr.service.keeping import OpenDevices


@dataclass(frozen=True, slots=True)
class KeptNode:
    """A node whose device is opened once, with the first message."""

    node: Node
    kept: OpenDevices

    @classmethod
    def of(cls, node: Node) -> KeptNode:
        """Keep a simulated node's device."""
        root = store_root(node.settings, node.device_name())
        return cls(node, OpenDevices(root, lambda _: node.device(), 1))

    def name(self) -> str:
        """What the device is called in replies."""
        return self.node.name()

    def device(self) -> AbstractContextManager[EdgeDevice]:
        """The device, for as long as one message takes."""
        return self.kept.device(self.node.settings)

    def training_questions(self) -> list[TrainingQuestion]:
        """The device's own training questions."""
        return self.node.training_questions()


class KeptDevices:
    """Answers messages of the nodes of one run; its `reply` makes a ClientApp (`app_of`)."""

    def __init__(self) -> None:
        self._nodes: dict[int, KeptNode] = {}

    def reply(self, message_type: str, message: Message, context: Context) -> RecordDict:
        """Handle a message at its node's device."""
        return respond(self.node(context), message_type, message.content, str(message.metadata.run_id))

    def node(self, context: Context) -> KeptNode:
        """The node that a message is for, the same one each time."""
        if context.node_id not in self._nodes:
            node = KeptNode.of(Node(context.node_config, context.run_config, context.node_id))
            self._nodes[context.node_id] = node
        return self._nodes[context.node_id]

    def close(self) -> None:
        """Close all devices."""
        for node in self._nodes.values():
            node.kept.close()
        self._nodes.clear()
