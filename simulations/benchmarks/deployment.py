"""Does a deployment on real SuperNodes answer as the simulation does, and let nobody else in?

A SuperLink and five SuperNodes with TLS, node keys and services on loopback, over the demo's documents. Each strategy
runs through them and in the in-process grid, at the same seed. Then an unregistered node, one that trusts another
authority and one without TLS try to join. Everything lies in one temporary directory, which stays with its logs; the
processes end with the benchmark, also when it fails or is interrupted.
"""

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from fedrag_flwr.cli.flower import COMPLETED
from fedrag_flwr.errors import FederationError
from simulations.bench.frame import Bench
from simulations.deployment.federation import Deployment
from simulations.deployment.refusals import refusals
from simulations.deployment.small_runs import STRATEGIES, differing, node_configs, simulate, small_config
from simulations.fixtures.demo_home import DemoHome


def run(
    bench: Bench,
    questions: Annotated[int, typer.Option(help="Questions of each run.")] = 5,
    documents: Annotated[int, typer.Option(help="Of each device, out of the demo's 20.")] = 6,
) -> None:
    """Bring up, compare, tear down; exits with status 1 unless all is as it must be."""
    root = Path(tempfile.mkdtemp(prefix="fedrag-deployment-"))
    home = DemoHome(root / "documents", most=bench.sized(documents, 1))
    home.lay_out()
    data = home.folders
    asked, start = bench.sized(questions, 2), time.monotonic()
    names = bench.sized(STRATEGIES, STRATEGIES[:1])
    with Deployment(root, node_configs(data), service=True) as deployment:
        seconds = time.monotonic() - start
        bench.tell(f"five devices over TLS after {seconds:.0f} s; logs: {deployment.processes.logs}")
        frame = compared(bench, deployment, names, asked, data)
        strangers = [] if bench.quick else list(refusals(deployment))
    good = bool((frame["status"] == COMPLETED).all() and (frame["equal"] == frame["questions"]).all())
    if strangers:
        bench.table("strangers", pd.DataFrame(strangers), "strangers that try to join")
    good = good and all(one.refused for one in strangers) and not deployment.processes.marked()
    bench.table("deployment", frame, f"{time.monotonic() - start:.0f} s in all")
    if not good:
        raise FederationError("not all is as it must be", where="deployment", fix=f"see the table, and {root / 'logs'}")
    shutil.rmtree(root, ignore_errors=True)


def compared(
    bench: Bench, deployment: Deployment, strategies: Sequence[str], questions: int, data: Path
) -> pd.DataFrame:
    """Run strategies one after the other, each through the deployment and then in the in-process grid."""
    rows = []
    for number, strategy in enumerate(strategies, 1):
        bench.tell(strategy)
        config = small_config(strategy, questions)
        run = deployment.run(config)
        if run.status != COMPLETED:
            bench.tell("\n".join(run.log[-30:]))
        answers, simulated = run.answers, simulate(config, data, deployment.root / "simulated", number)
        other = differing(answers, simulated) if run.status == COMPLETED else []
        result = run.system(strategy)
        messages = result.messages if result else 0
        rows.append((strategy, run.status, round(run.seconds), messages, questions, len(answers) - len(other)))
    return pd.DataFrame(rows, columns=["strategy", "status", "seconds", "messages", "questions", "equal"])
