"""Messages spoilt at random: parts dropped, renamed and retyped, shapes that lie, huge counts, flipped bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from fedrag_flwr.errors import WireError
from fedrag_flwr.wire_bytes import from_bytes

Values = int | float | str | bytes | bool
Mutation = Callable[[RecordDict, np.random.Generator], None]
EVIL: tuple[Values, ...] = (
    *(0, -1, 1, 2, 2**31, 2**62, -(2**62), True, False, float("nan"), float("inf"), -1e308, 0.0, -0.5),
    *("", "x" * 3_000, "../../etc/passwd", "' OR 1=1 --", "\x00", "\u202eabc", "mill", "q1", "none"),
    *(b"", b"\x00" * 40, b"\xff" * 200),
)
MILD: tuple[Values, ...] = (
    0,
    1,
    2,
    3,
    17,
    True,
    False,
    0.0,
    0.5,
    1.0,
    "",
    "kiln",
    "mill",
    "q1",
    "q2",
    "memories",
    b"",
    b"k" * 32,
)
_HUGE = 50_000  # elements of a list that is blown up


def mutated(sample: bytes, rng: np.random.Generator) -> RecordDict:
    """A valid content, spoilt once to three times, or changed to something else that may pass for valid.

    Raises
    ------
    WireError
        Flipped bytes hold no content any more.
    """
    if rng.random() < 0.2:
        return from_bytes(flipped(sample, rng), "mutation")
    content = from_bytes(sample, "mutation")
    choice = MUTATIONS if rng.random() < 0.6 else (change_mildly,)
    for _ in range(int(rng.integers(1, 4))):
        try:
            choice[int(rng.integers(len(choice)))](content, rng)
        except (TypeError, ValueError, KeyError, WireError):
            continue  # Flower's records themselves refuse some values
    return content


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes with some of them changed, cut out, or doubled."""
    body = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not body:
            break
        place = int(rng.integers(len(body)))
        how = rng.random()
        if how < 0.6:
            body[place] = int(rng.integers(256))
        elif how < 0.8:
            del body[place : place + int(rng.integers(1, 60))]
        else:
            body[place:place] = body[: int(rng.integers(1, 60))]
    return bytes(body)


def _name(record: object, rng: np.random.Generator) -> str:
    names = sorted(record)  # type: ignore[call-overload]
    if not names:
        raise KeyError("nothing to spoil")
    return str(names[int(rng.integers(len(names)))])


def _evil(rng: np.random.Generator) -> Values:
    return EVIL[int(rng.integers(len(EVIL)))]


def _columns(content: RecordDict) -> ConfigRecord:
    columns = content["columns"]
    if not isinstance(columns, ConfigRecord):
        raise TypeError("no columns")
    return columns


def drop_part(content: RecordDict, rng: np.random.Generator) -> None:
    """Drop one of the three parts."""
    del content[_name(content, rng)]


def rename_part(content: RecordDict, rng: np.random.Generator) -> None:
    """Give a part another name."""
    name = _name(content, rng)
    content[name + "s"] = content.pop(name)


def retype_part(content: RecordDict, rng: np.random.Generator) -> None:
    """Put another kind of record in the place of a part."""
    kinds = (ArrayRecord({}), MetricRecord({"x": 1.0}), ConfigRecord({"x": "y"}))
    content[_name(content, rng)] = kinds[int(rng.integers(len(kinds)))]


def spoil_envelope(content: RecordDict, rng: np.random.Generator) -> None:
    """Change what the envelope says."""
    envelope = content["envelope"]
    if isinstance(envelope, ConfigRecord):
        envelope[_name(envelope, rng)] = _evil(rng)


def drop_column(content: RecordDict, rng: np.random.Generator) -> None:
    """Drop a column."""
    del _columns(content)[_name(_columns(content), rng)]


def rename_column(content: RecordDict, rng: np.random.Generator) -> None:
    """Give a column another name, or that of another column."""
    columns = _columns(content)
    name = _name(columns, rng)
    columns[_name(columns, rng) if rng.random() < 0.5 else name + "#"] = columns.pop(name)


