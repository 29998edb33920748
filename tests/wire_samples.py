"""Messages for tests of the wire, and their way through Flower's own bytes."""

from typing import Any

import numpy as np
from flwr.app import Array, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as RecordDictProto

from fedrag_flwr.records import Answer, AnswerBatch, Delta, MemoryItem, Vector, because
from fedrag_flwr.wire_columns import RAW

RUN = "4711"
SECRET = "Mellow-Otter-83"  # stands in every hostile message; no error may repeat it
DIMENSION = 8


def unit(seed: int, dimension: int = DIMENSION) -> Vector:
    vector = np.random.default_rng(seed).normal(size=dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def item(number: int, dimension: int = DIMENSION) -> MemoryItem:
    return MemoryItem(
        id=f"{number:032x}",
        question=f"Which ferry of the {SECRET} line crosses strait {number}?",
        answer=f"Ferry {number}",
        kind="single",
        answer_type="NAME",
        hyperedges=tuple(f"{number:030x}{part:02x}" for part in range(number % 3)),
        anchors=tuple(f"strait {number + part}" for part in range(number % 4)),
        embedding=unit(number, dimension),
        origin="ferries",
    )


def delta(count: int = 5, dimension: int = DIMENSION) -> Delta:
    items = tuple(item(number, dimension) for number in range(count))
    return Delta("ferries", 3, 9, items, ("old-1", "old-2"))


def travel(content: RecordDict) -> RecordDict:
    """Through Flower's own bytes, as between two machines."""
    return recorddict_from_proto(RecordDictProto.FromString(recorddict_to_proto(content).SerializeToString()))


def array(shape: tuple[int, ...], data: bytes, dtype: str = "float16", stype: str = RAW) -> Array:
    return Array(dtype=dtype, shape=shape, stype=stype, data=data)


def answer(**changes: Any) -> AnswerBatch:
    whole: dict[str, Any] = {"question_id": "q", "text": "t", "path": "cognizer", "score": 0.5}
    whole["decisions"] = (because("memory", "e", 0.5, 0.6),)
    return AnswerBatch("a", (Answer(**(whole | changes)),), (), 1.0)
