"""Records to Flower `RecordDict`s and back: versioned, bounded and validated, never pickled.

This is the only door by which anything from another party comes in. A record travels in columns: every scalar field
becomes one list, a nested tuple a list of lengths and the columns of its elements, and vectors one float16 array, so
that a delta of many memories costs little more than its text and its vectors.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedrag_flwr import records
from fedrag_flwr.errors import SchemaVersionError, WireError
from fedrag_flwr.records import Bound
from fedrag_flwr.wire_bytes import from_bytes, to_bytes

SCHEMA = 5
RAW = "fedrag.raw"
MAX_DIMENSION = 8_192
MOST_STEP = 2**62
_FIX = "look at the side that sent it; both must run the same version of the app"
KIB, MIB = 2**10, 2**20

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
    records.SealedFinish: 64 * MIB,
    records.HiddenRequest: 64 * KIB,
    records.ConfidedQuestion: 64 * KIB,
    records.GroupRequest: 16 * MIB,
    records.ConfideRequest: 16 * MIB,
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
    """Encode one record for the wire.

    Parameters
    ----------
    record
        An instance of a travelling dataclass of `records`, or a `Failure`.
    run
        The run that it belongs to; `decode` refuses another.
    step
        Its place among a run's requests, from 1; 0 for what has none, such as a reply.

    Raises
    ------
    WireError
        The record breaks one of its own bounds.
    """
    columns: dict[str, list[object]] = {}
    arrays: dict[str, Array] = {}
    _put("", type(record), Bound(), [record], columns, arrays)
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
    """Decode a message and check everything in it.

    Parameters
    ----------
    content
        What another party sent.
    kind
        The record that is expected.
    run
        The run that it must belong to.

    Raises
    ------
    WireError
        Anything that isn't exactly such a record within its bounds. The error never quotes the message.
    SchemaVersionError
        It was written by another version of the protocol.
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
    reader = _Reader(name, dict(columns), dict(vectors))
    values = reader.take("", kind, Bound(), 1)
    reader.finish()
    return values[0]  # type: ignore[return-value]


def pack(record: object, *, run: str) -> bytes:
    """A record as bytes, to be sealed for someone else than the side that relays it; raises as `encode`."""
    return to_bytes(encode(record, run=run))


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


# --- the shape of a record ----------------------------------------------------------------------


@cache
def _fields(kind: type) -> tuple[tuple[str, object, Bound], ...]:
    hints = get_type_hints(kind, include_extras=True)
    shape = []
    for field in dataclasses.fields(kind):
        if not field.metadata.get("local"):
            shape.append((field.name, *_bounded(hints[field.name])))
    return tuple(shape)


def _bounded(hint: object) -> tuple[object, Bound]:
    if get_origin(hint) is Annotated:
        plain, *extras = get_args(hint)
        return plain, next((extra for extra in extras if isinstance(extra, Bound)), Bound())
    return hint, Bound()


def _is_choice(hint: object) -> bool:
    return get_origin(hint) is Literal


def _is_vector(hint: object) -> bool:
    return get_origin(hint) is np.ndarray


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _put(
    prefix: str,
    hint: object,
    bound: Bound,
    values: list[object],
    columns: dict[str, list[object]],
    arrays: dict[str, Array],
) -> None:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        for name, inner, inner_bound in _fields(hint):
            _put(_join(prefix, name), inner, inner_bound, [getattr(v, name) for v in values], columns, arrays)
    elif _is_vector(hint):
        arrays[prefix] = _matrix(prefix, values)
    elif get_origin(hint) is tuple:
        inner, inner_bound = _bounded(get_args(hint)[0])
        groups = [value if isinstance(value, tuple) else () for value in values]
        for group in groups:
            if len(group) > bound.items:
                raise WireError(f"{len(group)} elements, at most {bound.items} are allowed", where=prefix)
        columns[prefix + "#"] = [len(group) for group in groups]
        _put(prefix, inner, inner_bound, [value for group in groups for value in group], columns, arrays)
    else:
        columns[prefix] = [_scalar(prefix, hint, bound, value) for value in values]


