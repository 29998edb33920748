"""Records to Flower `RecordDict`s and back: versioned, bounded and validated, never pickled.

This is the only way by which anything from another party comes in. A record travels in columns (`wire_columns`), so
that a delta of many memories costs little more than its text and its vectors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeVar

from flwr.app import ArrayRecord, ConfigRecord, RecordDict

from fedrag_flwr import records
from fedrag_flwr.errors import SchemaVersionError, WireError
from fedrag_flwr.wire_bytes import from_bytes, to_bytes
from fedrag_flwr.wire_columns import from_columns, most_values, to_columns

SCHEMA = 15
MOST_STEP = 2**62
_FIX = "look at the side that sent it; both must run the same version of the app"
KIB, MIB = 2**10, 2**20
_AROUND = 4 * KIB  # of a sealed message beside its record's values: the envelope, the columns' names, and the seal

LIMITS: Mapping[type, int] = {
    records.DescribeRequest: 64 * KIB,
    records.DeviceCard: 64 * KIB,
    records.BuildRequest: 64 * KIB,
    records.BuildReport: MIB,
    records.ShareRequest: 64 * KIB,
    records.Delta: 64 * MIB,
    records.ImportReport: MIB,
    records.AnswerRequest: 16 * MIB,
    records.AnswerBatch: 16 * MIB,
    records.WaitingRequest: 64 * KIB,
    records.WaitingBatch: 16 * MIB,
    records.RetrieveRequest: 16 * MIB,
    records.EvidenceBatch: 16 * MIB,
    records.FinishRequest: 16 * MIB,
    records.SummaryRequest: 64 * MIB,
    records.SummaryBatch: 64 * MIB,
    records.SummaryOverview: 64 * MIB,
    records.ControllerRequest: 2 * MIB,
    records.ControllerUpdate: MIB,
    records.TopicRequest: 8 * MIB,
    records.TopicUpdate: 8 * MIB,
    records.HitsRequest: 16 * MIB,
    records.HitsBatch: 16 * MIB,
    records.WalkRequest: 16 * MIB,
    records.WalkReply: 16 * MIB,
    records.GossipRequest: 16 * MIB,
    records.GossipReply: 16 * MIB,
    records.DocumentsRequest: 64 * KIB,
    records.DocumentBatch: 64 * MIB,
    records.RoundedOverview: 64 * MIB,
    records.EncryptRequest: 16 * MIB,
    records.EncryptedQuestions: 64 * MIB,
    records.RouteRequest: 64 * MIB,
    records.SealedMessages: 64 * MIB,
    records.SealRequest: 16 * MIB,
    records.SealedSummaries: 64 * MIB,
    records.SealedOverview: 64 * MIB,
    records.SealedFinish: 64 * MIB,
    records.HiddenRequest: 64 * KIB,
    records.EnclaveQuestion: 64 * KIB,
    records.GroupRequest: 16 * MIB,
    records.EnclaveRequest: 16 * MIB,
    records.CentroidRequest: 64 * KIB,
    records.CentroidBatch: 2 * MIB,
}

R = TypeVar("R")


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """A device's word that it could not do what was asked: the kind of error and a sentence without document text."""

    device: records.Name
    error: records.Name
    what: records.Line


def failure(device: str, error: Exception, what: str, run: str) -> RecordDict:
    """Encode a device's word that it could not do what was asked, cut to what a `Failure` may hold."""
    return encode(Failure(device[:200], type(error).__name__[:200], what[:2000]), run=run)


def encode(record: object, *, run: str, step: int = 0) -> RecordDict:
    """Encode one record for the wire; raises WireError where the record breaks one of its own bounds.

    Parameters
    ----------
    record
        An instance of a travelling dataclass of `records`, or a `Failure`.
    run
        The run that it belongs to; `decode` refuses another.
    step
        Its place among a run's requests, from 1; 0 for what has none, such as a reply.
    """
    columns, arrays = to_columns(record)
    content = RecordDict(
        {
            "envelope": ConfigRecord({"schema": SCHEMA, "kind": type(record).__name__, "run": run, "step": step}),
            "columns": ConfigRecord({name: column for name, column in columns.items() if column}),  # type: ignore[misc]
            "vectors": ArrayRecord(arrays),
        }
    )
    limit = LIMITS.get(type(record), 64 * KIB)
    if (size := size_of(content)) > limit:
        raise WireError(
            f"the message takes {size} bytes, at most {limit} are allowed",
            where=type(record).__name__,
            fix="send it in smaller parts",
        )
    return content


