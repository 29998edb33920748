"""Torn files, other writers, directories that refuse and disks that are full."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import StoreCorruptError, StoreError, StoreLockedError, StoreMismatchError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.memory.store.database import FILE, write_lock
from fedrag_flwr.memory.store.opaque import SECRET
from fedrag_flwr.records import Cursor
from tests.memory.store.crash import crash_rounds
from tests.memory.store.samples import (
    DIMENSION,
    IDENTITY,
    check_index,
    delta,
    memory,
    new_document,
    open_store,
    rejected,
    snapshot,
    two_documents,
)

ROOT = Path(__file__).resolve().parents[3]
PAGE = 4096


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "device"
    with open_store(path) as store:
        store.apply(replace(two_documents(), held=(rejected("kept from all", ["d1/0/0"]),)))
        store.import_delta(delta(memory("f1", origin="b")))
        store.apply(Change(documents=tuple(new_document(f"more{n}", passages=4) for n in range(8))))
        store.index("sentence")
        store.index("paragraph")
    return path


def run_child(script: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _truncate(keep: Callable[[int], int]) -> Callable[[Path], None]:
    def tear(file: Path) -> None:
        os.truncate(file, keep(file.stat().st_size))

    return tear


def _write(body: bytes) -> Callable[[Path], None]:
    def tear(file: Path) -> None:
        file.write_bytes(body)

    return tear


@pytest.mark.parametrize(
    "tear",
    [
        _truncate(lambda size: 0),
        _truncate(lambda size: 50),
        _truncate(lambda size: PAGE),
        _truncate(lambda size: size // 2),
        _truncate(lambda size: size - PAGE),
        _truncate(lambda size: size - 100),
        _write(b"not a database at all, but long enough for a header" * 100),
        _write(np.random.default_rng(0).bytes(5 * PAGE)),
    ],
)
def test_a_torn_file_is_named_as_such(device: Path, tear: Callable[[Path], None]) -> None:
    tear(device / FILE)
    with pytest.raises(StoreCorruptError, match="--rebuild"):
        open_store(device)
    MemoryStore.erase(device)
    with open_store(device) as store:
        assert store.version == 0


@pytest.mark.parametrize("body", [bytes(PAGE), np.random.default_rng(1).bytes(PAGE)], ids=["zeroed", "random"])
def test_every_damaged_page_is_found_or_held_nothing(device: Path, body: bytes) -> None:
    with open_store(device) as store:
        whole = snapshot(store)
    file = device / FILE
    intact = file.read_bytes()
    found = 0
    for start in range(0, len(intact), PAGE):
        file.write_bytes(intact[:start] + body + intact[start + PAGE :])
        try:
            with open_store(device) as store:
                store.verify()
                assert snapshot(store) == whole
        except StoreCorruptError:
            found += 1
        for leftover in (device / f"{FILE}-wal", device / f"{FILE}-shm"):
            leftover.unlink(missing_ok=True)
    assert found >= len(intact) // PAGE - 4


def test_damaged_texts_and_vectors_fail_their_checksum(device: Path) -> None:
    file = device / FILE
    intact = file.read_bytes()
    with open_store(device) as store:
        vector = store.units("sentence").vectors[0].tobytes()
    for part in (vector, b"edition 0", b"What is m12", b"What is kept"):
        place = intact.index(part)
        file.write_bytes(intact[:place] + bytes([intact[place] ^ 1]) + intact[place + 1 :])
        with open_store(device) as store, pytest.raises(StoreCorruptError, match="checksum"):
            store.verify()


def test_another_database_is_not_a_store_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "device").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "device" / FILE)) as connection:
        connection.execute("CREATE TABLE notes (text)")
        connection.commit()
    before = (tmp_path / "device" / FILE).read_bytes()
    with pytest.raises(StoreCorruptError, match="not a store"):
        open_store(tmp_path / "device")
    assert (tmp_path / "device" / FILE).read_bytes() == before


@pytest.mark.parametrize(("schema", "age"), [(0, "older"), (99, "newer")])
def test_another_schema_is_refused(device: Path, schema: int, age: str) -> None:
    with contextlib.closing(sqlite3.connect(device / FILE)) as connection:
        connection.execute(f"PRAGMA user_version = {schema}")
    with pytest.raises(StoreMismatchError, match=f"{age} release"):
        open_store(device)


def test_a_log_without_its_file_is_not_taken_for_a_new_store(device: Path) -> None:
    (device / f"{FILE}-wal").write_bytes(b"log")
    (device / FILE).unlink()
    with pytest.raises(StoreCorruptError, match="missing while its log"):
        open_store(device)


@pytest.mark.parametrize("body", [None, b"", b"x" * 32])
def test_a_lost_secret_is_named(device: Path, body: bytes | None) -> None:
    (device / SECRET).unlink()
    if body is not None:
        (device / SECRET).write_bytes(body)
    with pytest.raises(StoreCorruptError, match=r"secret\.key"):
        open_store(device)


def test_an_index_follows_the_store(device: Path) -> None:
    with open_store(device) as store:
        assert store.index("sentence") is store.index("sentence")
        store.apply(Change(removed=("more1",), documents=(new_document("more2", edition=1), new_document("a-first"))))
        check_index(store, "sentence")
        check_index(store, "paragraph")
        kept = store.index("sentence")
        store.apply(Change(items=(memory("m9", ["a-first/0"]),)))
        assert store.index("sentence") is kept  # a memory is no unit
        store.apply(Change(removed=("more3",)))
        check_index(store, "sentence")
        scores, ids = store.index("sentence").search(store.units("sentence").vectors[:3], 1000)
        assert scores.shape == (3, len(ids[0])) == (3, len(store.index("sentence")))
        assert bool((np.diff(scores, axis=1) <= 1e-6).all())
        with pytest.raises(StoreMismatchError):
            store.index("sentence").search(np.zeros((1, 3), dtype=np.float32), 1)


HOLD = """
import sys, time
from pathlib import Path
from fedrag_flwr.memory.store.database import write_lock
with write_lock(Path(sys.argv[1]), 1.0):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(device: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(device)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_writer_waits_and_is_told_who_writes(
    device: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedrag_flwr.memory.store.database.LOCK_SECONDS", 0.2)
    with MemoryStore.open(device, IDENTITY) as store:
        assert len(store.items()) == 4  # readers are not held up
        before = store.version
        for write in (
            lambda: store.apply(Change(removed=("d1",))),
            lambda: store.import_delta(delta()),
            lambda: store.set_meta("k", "v"),
            lambda: store.opaque("item", ["never seen"]),
        ):
            with pytest.raises(StoreLockedError, match=f"process {holder.pid} "):
                write()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert store.apply(Change(removed=("d1",))) > before  # a killed writer's lock is gone


def test_a_second_writer_goes_on_once_the_first_is_done(device: Path) -> None:
    with open_store(device) as store:
        held, free = threading.Event(), threading.Event()

        def hold() -> None:
            with write_lock(device, 1.0):
                held.set()
                free.wait(5.0)

        other = threading.Thread(target=hold)
        other.start()
        held.wait(5.0)
        threading.Timer(0.1, free.set).start()
        assert store.apply(Change(removed=("d1",))) == 4
        other.join()


WRITE_MANY = """
import sys
from pathlib import Path
from tests.memory.store.samples import Change, new_document, open_store
with open_store(Path(sys.argv[1])) as store:
    for number in range(15):
        store.apply(Change(documents=(new_document(f"{sys.argv[2]}-{number}"),)))
"""


def test_two_processes_write_side_by_side(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WRITE_MANY, str(tmp_path / "device")]
    both = [subprocess.Popen([*command, name], cwd=ROOT, env=environment) for name in ("one", "two")]
    assert [process.wait(60) for process in both] == [0, 0]
    with open_store(tmp_path / "device") as store:
        store.verify()
        assert (store.version, store.counts().documents) == (30, 30)


OPEN_AND_WRITE = """
import os, sys
from pathlib import Path
from fedrag_flwr.errors import StoreError
from tests.memory.store.samples import Change, open_store
if os.getuid() == 0:  # root writes everywhere
    os.setuid(65534)
try:
    with open_store(Path(sys.argv[1])) as store:
        store.apply(Change(removed=("d1",)))
except StoreError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("exists", [True, False])
def test_a_directory_that_cannot_be_written_is_named(device: Path, exists: bool) -> None:
    open_to_all = Path(tempfile.mkdtemp(prefix="fedrag-"))
    try:
        target = open_to_all / "device"
        if exists:
            shutil.copytree(device, target)
            for file in target.iterdir():
                file.chmod(0o444)
            target.chmod(0o555)
        open_to_all.chmod(0o555)
        said = run_child(OPEN_AND_WRITE, str(target))
        assert said.startswith("StoreError")
        assert "writ" in said
    finally:
        open_to_all.chmod(0o755)
        if exists:
            target.chmod(0o755)
        shutil.rmtree(open_to_all)


def test_a_path_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "device").write_text("x")
    with pytest.raises(StoreError, match="directory cannot be used"):
        open_store(tmp_path / "device")


FILL = """
import resource, sys
from pathlib import Path
from fedrag_flwr.errors import StoreFullError
from tests.memory.store.samples import Change, delta, rejected, memory, new_document, open_store
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
done = 0
try:
    with open_store(Path(sys.argv[1])) as store:
        for number in range(500):
            documents = tuple(new_document(f"fill{number}-{n}", passages=10) for n in range(3))
            if number % 2:
                store.apply(Change(documents=documents))
            else:
                store.import_delta(delta(*(memory(f"f{number}-{n}", origin="b") for n in range(60)), version=number))
            done += 1
except StoreFullError as error:
    print("full", done, error.errno, error)
"""


@pytest.mark.parametrize("limit", [2_000, 30_000, 150_000, 600_000])
def test_a_full_disk_keeps_what_was_committed_and_nothing_half(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "device"
    kind, done, *_ = run_child(FILL, str(path), str(limit)).split()
    assert kind == "full"
    with open_store(path) as store:
        store.verify()
        assert store.version == int(done)
        counts = store.counts()
        steps = int(done)
        assert (counts.documents, counts.imported) == (3 * (steps // 2), 60 * ((steps + 1) // 2))
        assert (counts.passages, counts.sentences) == (10 * counts.documents, 20 * counts.documents)
        assert store.apply(Change(documents=(new_document("after"),))) == steps + 1


@pytest.mark.parametrize("how", ["retracted", "replaced", "not among all there is"])
def test_what_another_device_withdraws_is_in_no_file(how: str, device: Path) -> None:
    secret = replace(memory("f2", origin="b"), answer="Oswin Xqwu")
    vector = secret.embedding.astype("<f4").tobytes()
    others = [memory("f2", origin="b", edition=1)] * (how == "replaced")
    later = delta(*others, retracted=["f2"] * (how == "retracted"), version=3)
    with open_store(device) as store:
        store.import_delta(delta(memory("f1", origin="b"), secret, version=2))

        def holding() -> list[str]:
            files = {path.name: path.read_bytes() for path in device.iterdir() if path.is_file()}
            return [name for name, body in files.items() if b"Oswin Xqwu" in body or vector in body]

        assert holding()
        store.import_delta(later, snapshot=how == "not among all there is")
        assert holding() == []


@pytest.mark.parametrize("then", ["begun anew", "taken and refused"])
def test_pages_that_come_to_nothing_are_in_no_file(then: str, tmp_path: Path) -> None:
    unfit = replace(memory("f1", origin="b"), answer="Oswin Xqwu", embedding=np.zeros(DIMENSION, dtype=np.float32))
    place = Cursor(0, 2, 1)

    def holding() -> list[str]:
        files = (path for path in (tmp_path / "shared").iterdir() if path.is_file())
        return [path.name for path in files if b"Oswin Xqwu" in path.read_bytes()]

    with MemoryStore.open(tmp_path / "shared", IDENTITY) as store:
        store.import_delta(replace(delta(unfit, version=2), next=place))
        assert holding()
        if then == "begun anew":
            store.import_delta(replace(delta(memory("f2", origin="b"), version=3), next=Cursor(0, 3, 1)))
        else:
            last = replace(delta(memory("f2", origin="b"), version=2), after=place)
            assert store.import_delta(last).refused == ("norm=1",)
        assert holding() == []


def test_nothing_acknowledged_is_lost_and_nothing_is_half(tmp_path: Path) -> None:
    report = crash_rounds(tmp_path, rounds=15, seed=11)
    assert report.rounds == 15
    assert report.version >= report.with_steps >= 5  # how far a child gets in its time depends on the machine
