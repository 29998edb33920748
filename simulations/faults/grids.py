"""Grids on which messages suffer: they come again, get lost, are late, or meet a clock that is off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp

from client_app.app import app
from fedrag_flwr.handling import respond
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import Node
from fedrag_flwr.service.protocol import MESSAGE_TYPES
from fedrag_flwr.settings import Settings
from simulations.faults.small_federation import RUN, nodes
from simulations.fixtures.kept_devices import OpenHost

_CRASHED, _AWAY = 8, 5  # Flower's error codes


class HurtGrid(LocalGrid):
    """A grid that draws what it does to messages, and counts it."""

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(app, nodes(), settings.flat())
        self.rng = rng
        self.hurt = 0


class RestlessGrid(HurtGrid):
    """Handles messages in any order, some of them twice, and old ones again."""

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(settings, rng)
        self._old: list[Message] = []

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Handle one of the waiting messages, and let others come again."""
        mixed = list(message_ids)
        self.rng.shuffle(mixed)
        return super().pull_messages(mixed)

    def _handle(self, message: Message) -> Message:
        reply = super()._handle(message)
        self._old.append(message)
        for again in (message, self._old[int(self.rng.integers(len(self._old)))]):
            if self.rng.random() < 0.3:
                self.hurt += 1
                super()._handle(again)
        return reply


class LossyGrid(HurtGrid):
    """Loses every tenth message before it arrives, and every tenth reply: the device was away, or its app crashed."""

    def _handle(self, message: Message) -> Message:
        drawn = self.rng.random()
        reply = super()._handle(message) if drawn > 0.1 else None
        if drawn > 0.2 and reply is not None:
            return reply
        self.hurt += 1
        code = (_AWAY, _CRASHED)[int(self.rng.integers(2))]
        return Message(Error(code, "lost"), reply_to=message)


class SlowGrid(HurtGrid):
    """Brings replies late: by up to `most` seconds, those of one node and type beyond any round."""

    def __init__(self, settings: Settings, rng: np.random.Generator, most: float, silent: tuple[int, str]) -> None:
        super().__init__(settings, rng)
        self.most = most
        self.silent = silent
        self._held: list[tuple[float, Message]] = []

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """What is due by now."""
        now = time.monotonic()
        for reply in super().pull_messages(message_ids):
            node_id, kind = reply.metadata.src_node_id, reply.metadata.message_type
            late = 3600.0 if (node_id, kind) == self.silent else float(self.rng.uniform(0, self.most))
            self._held.append((now + late, reply))
        due = [reply for at, reply in self._held if at <= now]
        self._held = [(at, reply) for at, reply in self._held if at > now]
        return due


def skewed_grid(settings: Settings, node_id: int, seconds: float) -> LocalGrid:
    """A grid of which one node's clock is off by so many seconds."""
    skewed = ClientApp()

    def handler(kind: str) -> Callable[[Message, Context], Message]:
        def handle(message: Message, context: Context) -> Message:
            node = Node(context.node_config, context.run_config)
            with node.device() as device:
                if context.node_id == node_id:
                    device.walks.clock = lambda: time.time() + seconds
                content = respond(OpenHost(node, device), kind, message.content, RUN)
            return Message(content, reply_to=message)

        return handle

    for kind in MESSAGE_TYPES:
        category, _, action = kind.partition(".")
        {"query": skewed.query, "train": skewed.train}[category](action)(handler(kind))
    return LocalGrid(skewed, nodes(), settings.flat())
