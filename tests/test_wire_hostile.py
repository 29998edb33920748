"""The wire: hostile messages are refused, and refusals quote nothing."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from fedrag_flwr import wire
from fedrag_flwr.errors import SchemaVersionError, WireError
from fedrag_flwr.records import AnswerBatch, Delta, DescribeRequest
from fedrag_flwr.wire_bytes import to_bytes
from simulations.faults.mutations import mutated
from tests.wire_samples import DIMENSION, RUN, SECRET, answer, array, delta, travel, unit

Parts = dict[str, Any]


def parts(record: object | None = None) -> Parts:
    """The parts of a message as plain dicts that a test can spoil."""
    content = wire.encode(record or delta(), run=RUN)
    return {name: dict(part) for name, part in content.items()}


def joined(spoilt: Parts) -> RecordDict:
    content = RecordDict()
    for name, part in spoilt.items():
        if isinstance(part, dict):
            arrays = any(isinstance(value, Array) for value in part.values()) or name == "vectors"
            part = ArrayRecord(part) if arrays else ConfigRecord(part)
        content[name] = part
    return content


GOOD = np.stack([unit(seed) for seed in range(5)]).astype(np.float16).tobytes()


def _set(part: str, name: str, value: object) -> Callable[[Parts], None]:
    return lambda whole: whole[part].__setitem__(name, value)


def _drop(part: str, name: str) -> Callable[[Parts], None]:
    return lambda whole: whole[part].pop(name)


def _vectors(value: Array) -> Callable[[Parts], None]:
    return _set("vectors", "items.embedding", value)


HOSTILE: dict[str, Callable[[Parts], None]] = {
    "no envelope": lambda whole: whole.pop("envelope"),
    "no columns": lambda whole: whole.pop("columns"),
    "no vectors": lambda whole: whole.pop("vectors"),
    "fourth part": lambda whole: whole.__setitem__(SECRET, {"x": 1}),
    "columns that are arrays": lambda whole: whole.__setitem__("columns", ArrayRecord({})),
    "vectors that are metrics": lambda whole: whole.__setitem__("vectors", MetricRecord({"x": 1.0})),
    "envelope that is metrics": lambda whole: whole.__setitem__("envelope", MetricRecord({"schema": 1})),
    "another kind": _set("envelope", "kind", "DeviceCard"),
    "kind that is a number": _set("envelope", "kind", 1),
    "another run": _set("envelope", "run", SECRET),
    "no run": _drop("envelope", "run"),
    "no step": _drop("envelope", "step"),
    "a step that is text": _set("envelope", "step", SECRET),
    "a step before the first": _set("envelope", "step", -1),
    "more in the envelope": _set("envelope", SECRET, 1),
    "missing column": _drop("columns", "items.answer"),
    "missing lengths": _drop("columns", "items#"),
    "extra column": _set("columns", SECRET, ["x"]),
    "extra column of a known record": _set("columns", "items.rating", [1] * 5),
    "extra vectors": _set("vectors", SECRET, array((1, 1), b"\0\0")),
    "evidence that stays at home": _set("columns", "evidence#", [0]),
    "scalar for a column": _set("columns", "origin", SECRET),
    "bytes for a column": _set("columns", "items.answer", b"x" * 5),
    "column of bytes": _set("columns", "items.answer", [b"x"] * 5),
    "column of numbers": _set("columns", "items.answer", [1] * 5),
    "numbers that are texts": _set("columns", "since", ["3"]),
    "numbers that are fractions": _set("columns", "since", [3.0]),
    "truth for a number": _set("columns", "since", [True]),
    "two roots": _set("columns", "origin", ["a", "b"]),
    "too short a column": _set("columns", "items.answer", ["x"] * 4),
    "too long a column": _set("columns", "items.answer", ["x"] * 6),
    "ragged inner column": _set("columns", "items.anchors", [SECRET]),
    "negative length": _set("columns", "items#", [-1]),
    "negative inner length": _set("columns", "items.anchors#", [-1, 4, 3, 0, 0]),
    "length beyond the bound": _set("columns", "items.anchors#", [65, 0, 0, 0, 0]),
    "length that is a fraction": _set("columns", "items#", [5.0]),
    "length that is a truth": _set("columns", "items#", [True]),
    "huge count": _set("columns", "items#", [1_000_000]),
    "huger count": _set("columns", "items#", [2**62]),
    "huge count of plain texts": _set("columns", "retracted#", [999_999]),
    "text too long": _set("columns", "items.question", [SECRET * 200] * 5),
    "name too long": _set("columns", "origin", [SECRET * 20]),
    "number out of range": _set("columns", "version", [-1]),
    "number too large": _set("columns", "version", [2**41]),
    "no matrix": _drop("vectors", "items.embedding"),
    "other dtype": _vectors(array((5, DIMENSION), GOOD, dtype="float32")),
    "object dtype": _vectors(array((5, DIMENSION), GOOD, dtype="object")),
    "other stype": _vectors(array((5, DIMENSION), GOOD, stype="numpy.ndarray")),
    "pickle stype": _vectors(array((5, DIMENSION), GOOD, stype="pickle")),
    "too few rows": _vectors(array((4, DIMENSION), GOOD[: 4 * DIMENSION * 2])),
    "flat shape": _vectors(array((5 * DIMENSION,), GOOD)),
    "three axes": _vectors(array((5, 2, DIMENSION // 2), GOOD)),
    "negative shape": _vectors(array((5, -DIMENSION), GOOD)),
    "no width": _vectors(array((5, 0), b"")),
    "huge width": _vectors(array((5, 2**30), GOOD)),
    "width beyond the bound": _vectors(array((5, 8_193), b"\0" * (5 * 8_193 * 2))),
    "bytes missing": _vectors(array((5, DIMENSION), GOOD[:-1])),
    "bytes too many": _vectors(array((5, DIMENSION), GOOD + b"\0\0")),
    "NaN": _vectors(array((5, DIMENSION), np.full((5, DIMENSION), np.nan, np.float16).tobytes())),
    "infinity": _vectors(array((5, DIMENSION), np.full((5, DIMENSION), np.inf, np.float16).tobytes())),
    "zero vectors": _vectors(array((5, DIMENSION), bytes(len(GOOD)))),
    "long vectors": _vectors(array((5, DIMENSION), np.ones((5, DIMENSION), np.float16).tobytes())),
}


def refused(whole: Parts, kind: type[object] = Delta, error: type[WireError] = WireError, said: str = "") -> None:
    with pytest.raises(error, match=said) as raised:
        wire.decode(travel(joined(whole)), kind, run=RUN)
    assert type(raised.value) is error
    assert SECRET not in f"{raised.value}{raised.value!r}"
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_message_is_refused_and_not_quoted(case: str) -> None:
    whole = parts()
    HOSTILE[case](whole)
    refused(whole)


@pytest.mark.parametrize("schema", [0, 1, wire.SCHEMA - 1, wire.SCHEMA + 1, -1, SECRET, 1.5, b"1", [1], None])
def test_another_protocol_version_is_told_apart(schema: Any) -> None:
    whole = parts()
    if schema is None:
        del whole["envelope"]["schema"]
    else:
        whole["envelope"]["schema"] = schema
    refused(whole, error=SchemaVersionError, said="same version of the app")


def test_the_choice_of_another_is_refused() -> None:
    whole = parts(answer())
    whole["columns"]["answers.path"] = [SECRET]
    refused(whole, AnswerBatch, said="not one of the choices")


def test_a_message_over_the_limit_is_refused_before_it_is_read() -> None:
    whole = parts(DescribeRequest())
    whole["columns"]["x"] = ["x" * (65 * wire.KIB)]
    with pytest.raises(WireError, match="more than allowed"):
        wire.decode(joined(whole), DescribeRequest, run=RUN)


def test_the_kind_of_nonsense_is_unknown() -> None:
    spoilt = [RecordDict(), RecordDict({"envelope": ArrayRecord({})}), RecordDict({"envelope": ConfigRecord({})})]
    spoilt.append(RecordDict({"envelope": ConfigRecord({"kind": 3})}))
    assert [wire.kind_of(content) for content in spoilt] == [""] * 4


def _taken(content: RecordDict) -> bool:
    """Whether a message is taken; what is taken is a record within its bounds, and a refusal quotes nothing."""
    try:
        taken = wire.decode(content, Delta, run=RUN)
    except WireError as refused:
        said = str(refused)
    else:
        wire.encode(taken, run=RUN)
        return True
    assert SECRET not in said
    return False


def test_random_changes_are_refused_or_harmless() -> None:
    rng = np.random.default_rng(20)
    sample, outcomes = to_bytes(wire.encode(delta(), run=RUN)), Counter[str]()
    for _ in range(3_000):
        try:
            content = mutated(sample, rng)
        except WireError:  # flipped bytes that hold no content
            outcomes["unreadable"] += 1
        else:
            outcomes["taken" if _taken(content) else "refused"] += 1
    assert outcomes["unreadable"] > 50
    assert outcomes["refused"] > 500
    assert outcomes["taken"] > 100
