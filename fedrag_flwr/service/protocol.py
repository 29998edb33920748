"""What a device's service and its clients agree on; imports nothing heavy, for processes that must start quickly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from fedrag_flwr.errors import WireError
from fedrag_flwr.home_paths import Plain as Plain
from fedrag_flwr.home_paths import deployed_name, deployed_root, fedrag_home, is_deployed

SOCKET = "service.sock"
TOKEN = "service.token"
LOCK = "service.lock"
CONFIG = "device.toml"

HEALTH = "/health"
METRICS = "/metrics"
MESSAGES = "/v1/messages"
ASK = "/v1/ask"
ASK_ALOUD = "/v1/ask/aloud"  # the answer while it is written
ANSWERS = "/v1/answers"
FEEDBACK = "/v1/feedback"
OUTBOX = "/v1/outbox"
READING = "/v1/reading"  # of the documents
DOCUMENTS = "/v1/documents"

BINARY = "application/octet-stream"
LINES = "application/x-ndjson"
MOST_RUN = 64  # characters of a run's id
MOST_JSON = 2**16  # bytes of a request with JSON in it
MOST_HEAD = 2**18  # bytes of a run's settings before a message's content
OFF = "off"  # as a node's `service`: handle messages in this process, and say nothing about it

_QUERIES = (
    "answer centroids deliver describe documents enclave encrypt finish finish_sealed gossip hits import "
    "open_answers overview retrieve retrieve_sealed rounded_overview route seal_summaries sealed_overview "
    "share summaries waiting walk"
)
_TRAININGS = "build controller group topics"
MESSAGE_TYPES = (
    *(f"query.{name}" for name in _QUERIES.split()),
    *(f"train.{name}" for name in _TRAININGS.split()),
)


def frame(run: str, config: Mapping[str, Plain], content: bytes) -> bytes:
    """A message for the service: four bytes with the length of the head, the head as JSON, and the content."""
    head = json.dumps({"run": run, "config": dict(config)}).encode()
    return len(head).to_bytes(4, "big") + head + content


def unframe(body: bytes) -> tuple[str, dict[str, Plain], bytes]:
    """The run, its settings and the content of what `frame` made; raises WireError where the bytes are something
    else.
    """
    length = int.from_bytes(body[:4], "big")
    if len(body) < 4 or not 0 < length <= min(MOST_HEAD, len(body) - 4):
        raise WireError("bytes that are no message for the service", where="head")
    try:
        head = json.loads(body[4 : 4 + length])
        run, config = head["run"], head["config"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WireError("a head that is not a run with its settings", where="head") from error
    if not isinstance(run, str) or len(run) > MOST_RUN or not isinstance(config, dict):
        raise WireError("a head that is not a run with its settings", where="head")
    if not all(isinstance(value, Plain) for value in config.values()):
        raise WireError("a setting that is neither a number, a truth value nor a text", where="head")
    return run, config, body[4 + length :]


def default_socket(home: Path, name: str) -> Path:
    """Where a device's service listens unless told otherwise."""
    return deployed_root(home, name) / SOCKET


def socket_of(node_config: Mapping[str, Plain]) -> Path | None:
    """The socket of a node's service: as its config says (`service`), else the default place of a deployed device.

    None for a simulated node and where the config says "off".
    """
    told = str(node_config.get("service", "auto" if is_deployed(node_config) else OFF))
    if told == OFF:
        return None
    if told != "auto":
        return Path(told).expanduser()
    return default_socket(fedrag_home(str(node_config.get("home", ""))), deployed_name(node_config))
