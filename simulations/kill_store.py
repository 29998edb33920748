"""Kill a device with SIGKILL while it builds or imports, over and over, and see that its store is always whole.

A child builds a device from a folder whose documents change with each edition, and takes in a delta of a bank after
each build. It is killed at random moments. What it leaves must open, verify, equal what the same steps make in peace,
and go on from there: ``python -m simulations.kill_store --rounds 50``.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.imports import SHARED_VERSION
from simulations.fixtures.kill_world import (
    SETTINGS,
    assert_whole,
    build_edition,
    contents,
    documents,
    import_edition,
    open_device,
)

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class KillReport:
    """How many children were killed in which phase, and how many builds and imports the device had come through."""

    kills: int
    in_build: int
    in_import: int
    editions: int
    kept: int  # kills after which the step that was under way had been committed
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.in_build} in a build, {self.in_import} in an import; {self.kept} after the "
            f"commit), {self.editions} editions: every store opened, verified and equalled its peaceful twin, every "
            f"next build completed; {self.seconds:.0f} s"
        )


def work(root: Path) -> None:
    """Build and import without end, and say each step before it is taken: what the child does."""
    models = _models(root)
    models.encoder.encode(["warm"])
    models.pipeline.question("Is it warm?")
    os.write(1, b"ready\n")
    edition = int(sys.stdin.readline())
    with open_device(root, models) as device:
        while True:
            edition += 1
            os.write(1, f"build {edition}\n".encode())
            build_edition(device, edition)
            os.write(1, f"import {edition}\n".encode())
            import_edition(device, edition)


# --- the kills ----------------------------------------------------------------------------------


class Twin:
    """A device that takes the same steps in peace, and how long its last build and import took."""

    def __init__(self, device: EdgeDevice) -> None:
        self.device = device
        self.built = 0
        self.imported = 0
        self.seconds = {"build": 0.0, "import": 0.0}

    def follow(self, built: int, imported: int) -> None:
        """Take the steps up to a build and an import."""
        while self.imported < imported or self.built < built:
            start = time.perf_counter()
            if self.imported < self.built:
                self.imported += 1
                import_edition(self.device, self.imported)
                self.seconds["import"] = time.perf_counter() - start
            else:
                self.built += 1
                build_edition(self.device, self.built)
                self.seconds["build"] = time.perf_counter() - start


def kill_rounds(directory: Path, rounds: int, seed: int) -> KillReport:
    """Kill a child in each round at a random moment of a build or an import.

    Parameters
    ----------
    directory
        Where the device, and its twin that is left in peace, live.
    rounds
        Children to kill; every second one in an import.
    seed
        Draws the moments.

    Raises
    ------
    AssertionError
        A store was not whole, differed from its twin's, or did not go on.
    """
    start = time.monotonic()
    moments = np.random.default_rng(seed)
    tally: Counter[str] = Counter()
    models = _models(directory)
    with open_device(directory / "peace", models) as peace:
        twin = Twin(peace)
        with open_device(directory / "device", models) as device:
            _go_on(device, twin)
        for number, child in enumerate(_children(directory / "device", rounds)):
            aim = "import" if number % 2 else "build"
            phase, begun = _kill(child, twin.built, aim, float(moments.uniform(0.0, 1.1 * twin.seconds[aim])))
            with open_device(directory / "device", models) as device:
                committed = _compare(device, twin, phase, begun)
                _go_on(device, twin)
            tally.update([phase, *(["kept"] if committed else [])])
    seconds = time.monotonic() - start
    return KillReport(rounds, tally["build"], tally["import"], twin.built, tally["kept"], seconds)


def _children(root: Path, count: int) -> Iterator[subprocess.Popen[bytes]]:
    """Give children one after the other; the next one loads its models meanwhile."""
    started: deque[subprocess.Popen[bytes]] = deque()
    try:
        for number in range(count):
            while len(started) < min(2, count - number):
                started.append(_spawn(root))
            yield started[0]
            started.popleft()
    finally:
        for child in started:
            child.kill()
            child.communicate()


def _spawn(root: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "simulations.kill_store", "--child", str(root)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment
    )


def _kill(child: subprocess.Popen[bytes], edition: int, aim: str, wait: float) -> tuple[str, int]:
    """Let a child go on from an edition, kill it `wait` seconds into a phase; give the phase that the kill met."""
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n", "the child did not start"
    child.stdin.write(f"{edition}\n".encode())
    child.stdin.flush()
    said = ""
    while not said.startswith(aim):
        said = child.stdout.readline().decode()
        assert said, "the child died by itself"
    time.sleep(wait)
    child.send_signal(signal.SIGKILL)
    rest = child.communicate()[0].decode().splitlines()
    assert child.returncode == -signal.SIGKILL
    phase, _, begun = [said, *rest][-1].partition(" ")
    return phase, int(begun)


def _compare(device: EdgeDevice, twin: Twin, phase: str, begun: int) -> bool:
    """Verify a killed device's store and compare it with its twin's; tell whether the last step was committed."""
    device.store.verify()
    assert_whole(device.store)
    built = next(e for e in (begun, begun - 1) if _texts(device.store) == _expected(e))
    imported = int(device.store.meta(SHARED_VERSION) or 0)
    assert built - 1 <= imported <= built
    twin.follow(built, imported)
    assert contents(device.store) == contents(twin.device.store)
    return (imported if phase == "import" else built) == begun


def _go_on(device: EdgeDevice, twin: Twin) -> None:
    """Take the steps that follow a kill, and see that they lead where undisturbed ones do."""
    if twin.imported < twin.built:
        import_edition(device, twin.built)
    following = twin.built + 1
    build_edition(device, following)
    import_edition(device, following)
    twin.follow(following, following)
    assert device.store.counts() == twin.device.store.counts()
    assert contents(device.store) == contents(twin.device.store)
    device.store.verify()


def _texts(store: MemoryStore) -> dict[str, str]:
    return {document_id: store.document(document_id).text for document_id in store.digests()}


def _expected(edition: int) -> dict[str, str]:
    return {Path(name).stem: text for name, text in documents(edition).items()}


def _models(home: Path) -> Models:
    return load_models(SETTINGS.models, home)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="children to kill")
    parser.add_argument("--seed", type=int, default=7, help="draws the moments")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        work(chosen.child)
        return
    with tempfile.TemporaryDirectory() as directory:
        print(kill_rounds(Path(directory), chosen.rounds, chosen.seed))


if __name__ == "__main__":
    main()