def add_column(content: RecordDict, rng: np.random.Generator) -> None:
    """Add a column that no record has."""
    _columns(content)[f"extra.{rng.integers(100)}"] = [_evil(rng)]  # type: ignore[assignment]


def retype_column(content: RecordDict, rng: np.random.Generator) -> None:
    """Put a single value, or values of another type, in the place of a column."""
    columns = _columns(content)
    name, value = _name(columns, rng), _evil(rng)
    found = columns[name]
    count = len(found) if isinstance(found, list) else 1
    columns[name] = value if rng.random() < 0.3 else [value] * count  # type: ignore[assignment]


def change_value(content: RecordDict, rng: np.random.Generator) -> None:
    """Change one value of a column to an evil one of the same type."""
    _change(content, rng, EVIL)


def change_mildly(content: RecordDict, rng: np.random.Generator) -> None:
    """Change one value of a column to another usual one of the same type: what may pass for valid."""
    _change(content, rng, MILD)


def _change(content: RecordDict, rng: np.random.Generator, values_of: tuple[Values, ...]) -> None:
    columns = _columns(content)
    name = _name(columns, rng)
    found = columns[name]
    if isinstance(found, list) and found:
        fitting = [one for one in values_of if type(one) is type(found[0])]
        if fitting:
            values = list(found)
            values[int(rng.integers(len(values)))] = fitting[int(rng.integers(len(fitting)))]
            columns[name] = values  # type: ignore[assignment]


def resize_column(content: RecordDict, rng: np.random.Generator) -> None:
    """Make a column shorter, longer, or huge."""
    columns = _columns(content)
    name = _name(columns, rng)
    found = columns[name]
    if isinstance(found, list) and found:
        longer = found * (_HUGE // len(found)) if rng.random() < 0.05 else [*found, found[-1]]
        columns[name] = found[:-1] if rng.random() < 0.4 else longer


def inflate_count(content: RecordDict, rng: np.random.Generator) -> None:
    """Let a sequence claim to be longer than it is."""
    columns = _columns(content)
    names = sorted(name for name in columns if name.endswith("#"))
    if names:
        name = names[int(rng.integers(len(names)))]
        found = columns[name]
        lengths = [int(10 ** rng.integers(1, 18)) for _ in found] if isinstance(found, list) else [1]
        columns[name] = lengths


def swap_columns(content: RecordDict, rng: np.random.Generator) -> None:
    """Exchange two columns."""
    columns = _columns(content)
    one, other = _name(columns, rng), _name(columns, rng)
    columns[one], columns[other] = columns[other], columns[one]


def spoil_array(content: RecordDict, rng: np.random.Generator) -> None:
    """Change an array's values, or let its shape, type or name lie."""
    arrays = content["vectors"]
    if not isinstance(arrays, ArrayRecord) or not arrays:
        content["vectors"] = ArrayRecord({"vector": Array(dtype="float16", shape=(1, 8), stype="x", data=b"1" * 16)})
        return
    name = _name(arrays, rng)
    array = arrays[name]
    count = len(array.data) // 2
    values = np.frombuffer(array.data[: 2 * count], dtype=np.float16).copy()
    shape = tuple(array.shape)
    how = int(rng.integers(8))
    if how < 3 and count:
        values[int(rng.integers(count))] = (np.nan, np.inf, 60_000)[how]
    elif how == 3:
        values[:] = 0
    elif how == 4:
        shape = ((2**30, 2**30), (-1, 8), (0, 0), (count,), (1, 1, count), (count, 1))[int(rng.integers(6))]
    elif how == 5:
        values = np.tile(values, 3)
    elif how == 6:
        values = values[: count // 2]
    dtype = ("float64", "object", "float16", "int8")[int(rng.integers(4))] if how == 7 else "float16"
    stype = array.stype if rng.random() < 0.9 else "numpy.ndarray"
    arrays[name] = Array(dtype=dtype, shape=shape, stype=stype, data=values.tobytes())


MUTATIONS: tuple[Mutation, ...] = (
    *(drop_part, rename_part, retype_part, spoil_envelope),
    *(drop_column, rename_column, add_column, retype_column, resize_column, swap_columns, inflate_count),
    *(change_value, change_value, change_value, change_value),  # what may pass is the more telling
    *(spoil_array, spoil_array),
)
