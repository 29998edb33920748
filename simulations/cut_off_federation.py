"""Five hosts in network namespaces: one is cut off in the middle of a round, one has a slow and lossy line.

    python -m simulations.cut_off_federation [--service] [--questions 5]        # as root

Each device is a host with an address of its own; TLS and node keys as in `deployed_federation`. In the first run the
cable of one host is pulled as soon as its SuperNode has taken the message to build, and the line of another delays each
frame by 200 ms in each direction and loses 5 % of them. The run must complete and name the missing device. Then the
cable is plugged in again, and in the second run, without a restart of anything, all five must take part. Exits with
status 1 unless both hold and all processes, namespaces and interfaces are gone.
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
from fedrag_flwr.evaluation.rows import MISSING
from simulations.deployment.federation import Deployment, Run
from simulations.deployment.network import Network
from simulations.deployment.small_runs import DEVICES, few_documents, node_configs, small_config

CUT, SLOW = "worlds", "people"
STRATEGY = "memory-fusion"


def missing(run: Run) -> Mapping[str, str]:
    """The devices that a run's results name as missing, each with the reason."""
    result = run.system(STRATEGY)
    return result.missing_devices if result else {}


def show(title: str, run: Run) -> None:
    """Print how a run went."""
    answered = sum(row.path != MISSING for row in run.answers)
    print(f"{title}: {run.status} after {run.seconds:.0f} s, {answered} of {len(run.answers)} questions answered")
    for name, reason in missing(run).items():
        print(f"  missing: {name}: {reason}")
    sys.stdout.flush()


def main() -> None:
    """Cut, run, mend, run, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service", action="store_true", help="give each device its resident service")
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--documents", type=int, default=6, help="of each device, out of the demo's 20")
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds of a round in the first run")
    given = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="fedrag-cut-"))
    data = few_documents(root / "documents", given.documents)
    config = small_config(STRATEGY, given.questions)
    with Network(DEVICES, root / "logs", slow=[SLOW]) as network:
        places = {name: network.place(name) for name in DEVICES}
        with Deployment(
            root, node_configs(data), server=network.server, places=places, service=given.service
        ) as deployment:

            def cut() -> None:
                deployment.processes.wait_for(f"node-{CUT}", "Receiving: train.build", seconds=600.0)
                network.cut(CUT)
                print(f"{CUT} is cut off", flush=True)

            threading.Thread(target=cut, daemon=True).start()
            first = deployment.run({**config, "federation.round-timeout": given.timeout})
            show("one cut off, one slow", first)
            network.mend(CUT)
            mended = time.monotonic()
            second = deployment.run(config)
            show(f"mended {time.monotonic() - mended - second.seconds:.0f} s before", second)
        left = deployment.processes.marked()
    good = [one.status == COMPLETED for one in (first, second)] + [set(missing(first)) == {CUT}, not missing(second)]
    print(f"{len(left)} processes left; {'as it must be' if all(good) and not left else 'NOT as it must be'}")
    sys.exit(0 if all(good) and not left else 1)


if __name__ == "__main__":
    main()
