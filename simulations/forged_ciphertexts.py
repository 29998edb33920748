"""Hands forged ciphertexts and keys to everything that takes them, and counts what became of them.

Run ``python simulations/forged_ciphertexts.py --cases 10000``. No forged input may end this process, none may be taken
for a key or a score, and the worker stays below a gigabyte.
"""

from __future__ import annotations

import argparse
import json
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import CipherError
from fedrag_flwr.privacy.ckks import GroupCipher, QuestionCipher, Sandbox, SummaryScorer, add_ciphertexts

_DIMENSION, _ROWS = 64, 10
_HEADER = 16  # bytes of SEAL's own


@dataclass(frozen=True, slots=True)
class Target:
    """Something that takes foreign bytes: good ones, and what is done with them."""

    good: bytes
    take: Callable[[bytes], object]


def targets(folder: Path) -> tuple[Mapping[str, Target], tuple[Sandbox, SummaryScorer]]:
    """The four places at which foreign ciphertexts and keys come in, and who holds the workers."""
    rng, sandbox = np.random.default_rng(0), Sandbox(timeout=20.0)
    rows = rng.normal(size=(_ROWS, _DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    device, scorer = QuestionCipher(folder / "device", _DIMENSION, sandbox), SummaryScorer(folder / "server")
    scorer.hold(rows)
    scorer.learn("honest", device.public, _DIMENSION)
    [question] = device.encrypt(rows[:1])
    [[score]] = scorer.score("honest", [question])
    group = GroupCipher(folder / "group.key", sandbox)
    group.make()
    [term] = group.encrypt(rows[0].astype(np.float64), 0.0, rng)
    return {
        "question": Target(question, lambda data: scorer.score("honest", [data])),
        "keys": Target(device.public, lambda data: scorer.learn("forger", data, _DIMENSION)),
        "score": Target(score, lambda data: device.choose([data], _ROWS, lambda found: int(found.argmax()))),
        "term": Target(term, lambda data: add_ciphertexts([[term], [data]], sandbox)),
    }, (sandbox, scorer)


# --- ways to forge ----------------------------------------------------------------------------------


def _headed(body: bytes, good: bytes) -> bytes:
    """A body under a good header that tells its right size."""
    return good[:8] + struct.pack("<Q", _HEADER + len(body)) + body


def _flipped(good: bytes, rng: np.random.Generator, most: int) -> bytes:
    data = bytearray(good)
    for place in rng.integers(_HEADER, len(data), rng.integers(1, most + 1)):
        data[place] ^= int(rng.integers(1, 256))
    return bytes(data)


def _bomb(good: bytes, rng: np.random.Generator) -> bytes:
    """A zstandard frame of blocks that each repeat one byte 128 KiB: four bytes become 131,072."""
    count = int(rng.integers(1, 16_000))
    block = struct.pack("<I", (131_072 << 3) | (1 << 1))[:3] + bytes([int(rng.integers(256))])
    last = struct.pack("<I", (1 << 3) | (1 << 1) | 1)[:3] + b"\0"
    return _headed(b"\x28\xb5\x2f\xfd\x00\x38" + block * count + last, good)


FORGERIES: Mapping[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "one bit": lambda good, rng: _flipped(good, rng, 1),
    "many bytes": lambda good, rng: _flipped(good, rng, 64),
    "first bytes": lambda good, rng: _flipped(good[:200], rng, 8) + good[200:],
    "cut": lambda good, rng: good[: rng.integers(0, len(good))],
    "cut, size mended": lambda good, rng: _headed(good[_HEADER : rng.integers(_HEADER, len(good))], good),
    "longer": lambda good, rng: _headed(good[_HEADER:] + rng.bytes(int(rng.integers(1, 2_000))), good),
    "noise": lambda good, rng: rng.bytes(int(rng.integers(0, 4_000))),
    "noise, headed": lambda good, rng: _headed(rng.bytes(int(rng.integers(1, 4_000))), good),
    "header": lambda good, rng: rng.bytes(_HEADER) + good[_HEADER:],
    "not compressed": lambda good, rng: good[:5] + b"\0" + good[6:],
    "bomb": _bomb,
    "empty": lambda good, rng: b"",
    "huge": lambda good, rng: _headed(bytes(2**24), good),
}


def forge(name: str, good: bytes, rng: np.random.Generator) -> bytes:
    """One forged input of a kind."""
    return FORGERIES[name](good, rng)


def attack(target: Target, data: bytes) -> str:
    """Hand over forged bytes; says what became of them."""
    try:
        target.take(data)
    except CipherError as error:
        return "worker died" if "died" in str(error) else "refused"
    return "taken"


def main() -> None:
    """Run the cases and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="a JSON file for the counts")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    peaks: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        places, (sandbox, scorer) = targets(Path(folder))
        start = time.perf_counter()
        for case in range(options.cases):
            rng = np.random.default_rng([options.seed, case])
            place, kind = list(places)[case % len(places)], list(FORGERIES)[case // len(places) % len(FORGERIES)]
            became = attack(places[place], forge(kind, places[place].good, rng))
            counts[f"{place}: {kind}: {became}"] += 1
            for name, pid in (("device", sandbox.worker.pid), ("server", scorer.worker.pid)):
                peaks[name] = max(peaks.get(name, 0), _peak(pid))
        good = {name: attack(target, target.good) for name, target in places.items()}
        starts = sandbox.worker.starts + scorer.worker.starts
        scorer.close()
        sandbox.close()
    totals = {
        word: sum(n for name, n in counts.items() if name.endswith(word)) for word in ("refused", "died", "taken")
    }
    told = {
        "cases": options.cases,
        "totals": totals,
        "workers started": starts,
        "worker peak MiB": {name: round(peak / 1024) for name, peak in peaks.items()},
        "good ones afterwards": good,
        "seconds": round(time.perf_counter() - start, 1),
        "not refused": {name: count for name, count in sorted(counts.items()) if not name.endswith("refused")},
    }
    print(json.dumps(told, indent=1))
    if options.out:
        options.out.write_text(json.dumps(told | {"counts": dict(sorted(counts.items()))}, indent=1) + "\n")


def _peak(pid: int) -> int:
    """A process's largest resident memory in KiB; 0 where it is gone."""
    path = Path(f"/proc/{pid}/status")
    lines = path.read_text().splitlines() if pid and path.is_file() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    main()
