"""kill -9 of the SuperLink in the middle of a run on real SuperNodes; started again, the same run goes on.

    python -m simulations.killed_superlink [--questions 5] [--documents 6]

Five devices with services, TLS and node keys as in `deployed_federation`, two systems and ``resume = true``. The
SuperLink is killed, with the ServerApp that it started, as soon as an answer is in the journal. It is started again
over its database; the SuperNodes find it by themselves, and the same run is started again. Exits with status 1 unless
that one completes, takes what stood in the journal, answers as the simulation, and all processes are gone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from fedrag_flwr.cli.flower import COMPLETED
from fedrag_flwr.errors import FederationError
from fedrag_flwr.settings import Plain
from server_app.journal import FILE as JOURNAL
from simulations.deployment.federation import SUPERLINK, Deployment
from simulations.deployment.small_runs import differing, few_documents, node_configs, simulate, small_config

SYSTEMS = ("memory-fusion", "local-rag")
_PATIENCE = 900.0  # seconds for an answer to be in the journal, and for the devices to be back


def noted(deployment: Deployment) -> int:
    """Lines in the server's journal."""
    found = (deployment.root / "server" / "runs").glob(f"*/{JOURNAL}")
    return sum(file.read_bytes().count(b"\n") for file in found)


def begin(deployment: Deployment, config: Mapping[str, Plain]) -> threading.Thread:
    """Start a run whose end is not to be seen."""

    def run() -> None:
        try:
            status = deployment.run(config).status
        except FederationError as error:
            status = error.what
        print(f"the first run: {status.splitlines()[0][:100]}", flush=True)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def main() -> None:
    """Run, kill, start again, run again, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--documents", type=int, default=6, help="of each device, out of the demo's 20")
    given = parser.parse_args()
    start = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="fedrag-killed-"))
    data = few_documents(root / "documents", given.documents)
    own: dict[str, Plain] = {"strategy": SYSTEMS[0], "baselines": SYSTEMS[1], "resume": True}
    config = small_config(SYSTEMS[0], given.questions) | own
    with Deployment(root, node_configs(data), service=True) as deployment:
        first = begin(deployment, config)
        while not noted(deployment) and first.is_alive() and time.monotonic() - start < _PATIENCE:
            time.sleep(0.1)
        deployment.processes.stop(SUPERLINK, hard=True)
        stood = noted(deployment)
        print(f"killed after {time.monotonic() - start:.0f} s; {stood} lines in the journal", flush=True)
        first.join(60.0)
        deployment.start_superlink()
        again = deployment.run(config)
        expected = simulate(config, data, root / "simulated", 1)
    left = deployment.processes.marked()
    other = differing(again.answers, expected)
    results = [again.system(name) for name in SYSTEMS]
    resumed = sum(int(one.counts.get("resumed", 0)) for one in results if one)
    good = again.status == COMPLETED and stood and resumed and not other and not left and not noted(deployment)
    print(
        f"the second run: {again.status} after {again.seconds:.0f} s, {resumed} answers taken from the journal, "
        f"{len(again.answers) - len(other)} of {len(expected)} equal to the simulation's; {len(left)} processes left; "
        f"{'as it must be' if good else 'NOT as it must be'}"
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
