"""The ClientApp: hands each message to the device's service, or handles it here where none runs.

A deployed Flower process lives for one message. It imports Flower and little else, so that a message costs what its
work costs; models and memory stay loaded in the service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from logging import WARNING

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common import log
from flwr.common.logger import FLOWER_LOGGER

from fedrag_flwr.errors import ServiceAbsentError, ServiceError, SettingError, WireError
from fedrag_flwr.home_paths import deployed_name
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import MESSAGE_TYPES, socket_of
from fedrag_flwr.wire_bytes import from_bytes, to_bytes

Reply = Callable[[str, Message, Context], RecordDict]
_warned: set[str] = set()


def app_of(reply: Reply) -> ClientApp:
    """A ClientApp that answers a message of each of the project's types with what `reply` gives for it."""
    made = ClientApp()
    for message_type in MESSAGE_TYPES:
        category, _, action = message_type.partition(".")
        {"query": made.query, "train": made.train}[category](action)(_handler(message_type, reply))
    return made


def _handler(message_type: str, reply: Reply) -> Callable[[Message, Context], Message]:
    def handle(message: Message, context: Context) -> Message:
        answer = Message(reply(message_type, message, context), reply_to=message)
        if answer.metadata.ttl <= 0:  # by a clock that is ahead of the server's, it would have expired
            answer.metadata.created_at, answer.metadata.ttl = message.metadata.created_at, message.metadata.ttl
        return answer

    return handle


def _reply(message_type: str, message: Message, context: Context) -> RecordDict:
    run = str(message.metadata.run_id)
    path = socket_of(context.node_config)
    if path is not None:
        try:
            with ServiceClient(path) as client:
                sent = to_bytes(message.content)
                return from_bytes(client.message(message_type, run, context.run_config, sent), "service")
        except ServiceAbsentError:
            _warn(deployed_name(context.node_config))
        except (ServiceError, WireError) as error:
            return _failure(context.node_config, error, run)
    return _here(message_type, message.content, context, run)


def _here(message_type: str, content: RecordDict, context: Context, run: str) -> RecordDict:
    """Handle a message in this process, which loads what it needs for it."""
    from fedrag_flwr.handling import PROGRESS, respond
    from fedrag_flwr.nodes import Node
    from fedrag_flwr.service.config import beside_file

    PROGRESS.handlers = FLOWER_LOGGER.handlers  # it goes where Flower's own log goes, and is as quiet as that
    PROGRESS.setLevel(FLOWER_LOGGER.getEffectiveLevel())

    try:
        own = beside_file(context.node_config)
    except SettingError as error:
        return _failure(context.node_config, error, run)
    node = Node(own, context.run_config, context.node_id)
    return respond(node, node.device, message_type, content, run)


def _failure(node_config: Mapping[str, object], error: ServiceError | SettingError | WireError, run: str) -> RecordDict:
    from fedrag_flwr import wire

    return wire.failure(deployed_name(node_config), error, error.abroad, run)


def _warn(device: str) -> None:
    if device not in _warned:
        _warned.add(device)
        log(WARNING, "%s: no service runs at this device; every message loads its models anew: fedrag serve", device)


app = app_of(_reply)
