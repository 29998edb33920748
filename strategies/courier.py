"""Carries records to devices and replies back: deadlines, validation, traffic, and who is missing and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from logging import WARNING
from typing import TypeVar

from flwr.app import Message
from flwr.common import log
from flwr.serverapp import Grid

from fedrag_flwr import wire
from fedrag_flwr.errors import WireError
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Progress, silent

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Letter:
    """A record for one node."""

    node_id: int
    record: object


@dataclass(slots=True)
class Courier:
    """Sends a round of records and brings back what decodes.

    A device that fails, lags or replies nonsense is named in `traffic.missing`, and the round goes on; of two replies
    to one message the first counts.

    Parameters
    ----------
    grid
        Flower's grid.
    run
        The run's id; replies of another run are refused.
    timeout, poll
        Seconds that a round may take, and between two looks for replies.
    names
        Device names by node id, for reports; filled by the describe step.
    progress
        Told of each reply.
    delays
        Seconds that the latest reply of each node took.
    """

    grid: Grid
    run: str
    timeout: float
    poll: float
    names: dict[int, str] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)  # message id -> the node that it went to
    progress: Progress = silent
    traffic: Traffic = field(default_factory=Traffic)
    delays: dict[int, float] = field(default_factory=dict)  # seconds of the latest reply, by node
    clock: Callable[[], float] = time.monotonic

    def name(self, node_id: int) -> str:
        """A node's device name, or its id before it has told its name."""
        return self.names.get(node_id, f"node {node_id}")

    def messages(self, letters: Iterable[Letter], message_type: str, timeout: float | None = None) -> list[Message]:
        """Encode letters as Flower messages with a time to live of one round, or of so many seconds."""
        messages, ttl = [], timeout or self.timeout
        for letter in letters:
            try:
                content = wire.encode(letter.record, run=self.run)
            except WireError as error:  # what another device gave may make a letter too large
                self.miss(letter.node_id, f"{message_type} could not be sent: {error}")
                continue
            messages.append(Message(content, letter.node_id, message_type, ttl=ttl, group_id=self.run))
        return messages

    def deliver(self, messages: Iterable[Message], timeout: float | None = None) -> list[Message]:
        """Push messages and pull replies until all are here or the time is up; one reply a message, the first."""
        sent, patience = list(messages), timeout or self.timeout
        if not sent:
            return []
        phase = sent[0].metadata.message_type
        awaited: dict[str, int] = {}
        self.asked.clear()
        for message, message_id in zip(sent, self.grid.push_messages(sent), strict=True):
            if message_id:
                awaited[message_id] = self.asked[message_id] = message.metadata.dst_node_id
                self.traffic = self.traffic.add(phase, bytes_down=wire.size_of(message.content))
            else:
                self.miss(message.metadata.dst_node_id, "the message was not accepted")
        replies: list[Message] = []
        total, start = len(awaited), self.clock()
        deadline = start + patience
        self.progress(phase, 0, total)
        while awaited and self.clock() < deadline:
            arrived = list(self.grid.pull_messages(list(awaited)))
            for reply in arrived:
                if (node_id := awaited.pop(reply.metadata.reply_to_message_id, None)) is not None:
                    self.delays[node_id] = self.clock() - start
                    replies.append(reply)
                    self.progress(phase, len(replies), total)
            if awaited and not arrived:
                time.sleep(self.poll)
        for node_id in awaited.values():
            self.miss(node_id, f"no reply to {phase} within {patience:g} s")
        return replies

    def open(self, replies: Iterable[Message], kind: type[R]) -> dict[int, R]:
        """Decode replies by the node that was asked; what does not decode is refused and its device named.

        A reply belongs to the node that its message went to: an error reply for a dead node names another source.

        Parameters
        ----------
        replies
            As `deliver` returned them.
        kind
            The record expected.
        """
        opened: dict[int, R] = {}
        for reply in replies:
            node_id = self.asked.get(reply.metadata.reply_to_message_id, reply.metadata.src_node_id)
            phase = reply.metadata.message_type
            if reply.has_error():
                self.miss(node_id, f"{phase} failed with code {reply.error.code}")
                continue
            self.traffic = self.traffic.add(phase, bytes_up=wire.size_of(reply.content))
            try:
                if wire.kind_of(reply.content) == wire.Failure.__name__:
                    failure = wire.decode(reply.content, wire.Failure, run=self.run)
                    self.miss(node_id, f"{phase}: {failure.error}: {failure.what}")
                else:
                    opened[node_id] = wire.decode(reply.content, kind, run=self.run)
            except WireError as error:
                self.miss(node_id, f"{phase}: {error}")
        return opened

    def exchange(
        self, letters: Iterable[Letter], message_type: str, kind: type[R], timeout: float | None = None
    ) -> dict[int, R]:
        """One round: send, wait as long as a round may take or so many seconds, decode."""
        return self.open(self.deliver(self.messages(letters, message_type, timeout), timeout), kind)

    def miss(self, node_id: int, reason: str) -> None:
        """Name a device that this run goes on without."""
        name = self.name(node_id)
        self.traffic = self.traffic.lose(name, reason)
        log(WARNING, "%s is missing: %s", name, reason)