def decode(content: RecordDict, kind: type[R], *, run: str) -> R:
    """Decode a message and check everything in it; raises WireError where it is anything but such a record within its
    bounds, which it never quotes, and SchemaVersionError where it was written by another version of the protocol.
    """
    try:
        return _decode(content, kind, run)
    except WireError as error:
        raise type(error)(error.what, where=error.where, fix=error.fix or _FIX) from None


def _decode(content: RecordDict, kind: type[R], run: str) -> R:
    name = kind.__name__
    if not {"envelope", "columns", "vectors"} == set(content):
        raise WireError("the message does not have the three parts of a record", where=name)
    envelope, columns, vectors = content["envelope"], content["columns"], content["vectors"]
    if not (
        isinstance(envelope, ConfigRecord) and isinstance(columns, ConfigRecord) and isinstance(vectors, ArrayRecord)
    ):
        raise WireError("a part of the message is of the wrong kind", where=name)
    if envelope.get("schema") != SCHEMA:
        raise SchemaVersionError(
            f"the message has another protocol version, this side speaks {SCHEMA}",
            where=name,
            fix="run the same version of the app on all devices",
        )
    if set(envelope) != {"schema", "kind", "run", "step"}:
        raise WireError("the envelope holds something else than schema, kind, run and step", where=name)
    if envelope.get("kind") != name:
        raise WireError("the message is of another kind", where=name)
    if envelope.get("run") != run:
        raise WireError("the message belongs to another run", where=name)
    if not isinstance(step := envelope.get("step"), int) or isinstance(step, bool) or not 0 <= step <= MOST_STEP:
        raise WireError("the message has no place among its run's", where=name)
    if (size := size_of(content)) > LIMITS.get(kind, 64 * KIB):
        raise WireError(f"the message takes {size} bytes, more than allowed", where=name)
    return from_columns(kind, columns, vectors)


def pack(record: object, *, run: str) -> bytes:
    """A record as bytes, to be sealed for someone else than the side that relays it; raises as `encode`."""
    return to_bytes(encode(record, run=run))


def most_bytes(kind: type, dimension: int = 0, **items: int) -> int:
    """Bytes of the largest sealed message in which a record may stand, packed.

    Parameters
    ----------
    kind
        Of the record.
    dimension
        Of its vectors.
    **items
        Most elements of its sequences by their fields' names, where that is less than the record's own bounds.
    """
    return _AROUND + most_values(kind, dimension, items)


def unpack(data: bytes, kind: type[R], *, run: str) -> R:
    """The record that `pack` made bytes of; raises as `decode`."""
    if len(data) > 2 * LIMITS.get(kind, 64 * KIB):
        raise WireError(f"{len(data)} bytes, more than allowed", where=kind.__name__, fix=_FIX)
    try:
        content = from_bytes(data, kind.__name__)
    except WireError as error:
        raise WireError(error.what, where=error.where, fix=_FIX) from error
    return decode(content, kind, run=run)


def kind_of(content: RecordDict) -> str:
    """Name the kind of record that a message claims to be, or "" where it claims none."""
    envelope = content.get("envelope")
    kind = envelope.get("kind") if isinstance(envelope, ConfigRecord) else None
    return kind if isinstance(kind, str) else ""


def step_of(content: RecordDict) -> int:
    """The place among its run's requests that a message claims, or 0 where it claims none."""
    envelope = content.get("envelope")
    step = envelope.get("step") if isinstance(envelope, ConfigRecord) else None
    return step if isinstance(step, int) and not isinstance(step, bool) else 0


def size_of(content: RecordDict) -> int:
    """Bytes of a message's payload: its texts, numbers (8 each) and arrays, with their names."""
    total = 0
    for record in content.values():
        if isinstance(record, ArrayRecord):
            total += sum(len(name) + len(array.data) for name, array in record.items())
        else:
            total += sum(len(name) + _size(value) for name, value in record.items())
    return total


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode()) + 2
    if isinstance(value, bytes):
        return len(value) + 2
    if isinstance(value, list):
        return sum(map(_size, value))
    return 8