def _matrix(prefix: str, values: list[object]) -> Array:
    rows = [np.asarray(value, dtype=np.float16) for value in values]
    if len({row.shape for row in rows}) > 1 or any(row.ndim != 1 for row in rows):
        raise WireError("vectors of one message differ in shape", where=prefix)
    matrix = np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float16)
    if not np.isfinite(matrix).all():
        raise WireError("a vector is not finite", where=prefix)
    return Array(dtype="float16", shape=matrix.shape, stype=RAW, data=matrix.tobytes())


def _scalar(where: str, hint: object, bound: Bound, value: object) -> object:
    if _is_choice(hint):
        if value not in get_args(hint):
            raise WireError("a word that is not one of the choices", where=where)
        return value
    if hint is str:
        if not isinstance(value, str):
            raise WireError("expected text", where=where)
        if len(value) > (bound.chars or 200):
            raise WireError(f"a text of {len(value)} characters, at most {bound.chars or 200} are allowed", where=where)
        if not _is_unicode(value):
            raise WireError("a text that is not Unicode", where=where)
        return value
    if hint is bytes:
        if not isinstance(value, bytes):
            raise WireError("expected bytes", where=where)
        if len(value) > bound.size:
            raise WireError(f"{len(value)} bytes, at most {bound.size} are allowed", where=where)
        return value
    if hint is bool:
        if not isinstance(value, bool):
            raise WireError("expected a truth value", where=where)
        return value
    if hint is int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise WireError("expected an integer", where=where)
    elif hint is float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise WireError("expected a finite number", where=where)
        value = float(value)
    else:
        raise WireError("a field of a kind that cannot travel", where=where)
    if (bound.low or bound.high) and not bound.low <= value <= bound.high:
        raise WireError(f"a number outside [{bound.low}, {bound.high}]", where=where)
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


class _Reader:
    """Takes a record out of its columns, and refuses columns that nothing asked for."""

    def __init__(self, kind: str, columns: dict[str, object], arrays: dict[str, Array]) -> None:
        self.kind = kind
        self.columns = columns
        self.arrays = arrays

    def take(self, prefix: str, hint: object, bound: Bound, count: int) -> list[object]:
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            parts = {name: self.take(_join(prefix, name), inner, b, count) for name, inner, b in _fields(hint)}
            return [hint(**{name: column[i] for name, column in parts.items()}) for i in range(count)]
        if _is_vector(hint):
            return self._vectors(prefix, count, bound)
        if get_origin(hint) is tuple:
            inner, inner_bound = _bounded(get_args(hint)[0])
            lengths = self._column(prefix + "#", count)
            for length in lengths:
                if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length <= bound.items:
                    raise self._error(prefix, f"a sequence that is not of 0 to {bound.items} elements")
            ends = list(itertools.accumulate((int(str(length)) for length in lengths), initial=0))
            flat = self.take(prefix, inner, inner_bound, ends[-1])
            return [tuple(flat[start:end]) for start, end in itertools.pairwise(ends)]
        return [_scalar(f"{self.kind}.{prefix}", hint, bound, value) for value in self._column(prefix, count)]

    def finish(self) -> None:
        if self.columns or self.arrays:
            raise self._error("", "fields that this record does not have")

    def _column(self, name: str, count: int) -> list[object]:
        column = self.columns.pop(name, [])
        if not isinstance(column, list) or len(column) != count:
            raise self._error(name, f"a column that does not hold {count} values")
        return column

    def _vectors(self, prefix: str, count: int, bound: Bound) -> list[object]:
        array = self.arrays.pop(prefix, None)
        if array is None or array.stype != RAW or array.dtype != "float16" or len(array.shape) != 2:
            raise self._error(prefix, "not a float16 matrix")
        rows, width = array.shape
        if rows != count or not 0 <= width <= MAX_DIMENSION or len(array.data) != rows * width * 2:
            raise self._error(prefix, "a matrix whose shape does not fit the record or its own bytes")
        matrix = np.frombuffer(array.data, dtype=np.float16).reshape(rows, width).astype(np.float32)
        if not np.isfinite(matrix).all():
            raise self._error(prefix, "a vector that is not finite")
        norms = np.linalg.norm(matrix, axis=1)
        if bound.empty and not width:
            return list(matrix)
        if (rows and (norms < 0.9).any()) or (norms > 1.1).any():
            raise self._error(prefix, "a vector that is not of unit length")
        return list(matrix)

    def _error(self, where: str, what: str) -> WireError:
        return WireError(f"the message holds {what}", where=f"{self.kind}.{where}".rstrip("."))
