"""A SuperLink and five SuperNodes with TLS and node keys on loopback, and whether they answer as the simulation does.

    python -m simulations.deployed_federation [--service] [--flower] [--questions 5] [--documents 6] [--strategies ...]

Makes an authority and keys, registers five devices over the demo's corpus, runs each strategy through them, reads from
Flower how each run ended, and asks the in-process grid the same at the same seed; ``--flower``: Flower's simulation
engine, which takes longer. Then an unregistered node, one that trusts another authority and one without TLS try to
join. Everything lies in one temporary directory, which stays with its logs; the processes end with the script, by their
ids, also when it fails or is interrupted. Exits with status 1 unless every run completed with equal answers, every
stranger says that it was refused, and all processes are gone.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.cli.flower import COMPLETED
from simulations.deployment.federation import Deployment, Run
from simulations.deployment.refusals import refusals, told
from simulations.deployment.small_runs import (
    STRATEGIES,
    differing,
    few_documents,
    node_configs,
    simulate,
    simulate_by_flower,
    small_config,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy's run beside its simulation."""

    strategy: str
    run: Run
    messages: int
    questions: int
    differing: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether the run completed with the simulation's answers."""
        return self.run.status == COMPLETED and self.questions > 0 and not self.differing


def compare(
    deployment: Deployment, strategies: Sequence[str], questions: int, data: Path, *, by_flower: bool
) -> list[Row]:
    """Run strategies one after the other, each through the deployment and then simulated."""
    rows = []
    for number, strategy in enumerate(strategies, 1):
        config = small_config(strategy, questions)
        run = deployment.run(config)
        if run.status != COMPLETED:
            print("\n".join(run.log[-30:]), file=sys.stderr)
        root = deployment.root / "simulated"
        simulated = simulate_by_flower(config, data, root) if by_flower else simulate(config, data, root, number)
        other = tuple(differing(run.answers, simulated)) if run.status == COMPLETED else ()
        result = run.system(strategy)
        rows.append(Row(strategy, run, result.messages if result else 0, len(run.answers), other))
        show(rows[-1])
    return rows


def show(row: Row) -> None:
    """Print a row of the table."""
    equal = f"{row.questions - len(row.differing)}/{row.questions}"
    print(f"| {row.strategy} | {row.run.status} | {row.run.seconds:.0f} | {row.messages} | {equal} |", flush=True)
    if row.differing:
        print(f"  other answers: {', '.join(row.differing)}", flush=True)


def cpu_seconds() -> float:
    """The processor time of this process and of those that it has seen end, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Bring up, compare, tear down, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service", action="store_true", help="give each device its resident service")
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--documents", type=int, default=6, help="of each device, out of the demo's 20")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--flower", action="store_true", help="simulate in Flower's engine, not in this process")
    given = parser.parse_args()
    start = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="fedrag-deployed-"))
    data = few_documents(root / "documents", given.documents)
    with Deployment(root, node_configs(data), service=given.service) as deployment:
        print(f"five devices over TLS after {time.monotonic() - start:.0f} s")
        print("| strategy | status | seconds | messages | equal answers |\n|---|---|---|---|---|")
        rows = compare(deployment, given.strategies.split(","), given.questions, data, by_flower=given.flower)
        strangers = list(refusals(deployment))
        print("\n".join(map(told, strangers)), flush=True)
    left = deployment.processes.marked()
    good = all(row.good for row in rows) and all(one.refused for one in strangers) and not left
    verdict = "as it must be" if good else "NOT as it must be"
    print(
        f"{time.monotonic() - start:.0f} s in all, {cpu_seconds():.0f} s of CPU, {len(left)} processes left; {verdict}"
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
