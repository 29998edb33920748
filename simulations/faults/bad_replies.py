"""Bad replies, and devices that fail in a run, each with what a person is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict
from numpy.typing import NDArray

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Delta, MemoryItem
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire_columns import RAW
from simulations.faults.bad_inputs import TEXT, Case, Place, Shown, caught
from simulations.faults.grids import EchoGrid
from strategies import ServerTools, make_strategy

Change = Callable[[RecordDict], object]
NONSENSE = RecordDict({"text": ConfigRecord({"said": TEXT})})


def _delta() -> RecordDict:
    vector = np.eye(1, 8, dtype=np.float32)[0]
    item = MemoryItem("m1", "Who built it?", "Agathe Wimmersbach", "single", "PERSON", (), (), vector, "mill")
    return wire.encode(Delta("mill", 0, 1, (item,), ()), run="1")


def _refused(change: Change, run: str = "1") -> Case:
    """A good reply is changed, and read."""

    def case(place: Place) -> Shown:
        content = _delta()
        change(content)
        return caught(lambda: wire.decode(content, Delta, run=run))

    return case


def _set(part: str, name: str, value: int | list[str]) -> Change:
    return lambda content: content.config_records[part].update({name: value})


def _vectors(matrix: NDArray[np.float16], shape: tuple[int, ...]) -> Change:
    array = Array(dtype="float16", shape=shape, stype=RAW, data=matrix.tobytes())
    return lambda content: content.update({"vectors": ArrayRecord({"items.embedding": array})})


# --- devices that fail in a run ---------------------------------------------------------------------


def _in_run(change: Callable[[Message], Message | None], grid: type[LocalGrid] = LocalGrid) -> Case:
    """Three devices run, and the first one's reply to the build is changed; gives what the run says of it."""

    def tamper(reply: Message) -> Message | None:
        aimed = reply.metadata.src_node_id == 100 and reply.metadata.message_type == "train.build"
        return change(reply) if aimed else reply

    def case(place: Place) -> Shown:
        for name in ("kiln", "mill", "weir"):
            folder = place.root / "data" / name
            folder.mkdir(parents=True)
            (folder / "paper.txt").write_text(TEXT, encoding="utf-8")
        settings = Settings.from_config(
            {
                "strategy": "local-rag",
                "home": str(place.root / "home"),
                "data.root": str(place.root / "data"),
                "federation.devices": 3,
                "federation.round-timeout": 2.0,
            }
        )
        made = grid(app, [{"partition-id": n} for n in range(3)], settings.flat(), tamper=tamper)
        strategy = make_strategy("local-rag", settings, [], ServerTools(settings))
        strategy.pause = 0.01
        outcome = strategy.run(made, "1")
        heard = f"nothing: the run went on and heard {len(outcome.builds)} of 3 devices"
        [(name, reason)] = outcome.traffic.missing.items() or [("all", "each reply came twice, the first counts")]
        return Shown("Traffic.missing", reason, name, heard)

    return case


def _dead(reply: Message) -> Message:
    error = Message(Error(code=8, reason=f"killed while it read: {TEXT}"), reply_to=reply)
    error.metadata.__dict__["_reply_to_message_id"] = reply.metadata.reply_to_message_id
    return error


def _nonsense(reply: Message) -> Message:
    reply.content = NONSENSE
    return reply


def _pretending(reply: Message) -> Message:
    _set("columns", "device", ["weir"])(reply.content)
    return reply


CASES: Mapping[str, tuple[str, Case]] = {
    "a reply that does not decode": (
        "WireError",
        lambda place: caught(lambda: wire.decode(NONSENSE, Delta, run="1")),
    ),
    "a reply that lacks a part": (
        "WireError",
        _refused(lambda content: content.config_records["columns"].pop("items.answer")),
    ),
    "a reply of another version": ("SchemaVersionError", _refused(_set("envelope", "schema", 99))),
    "a reply of another run": ("WireError", _refused(lambda content: None, run="2")),
    "a reply of a wrong shape": ("WireError", _refused(_vectors(np.ones((1, 8), np.float16), (1, 9)))),
    "a reply with NaN": ("WireError", _refused(_vectors(np.full((1, 8), np.nan, np.float16), (1, 8)))),
    "a reply that is too large": ("WireError", _refused(_set("columns", "items.question", [TEXT * 700_000]))),
    "a reply with a text that is too long": ("WireError", _refused(_set("columns", "items.question", [TEXT * 30]))),
    "a device that never answers": ("Traffic.missing", _in_run(lambda reply: None)),
    "a device that dies": ("Traffic.missing", _in_run(_dead)),
    "a device that replies nonsense": ("Traffic.missing", _in_run(_nonsense)),
    "a device in another's name": ("Traffic.missing", _in_run(_pretending)),
    "a device that answers twice": ("Traffic.missing", _in_run(lambda reply: reply, EchoGrid)),
}
