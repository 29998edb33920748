"""Kill a process that writes to a store, over and over, and see that nothing acknowledged is lost and nothing is half.

The step that leads to version v is a function of v alone, so a store that opens at version v must equal a store to
which steps 1 to v were applied in peace. As a script: ``python -m tests.memory.store.crash DIRECTORY ROUNDS [SEED]``.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.memory.store.database import FILE
from tests.memory.store.samples import check_index, delta, hyperedge, memory, new_document, open_store, snapshot

_CYCLE = 7


@dataclass(frozen=True, slots=True)
class CrashReport:
    """Rounds done, rounds in which the killed process had acknowledged a step, and the version reached."""

    rounds: int
    with_steps: int
    version: int


def step(store: MemoryStore, version: int) -> int:
    """Take the step from a version to the next: documents come, change and go, hyperedges move, memories come."""
    following = version + 1
    if following % _CYCLE == 0:
        items = [memory(f"f{following % 20}-{n}", origin="b", edition=following, hyperedges=["o1"]) for n in range(3)]
        return store.import_delta(delta(*items, retracted=[f"f{version % 20}-0"], version=following)).version
    name = f"d{following % _CYCLE}"
    gone = f"d{(following + 3) % _CYCLE}"
    edges = None
    if following % 3 == 0:
        edges = tuple(hyperedge(f"h{n}-{following}", [f"{name}/{n}/0", f"{name}/{n}/1"]) for n in range(2))
    change = Change(
        removed=(gone,),
        documents=(new_document(name, edition=following, passages=5),),
        hyperedges=edges,
        items=tuple(memory(f"{name}-{n}", [f"{name}/{n}/0"], edition=following) for n in range(4)),
        remembered=(name,),
    )
    return store.apply(change)


def child(directory: Path) -> None:
    """Take steps without end, and say each version once it is committed."""
    with open_store(directory) as store:
        while True:
            version = step(store, store.version)
            os.write(1, f"{version}\n".encode())
            store.opaque("item", [f"item {version}"])
            if version % 2 == 0:
                store.index("sentence")


def crash_rounds(directory: Path, rounds: int, seed: int) -> CrashReport:
    """Kill a child in each round at a random moment, from its start on; AssertionError if the store is not right."""
    moments = np.random.default_rng(seed)
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    with_steps = 0
    version = 0
    with open_store(directory / "peace") as peace:
        for _ in range(rounds):
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.memory.store.crash", str(directory / "device")],
                stdout=subprocess.PIPE,
                cwd=root,
                env=environment,
            )
            assert process.stdout is not None
            early = moments.random() < 0.2
            first = b"" if early else process.stdout.readline()
            time.sleep(float(moments.uniform(0.0, 0.4 if early else 0.15)))
            os.kill(process.pid, signal.SIGKILL)
            rest = process.communicate()[0]
            assert process.returncode == -signal.SIGKILL
            said = [int(line) for line in (first + rest).split()]
            with_steps += bool(said)
            version = _compare(directory / "device", peace, max(said, default=version), version)
    return CrashReport(rounds, with_steps, version)


def _compare(device: Path, peace: MemoryStore, acknowledged: int, before: int) -> int:
    if before == 0 and acknowledged == 0 and not (device / FILE).exists():
        return 0
    with open_store(device) as store:
        store.verify()
        version = store.version
        assert version >= acknowledged
        while peace.version < version:
            step(peace, peace.version)
        assert snapshot(store) == snapshot(peace)
        assert store.retracted_since(0) == peace.retracted_since(0)
        check_index(store, "sentence")
        check_index(store, "paragraph")
    return version


if __name__ == "__main__":
    if len(sys.argv) == 2:
        child(Path(sys.argv[1]))
    else:
        seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
        sys.stdout.write(f"{crash_rounds(Path(sys.argv[1]), int(sys.argv[2]), seed)}\n")
