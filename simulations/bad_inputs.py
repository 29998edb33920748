"""Every bad input of DESIGN section 9 that exists by now, each with the error that it gives.

Run as ``python -m simulations.bad_inputs``: it makes small fictional devices under a temporary directory, does one
wrong thing after the other to them, and prints what a person would read.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError, StoreFullError
from fedrag_flwr.memory.database import FILE, write_lock
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.load import load_generator
from fedrag_flwr.models.registry import REGISTRY
from fedrag_flwr.records import Delta, MemoryItem
from fedrag_flwr.settings import Settings
from fedrag_flwr.toolbox import Toolbox, load_toolbox
from fedrag_flwr.wire_columns import RAW
from simulations.local_grid import LocalGrid
from strategies import ServerTools, make_strategy

ROOT = Path(__file__).resolve().parents[1]
TEXT = "The windmill of Pollern was built by Agathe Wimmersbach in 1803. It grinds spelt and has four sails."
SETTINGS = Settings.from_config({"memory.tokens-per-kilotoken": 0, "hypergraph.steps": 40})


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person is told of one bad input: the kind of error, what went wrong, where, and what to do."""

    error: str
    what: str
    where: str
    fix: str

    @classmethod
    def of(cls, error: FedragError) -> Shown:
        """What an error of our own says."""
        return cls(type(error).__name__, error.what, error.where, error.fix)


@dataclass(frozen=True, slots=True)
class Bench:
    """A directory to work in, and the models."""

    root: Path
    toolbox: Toolbox

    def device(self, name: str = "mill", settings: Settings = SETTINGS, **files: bytes) -> EdgeDevice:
        """A device with these files as its documents (``__`` stands for a dot), not built yet."""
        folder = self.root / name / "documents"
        folder.mkdir(parents=True, exist_ok=True)
        for file, raw in files.items():
            (folder / file.replace("__", ".")).write_bytes(raw)
        return EdgeDevice(name, folder, self.root / name / "store", settings, self.toolbox)

    def built(self, name: str = "mill") -> Path:
        """The store's directory of a device that was built."""
        with self.device(name, paper__txt=TEXT.encode()) as device:
            device.build()
        return self.root / name / "store"


Case = Callable[[Bench], Shown]


def caught(act: Callable[[], object]) -> Shown:
    """Do something that must fail with one of the project's errors, and give what it says."""
    try:
        act()
    except FedragError as error:
        return Shown.of(error)
    raise AssertionError("the bad input was taken")


# --- sources --------------------------------------------------------------------------------------


def empty_folder(bench: Bench) -> Shown:
    with bench.device() as device:
        return caught(device.build)


def missing_folder(bench: Bench) -> Shown:
    with bench.device() as device:
        assert device.documents is not None
        device.documents.rmdir()
        return caught(device.build)


def wrong_encoding_only(bench: Bench) -> Shown:
    with bench.device(paper__txt="Pollern in Österreich".encode("utf-16")) as device:
        return caught(device.build)


def unreadable_file_only(bench: Bench) -> Shown:
    """A dangling link: nobody can open it, not even root."""
    with bench.device() as device:
        assert device.documents is not None
        (device.documents / "paper.txt").symlink_to(device.documents / "gone.txt")
        return caught(device.build)


def one_bad_document(bench: Bench) -> Shown:
    """The rest is built; the report names the bad one."""
    with bench.device(
        paper__txt=TEXT.encode(), other__txt=b"\xff\xfe\x00Wimmersbach", note__pdf=b"%PDF-1.7 torn"
    ) as device:
        report = device.build()
    assert report.documents == 1
    assert len(report.failed) == 2
    name, _, reason = report.failed[1].partition(": ")
    what, _, fix = reason.partition(" (")
    return Shown("BuildReport.failed", what, name, fix.rstrip(")"))


# --- models and settings ----------------------------------------------------------------------------


def model_missing(bench: Bench) -> Shown:
    return caught(lambda: load_generator(str(bench.root / "none.gguf")))


def model_unknown_encoder(bench: Bench) -> Shown:
    return caught(
        lambda: load_toolbox(SETTINGS.models.model_copy(update={"encoder": str(bench.root / "none")}), bench.root)
    )


def model_wrong_hash(bench: Bench) -> Shown:
    """A file of the right name in the model cache, with other bytes."""
    with _environment(FEDRAG_HOME=str(bench.root)):
        model = REGISTRY["qwen2.5-coder-0.5b"]
        (bench.root / "models").mkdir(parents=True)
        (bench.root / "models" / model.file).write_bytes(b"GGUF" + bytes(1000))
        return caught(lambda: resolve(model.name, download=False))


def model_is_no_model(bench: Bench) -> Shown:
    bench.root.mkdir(parents=True)
    file = bench.root / "noise.gguf"
    file.write_bytes(np.random.default_rng(0).bytes(4096))
    return caught(lambda: load_generator(str(file)).count_tokens("hello"))


def setting_out_of_range(bench: Bench) -> Shown:
    return caught(lambda: Settings.from_config({"memory.delta": 1.5}))


def setting_of_wrong_type(bench: Bench) -> Shown:
    return caught(lambda: Settings.from_config({"federation.devices": "five"}))


def setting_unknown(bench: Bench) -> Shown:
    return caught(lambda: Settings.from_config({"memory.gamma": 1}))


def strategy_unknown(bench: Bench) -> Shown:
    return caught(lambda: make_strategy("guess", SETTINGS, [], ServerTools(SETTINGS)))


# --- replies ----------------------------------------------------------------------------------------


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


# --- stores -----------------------------------------------------------------------------------------


