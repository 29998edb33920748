"""A Flower grid within one process: it calls the ClientApp directly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.message_pb2 import Message as MessageProto
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

Plain = bool | int | float | str
SERVER_NODE = 1


class LocalGrid(Grid):
    """Nodes of one process; messages pass through their wire form, so that what a test sees is what would be sent.

    Parameters
    ----------
    record
        Whether `sent` keeps every request and reply, for tests of what travels.
    tamper
        Changes a reply on its way, or drops it by returning None: for tests of faults.
    """

    def __init__(
        self,
        app: ClientApp,
        nodes: Sequence[Mapping[str, Plain]],
        run_config: Mapping[str, Plain],
        run_id: int = 1,
        tamper: Callable[[Message], Message | None] | None = None,
        *,
        record: bool = True,
    ) -> None:
        assume_identity(run_id)
        self._app = app
        self._run = Run.create_empty(run_id)
        self._contexts = {
            100 + number: Context(run_id, 100 + number, dict(config), RecordDict(), dict(run_config))
            for number, config in enumerate(nodes)
        }
        self._tamper = tamper
        self._record = record
        self._numbers = itertools.count(1)
        self._waiting: dict[str, Message] = {}
        self.sent: list[bytes] = []  # every request and reply in its wire form

    def set_run(self, run: Run) -> None:
        """Set the run."""
        self._run = run

    @property
    def run(self) -> Run:
        """The run."""
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        """Create a message."""
        return Message(content, dst_node_id, message_type, group_id=group_id, ttl=ttl)

    def get_node_ids(self) -> list[int]:
        """The ids of all nodes."""
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        """Take messages; they are handled when their replies are pulled."""
        ids = []
        for message in messages:
            message_id = f"message-{next(self._numbers)}"
            message.metadata.__dict__["_message_id"] = message_id
            self._waiting[message_id] = self._travel(message)
            ids.append(message_id)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Handle one waiting message and return its reply."""
        for message_id in message_ids:
            message = self._waiting.pop(message_id, None)
            if message is None:
                continue
            reply: Message | None = self._handle(message)
            if self._tamper is not None and reply is not None:
                reply = self._tamper(reply)
            if reply is not None:
                return [self._travel(reply)]
        return []

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        """Push messages and pull all their replies."""
        ids = self.push_messages(messages)
        return [reply for _ in ids for reply in self.pull_messages(ids)]

    def _handle(self, message: Message) -> Message:
        try:
            return self._app(message, self._contexts[message.metadata.dst_node_id])
        except Exception as error:
            return Message(Error(code=2, reason=str(error)), reply_to=message)

    def _travel(self, message: Message) -> Message:
        data = message_to_proto(message).SerializeToString()
        if self._record:
            self.sent.append(data)
        return message_from_proto(MessageProto.FromString(data))


def assume_identity(run_id: int) -> None:
    """Outside a Flower process messages need an identity; this is the only place that gives one."""
    TaskIdentity.run_id = run_id
    TaskIdentity.node_id = SERVER_NODE
    TaskIdentity.task_id = 1
