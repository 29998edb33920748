"""Spoilt messages at a device and at the server: only errors of our own, which quote nothing of what was sent."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from flwr.common.serde import message_from_proto
from flwr.proto.message_pb2 import Message as MessageProto

from fedrag_flwr import wire
from fedrag_flwr.errors import WireError
from fedrag_flwr.handling import HANDLERS
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    AskedQuestion,
    CentroidRequest,
    DocumentsRequest,
    EnclaveRequest,
    HitsRequest,
    Hop,
    Lesson,
    OwnedRows,
    PeerKey,
    Question,
    RoundedOverview,
    RouteRequest,
    SealedFinish,
    SealedMessage,
    SealedMessages,
    SealedOverview,
    SealedSummaries,
    SealRequest,
    SubgraphSummary,
    SummaryOverview,
    SummaryRequest,
    TopicRequest,
    TopicWeight,
    WaitingRequest,
    WalkRequest,
    because,
)
from fedrag_flwr.wire_bytes import to_bytes
from fedrag_flwr.wire_columns import RAW
from simulations.faults.mutations import mutated
from simulations.faults.small_federation import RUN, Samples, open_host
from simulations.faults.spoilt import to_device, to_server
from simulations.faults.tally import Tally
from simulations.fixtures.kept_devices import OpenHost
from tests.canary_search import found_in
from tests.strategies.federation import FirstRun, first_run

pytestmark = pytest.mark.timeout(900)  # the first test waits for the first run
MESSAGES = 25  # of each type
CANARY = "Heliotrope-77"
VECTOR = np.eye(1, 384, dtype=np.float32)[0]
ASKED = (Question("f1", f"Who designed the bridge of {CANARY}?", "bridges"),)
TOPICS = (TopicWeight(3, 1.0),)
SEALED = SealedMessage("f1", "bridges", CANARY.encode() * 9)
MADE: dict[str, object] = {  # requests that the first run does not send
    "query.summaries": SummaryRequest("", ("a", "b"), "download"),
    "query.overview": SummaryOverview((SubgraphSummary("1", CANARY, VECTOR, "people"),)),
    "query.rounded_overview": RoundedOverview(384, (OwnedRows("people", 1),), bytes(range(1, 129)) * 3),
    "query.seal_summaries": SealRequest((PeerKey("people", b"k" * 32),)),
    "query.sealed_overview": SealedOverview(
        (PeerKey("people", b"k" * 32),), (SealedSummaries("people", 1, CANARY.encode() * 9, (SEALED,)),)
    ),
    "query.deliver": AnswerBatch(
        "bridges", (Answer("f1", CANARY, "remote", 0.5, decisions=(because("place", CANARY),)),), (), 1.0
    ),
    "query.hits": HitsRequest((AskedQuestion("f1", CANARY),), 2, 1),
    "query.waiting": WaitingRequest(True, 3),
    "query.walk": WalkRequest(
        "topic", (Hop("f1", VECTOR, TOPICS, ("people",)),), (Lesson("f1", "people", TOPICS, 1, "good", False),)
    ),
    "train.topics": TopicRequest("known", 1, 3, (CANARY.encode() * 9,), b"k" * 32),
    "query.documents": DocumentsRequest(),
    "query.centroids": CentroidRequest(2),
    "query.enclave": EnclaveRequest(ASKED, b"k" * 32),
    "query.open_answers": SealedMessages("bridges", (SEALED,)),
    "query.retrieve_sealed": SealedMessages("bridges", (SEALED,)),
    "query.finish_sealed": SealedFinish(ASKED, (SEALED,)),
    "query.route": RouteRequest(ASKED, (PeerKey("people", b"k" * 32),), b"k" * 32),
}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    return first_run(tmp_path_factory)


@pytest.fixture(scope="module")
def samples(first: FirstRun) -> dict[str, Samples]:
    sides: dict[bool, dict[str, list[bytes]]] = {False: defaultdict(list), True: defaultdict(list)}
    for data in first.sent:
        message = message_from_proto(MessageProto.FromString(data))
        message.content.config_records["envelope"]["step"] = 0
        is_reply = bool(message.metadata.reply_to_message_id)
        sides[is_reply][message.metadata.message_type].append(to_bytes(message.content))
    for kind, record in MADE.items():
        sides[False][kind].append(to_bytes(wire.encode(record, run=RUN)))
    return {kind: Samples(tuple(found[:4]), tuple(sides[True][kind][:4])) for kind, found in sides[False].items()}


@pytest.fixture(scope="module")
def host(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHost]:
    files = first.files.copy_to(tmp_path_factory.mktemp("fuzzed")).with_changes(
        inference__abstain_below=1.0, inference__max_answer_tokens=1
    )
    with open_host(files.settings) as opened:
        yield opened


def test_a_device_refuses_spoilt_requests_and_quotes_nothing(samples: dict[str, Samples], host: OpenHost) -> None:
    refused = 0
    for number, (kind, found) in enumerate(samples.items()):
        rng = np.random.default_rng([7, number])
        for _ in range(MESSAGES):
            try:
                content = mutated(found.requests[int(rng.integers(len(found.requests)))], rng)
            except WireError:
                continue
            refused += bool(to_device(host, kind, content))
    assert refused > len(samples) * MESSAGES / 4


def test_what_a_device_says_of_a_spoilt_request_quotes_nothing(samples: dict[str, Samples], host: OpenHost) -> None:
    rng = np.random.default_rng(11)
    for kind in MADE:
        for _ in range(6):
            try:
                reply = host.respond(kind, mutated(samples[kind].requests[0], rng), RUN)
            except WireError:
                continue
            if wire.kind_of(reply) == wire.Failure.__name__:
                assert found_in(to_bytes(reply), [CANARY]) == set()


def test_the_server_refuses_spoilt_replies(samples: dict[str, Samples]) -> None:
    for kind, found in samples.items():
        if found.replies:
            tally = Tally()
            to_server(tally, kind, found, MESSAGES, np.random.default_rng(7))
            assert tally.crashes == {}
            assert tally.ours.total() > 0


def test_every_type_is_fuzzed_or_needs_a_process_of_its_own(samples: dict[str, Samples]) -> None:
    assert set(HANDLERS) - set(samples) == {"query.encrypt", "query.gossip", "train.group", "train.controller"}


def bomb(**columns: object) -> RecordDict:
    """A request that claims to be huge."""
    content = wire.encode(SummaryRequest("", ()), run=RUN)
    content.config_records["columns"].update(columns)  # type: ignore[arg-type]
    return content


def test_what_is_oversized_is_refused_before_it_is_read(host: OpenHost) -> None:
    large = bomb(generation=[CANARY * 8_000_000])
    claims = bomb(**{"known#": [2**60]})
    shapes = wire.encode(DocumentsRequest(), run=RUN)
    shapes["vectors"] = ArrayRecord({"x": Array(dtype="float16", shape=(2**40, 2**40), stype=RAW, data=b"")})
    nested = RecordDict({f"part{number}": ConfigRecord({"x": [CANARY] * 9}) for number in range(1_000)})
    for kind, content in (
        ("query.summaries", large),
        ("query.summaries", claims),
        ("query.documents", shapes),
        ("query.documents", nested),
    ):
        assert to_device(host, kind, content) == "WireError"