def torn_store(bench: Bench) -> Shown:
    store = bench.built()
    os.truncate(store / FILE, (store / FILE).stat().st_size // 2)
    return caught(bench.device)


def store_that_is_none(bench: Bench) -> Shown:
    store = bench.built()
    (store / FILE).write_bytes(TEXT.encode() * 200)
    for leftover in store.glob(f"{FILE}-*"):
        leftover.unlink()
    return caught(bench.device)


def older_schema(bench: Bench) -> Shown:
    with contextlib.closing(sqlite3.connect(bench.built() / FILE)) as connection:
        connection.execute("PRAGMA user_version = 0")
    return caught(bench.device)


def other_encoder(bench: Bench) -> Shown:
    store = bench.built()
    with bench.device() as device:
        identity = device.store.identity
    return caught(lambda: MemoryStore.open(store, identity | {"encoder": "another@0"}))


def lost_secret(bench: Bench) -> Shown:
    (bench.built() / "secret.key").unlink()
    return caught(bench.device)


def two_processes(bench: Bench) -> Shown:
    """Another process holds the store's write lock; this one waits a moment and gives up."""
    store = bench.built()
    with bench.device() as device:
        identity = device.store.identity
    with _child("hold", store) as process, MemoryStore.open(store, identity, lock_timeout=0.2) as opened:
        shown = caught(lambda: opened.set_meta("key", "value"))
        assert str(process.pid) in shown.what
    return shown


def full_disk(bench: Bench) -> Shown:
    """In a child whose files may not grow (RLIMIT_FSIZE); what was in the store stays."""
    store = bench.built()
    with bench.device() as device:
        before = device.store.counts()
    with _child("fill", store) as process:
        out, _ = process.communicate(timeout=60)
    error, what, where, fix = out.strip().split("\t")
    with bench.device() as device:
        device.store.verify()
        assert device.store.counts() == before
    return Shown(error, what, where, fix)


def hold_lock(store: Path) -> None:
    """Hold a store's write lock until killed: what a child does."""
    with write_lock(store, 1.0):
        print("ready", flush=True)
        sys.stdin.read()


def fill_disk(store: Path) -> None:
    """Write to a store although files may not grow: what a child does."""
    import resource

    print("ready", flush=True)
    with MemoryStore.open(store, {}, create=False) as opened:
        room = (store / FILE).stat().st_size + 40_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            for number in range(1000):
                opened.set_meta(f"key {number}", TEXT * 1000)
        except StoreFullError as error:
            shown = Shown.of(error)
            print("\t".join((shown.error, shown.what, shown.where, shown.fix)), flush=True)


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _child(work: str, store: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "simulations.bad_inputs", "--child", work, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


# --- the table --------------------------------------------------------------------------------------

CASES: tuple[tuple[str, str, Case], ...] = (
    ("a source without files", "EmptySourceError", empty_folder),
    ("a source that is not there", "SourceError", missing_folder),
    ("a source in a wrong encoding", "EmptySourceError", wrong_encoding_only),
    ("a source that cannot be opened", "EmptySourceError", unreadable_file_only),
    ("bad documents among good ones", "BuildReport.failed", one_bad_document),
    ("a model file that is missing", "ModelMissingError", model_missing),
    ("an encoder that is missing", "ModelMissingError", model_unknown_encoder),
    ("a model file with a wrong hash", "ModelHashError", model_wrong_hash),
    ("a model file that is no model", "ModelError", model_is_no_model),
    ("a setting out of range", "SettingError", setting_out_of_range),
    ("a setting of a wrong type", "SettingError", setting_of_wrong_type),
    ("an unknown setting", "SettingError", setting_unknown),
    ("an unknown strategy", "SettingError", strategy_unknown),
    ("a reply that does not decode", "WireError", reply_that_does_not_decode),
    ("a reply that lacks a part", "WireError", reply_with_a_lost_column),
    ("a reply of another version", "SchemaVersionError", reply_of_another_version),
    ("a reply of another run", "WireError", reply_of_another_run),
    ("a reply of a wrong shape", "WireError", reply_of_wrong_shape),
    ("a reply with NaN", "WireError", reply_with_nan),
    ("a reply that is too large", "WireError", reply_too_large),
    ("a reply with a text that is too long", "WireError", reply_with_a_long_text),
    ("a device that never answers", "Traffic.missing", silent_device),
    ("a device that dies", "Traffic.missing", device_that_dies),
    ("a device that replies nonsense", "Traffic.missing", device_that_replies_nonsense),
    ("a device in another's name", "Traffic.missing", device_in_another_name),
    ("a device that answers twice", "Traffic.missing", device_that_answers_twice),
    ("a store that is torn", "StoreCorruptError", torn_store),
    ("a store that is something else", "StoreCorruptError", store_that_is_none),
    ("a store whose secret is lost", "StoreCorruptError", lost_secret),
    ("a store of an older schema", "StoreMismatchError", older_schema),
    ("a store of another encoder", "StoreMismatchError", other_encoder),
    ("two processes on one store", "StoreLockedError", two_processes),
    ("a full disk", "StoreFullError", full_disk),
)


def show(directory: Path) -> Table:
    """Do every wrong thing once, each in its own folder, and tabulate what a person is told."""
    toolbox = load_toolbox(SETTINGS.models, directory)
    table = Table("bad input", "error", "where", "what went wrong", "what to do", box=box.SIMPLE, show_lines=True)
    for number, (label, _, case) in enumerate(CASES):
        shown = case(Bench(directory / str(number), toolbox))
        table.add_row(label, shown.error, *map(escape, (shown.where, shown.what, shown.fix)))
    return table


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        work, store = chosen.child
        {"hold": hold_lock, "fill": fill_disk}[work](Path(store))
        return
    with tempfile.TemporaryDirectory() as directory:
        Console(width=200).print(show(Path(directory)))


if __name__ == "__main__":
    main()
