"""A message's content as bytes and back; imports Flower alone, for processes that must start quickly."""

from __future__ import annotations

from typing import TypeAlias

from flwr.app import RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as RecordDictProto

from fedrag_flwr.errors import WireError

Content: TypeAlias = RecordDict  # what a message holds; nothing in it is checked before `wire.decode`


def to_bytes(content: Content) -> bytes:
    """A content as bytes: the form in which Flower itself sends it."""
    return bytes(recorddict_to_proto(content).SerializeToString())


def from_bytes(data: bytes, where: str) -> Content:
    """The content that `to_bytes` made bytes of; nothing in it is checked yet; raises WireError where the bytes hold no
    content.
    """
    try:
        return recorddict_from_proto(RecordDictProto.FromString(data))
    except Exception as error:  # whatever protobuf and Flower make of bytes from elsewhere
        raise WireError("bytes that hold no record", where=where) from error
