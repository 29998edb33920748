"""What importing the ClientApp costs: ``python simulations/bench_client_import.py``.

Each import runs in new processes, turn by turn; prints the least and the median of CPU seconds and of wall seconds.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

IMPORTS = {
    "nothing": "pass",
    "Flower": "import flwr.app, flwr.clientapp",
    "the ClientApp": "import client_app.app",
    "the ClientApp, handling by itself": "import client_app.app, fedrag_flwr.handling, fedrag_flwr.nodes",
}


def seconds(statement: str) -> tuple[float, float]:
    """CPU and wall seconds of one new process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    for statement in IMPORTS.values():  # so that all find their files in the cache
        seconds(statement)
    told = np.array([[seconds(statement) for statement in IMPORTS.values()] for _ in range(rounds)])
    print("| import | CPU s, least / median | wall s, least / median |\n|---|---|---|")
    for place, name in enumerate(IMPORTS):
        cells = [f"{told[:, place, kind].min():.2f} / {np.median(told[:, place, kind]):.2f}" for kind in (0, 1)]
        print(f"| {name} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
