"""Bad replies, and devices that fail in a run, each with what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Delta, MemoryItem
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire_columns import RAW
from simulations.worlds.bad_input_world import TEXT, Bench, Shown, caught
from strategies import ServerTools, make_strategy


def _delta(**changes: object) -> RecordDict:
    vector = np.eye(1, 8, dtype=np.float32)[0]
    item = MemoryItem("m1", "Who built it?", "Agathe Wimmersbach", "single", "PERSON", (), (), vector, "mill")
    return wire.encode(replace(Delta("mill", 0, 1, (item,), ()), **changes), run="1")  # type: ignore[arg-type]


def _refused(change: Callable[[RecordDict], object]) -> Shown:
    content = _delta()
    change(content)
    return caught(lambda: wire.decode(content, Delta, run="1"))


def _config(content: RecordDict, part: str) -> ConfigRecord:
    record = content[part]
    assert isinstance(record, ConfigRecord)
    return record


def _vectors(
    content: RecordDict, matrix: np.ndarray[tuple[int, ...], np.dtype[np.float16]], shape: tuple[int, ...]
) -> None:
    array = Array(dtype="float16", shape=shape, stype=RAW, data=matrix.tobytes())
    content["vectors"] = ArrayRecord({"items.embedding": array})


def reply_that_does_not_decode(bench: Bench) -> Shown:
    return caught(lambda: wire.decode(RecordDict({"text": ConfigRecord({"said": TEXT})}), Delta, run="1"))


def reply_with_a_lost_column(bench: Bench) -> Shown:
    return _refused(lambda content: _config(content, "columns").pop("items.answer"))


def reply_of_another_version(bench: Bench) -> Shown:
    return _refused(lambda content: _config(content, "envelope").update({"schema": 99}))


def reply_of_another_run(bench: Bench) -> Shown:
    return caught(lambda: wire.decode(_delta(), Delta, run="2"))


def reply_of_wrong_shape(bench: Bench) -> Shown:
    return _refused(lambda content: _vectors(content, np.ones((1, 8), np.float16), (1, 9)))


def reply_with_nan(bench: Bench) -> Shown:
    return _refused(lambda content: _vectors(content, np.full((1, 8), np.nan, np.float16), (1, 8)))


def reply_too_large(bench: Bench) -> Shown:
    return _refused(lambda content: _config(content, "columns").update({"items.question": [TEXT * 700_000]}))


def reply_with_a_long_text(bench: Bench) -> Shown:
    return _refused(lambda content: _config(content, "columns").update({"items.question": [TEXT * 30]}))


# --- devices that fail in a run ---------------------------------------------------------------------


def _missing_in_run(
    bench: Bench, tamper: Callable[[Message], Message | None], kind: type[LocalGrid] = LocalGrid
) -> Shown:
    """Run three devices of which the first fails, and give what the run says of it."""
    for name in ("kiln", "mill", "weir"):
        folder = bench.root / "data" / name
        folder.mkdir(parents=True)
        (folder / "paper.txt").write_text(TEXT, encoding="utf-8")
    settings = Settings.from_config(
        {
            "strategy": "local-rag",
            "home": str(bench.root / "home"),
            "data.root": str(bench.root / "data"),
            "federation.devices": 3,
            "federation.round-timeout": 2.0,
            "federation.poll-seconds": 0.01,
            "federation.retry-seconds": 0.01,
        }
    )
    grid = kind(app, [{"partition-id": n} for n in range(3)], settings.flat(), tamper=tamper)
    outcome = make_strategy("local-rag", settings, [], ServerTools(settings)).run(grid, "1")
    heard = len(outcome.builds)
    [(name, reason)] = outcome.traffic.missing.items() or [("all devices", "each reply came twice, the first counts")]
    return Shown("Traffic.missing", reason, name, f"nothing: the run went on and heard {heard} of 3 devices")


class EchoGrid(LocalGrid):
    """A grid that brings every reply twice."""

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Handle one waiting message and return its reply, twice."""
        return [reply for reply in super().pull_messages(message_ids) for _ in range(2)]


def _from_first(change: Callable[[Message], Message | None]) -> Callable[[Message], Message | None]:
    def tamper(reply: Message) -> Message | None:
        aimed = reply.metadata.src_node_id == 100 and reply.metadata.message_type == "train.build"
        return change(reply) if aimed else reply

    return tamper


def silent_device(bench: Bench) -> Shown:
    return _missing_in_run(bench, _from_first(lambda reply: None))


def device_that_dies(bench: Bench) -> Shown:
    from flwr.app import Error

    def dead(reply: Message) -> Message:
        error = Message(Error(code=8, reason=f"killed while it read: {TEXT}"), reply_to=reply)
        error.metadata.__dict__["_reply_to_message_id"] = reply.metadata.reply_to_message_id
        return error

    return _missing_in_run(bench, _from_first(dead))


def device_that_replies_nonsense(bench: Bench) -> Shown:
    def nonsense(reply: Message) -> Message:
        reply.content = RecordDict({"text": ConfigRecord({"said": TEXT})})
        return reply

    return _missing_in_run(bench, _from_first(nonsense))


def device_in_another_name(bench: Bench) -> Shown:
    def pretend(reply: Message) -> Message:
        _config(reply.content, "columns").update({"device": ["weir"]})
        return reply

    return _missing_in_run(bench, _from_first(pretend))


def device_that_answers_twice(bench: Bench) -> Shown:
    return _missing_in_run(bench, lambda reply: reply, EchoGrid)
