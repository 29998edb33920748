"""Does a deployment on real SuperNodes answer as the simulation does, and let nobody else in?

A SuperLink and five SuperNodes with TLS, node keys and services on loopback, over the demo's documents. Each strategy
runs through them and in the in-process grid, at the same seed. Then an unregistered node, one that trusts another
authority and one without TLS try to join. ``--kill``: the SuperLink is killed (kill -9) as soon as an answer is in the
journal; started again over its database, the same run must go on. ``--serve``: a run that stays loses a device and
takes it in again, while people ask. Everything lies in one temporary directory, which stays with its logs; the
processes end with the benchmark, also when it fails or is interrupted.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from fedrag_flwr.cli.flower import COMPLETED
from fedrag_flwr.errors import FederationError
from fedrag_flwr.settings import Plain
from server_app.journal import FILE as JOURNAL
from simulations.bench.frame import Bench
from simulations.deployment.federation import SUPERLINK, Deployment
from simulations.deployment.refusals import refusals
from simulations.deployment.serving import serve
from simulations.deployment.small_runs import (
    STRATEGIES,
    differing,
    node_configs,
    simulate,
    small_config,
)
from simulations.fixtures.demo_home import DemoHome

KILLED = ("memory-fusion", "local-rag")
_PATIENCE = 900.0  # seconds for an answer to be in the journal


def run(
    bench: Bench,
    strategies: Annotated[str, typer.Option(help="Names separated by commas.")] = ",".join(STRATEGIES),
    questions: Annotated[int, typer.Option(help="Questions of each run.")] = 5,
    documents: Annotated[int, typer.Option(help="Of each device, out of the demo's 20.")] = 6,
    service: Annotated[bool, typer.Option(help="Give each device its resident service.")] = True,
    kill: Annotated[bool, typer.Option("--kill", help="Kill the SuperLink in the middle of a run instead.")] = False,
    stay: Annotated[bool, typer.Option("--serve", help="Let a run stay, and people ask, instead.")] = False,
) -> None:
    """Bring up, compare, tear down; exits with status 1 unless all is as it must be."""
    root = Path(tempfile.mkdtemp(prefix="fedrag-deployment-"))
    home = DemoHome(root / "documents", most=bench.sized(documents, 1))
    home.lay_out()
    data = home.folders
    asked, start = bench.sized(questions, 2), time.monotonic()
    if kill:
        frame, good = killed(bench, root, data, asked)
    elif stay:
        frame, good = serve(bench, root, data, asked)
    else:
        names = bench.sized(strategies, STRATEGIES[0]).split(",")
        with Deployment(root, node_configs(data), service=service) as deployment:
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


def killed(bench: Bench, root: Path, data: Path, questions: int) -> tuple[pd.DataFrame, bool]:
    """Kill the SuperLink in a run, start it over its database, run again; the first answers must be taken."""
    start = time.monotonic()
    own: dict[str, Plain] = {"strategy": KILLED[0], "baselines": KILLED[1], "resume": True}
    config = small_config(KILLED[0], questions) | own
    with Deployment(root, node_configs(data), service=True) as deployment:
        first = threading.Thread(target=_run_to_its_end, args=(bench, deployment, config), daemon=True)
        first.start()
        while not noted(deployment) and first.is_alive() and time.monotonic() - start < _PATIENCE:
            time.sleep(0.1)
        deployment.processes.stop(SUPERLINK, hard=True)
        stood = noted(deployment)
        bench.tell(f"killed after {time.monotonic() - start:.0f} s; {stood} lines in the journal")
        first.join(60.0)
        deployment.start_superlink()
        again = deployment.run(config)
        expected = simulate(config, data, root / "simulated", 1)
    other = differing(again.answers, expected)
    results = [again.system(name) for name in KILLED]
    resumed = sum(int(one.counts.get("resumed", 0)) for one in results if one)
    row = {"status": again.status, "answers kept": resumed, "equal": len(expected) - len(other), "of": len(expected)}
    left = deployment.processes.marked()
    good = again.status == COMPLETED and stood and resumed and not other and not left and not noted(deployment)
    return pd.DataFrame([row]), bool(good)


def noted(deployment: Deployment) -> int:
    """Lines in the server's journal."""
    found = (deployment.root / "server" / "runs").glob(f"*/{JOURNAL}")
    return sum(file.read_bytes().count(b"\n") for file in found)


def _run_to_its_end(bench: Bench, deployment: Deployment, config: Mapping[str, Plain]) -> None:
    try:
        status = deployment.run(config).status
    except FederationError as error:
        status = error.what
    bench.tell(f"the first run: {status.splitlines()[0][:100]}")
