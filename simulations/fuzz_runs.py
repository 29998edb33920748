"""Whole runs of all strategies with spoilt replies: what passes the transport must not end a run either.

``python -m simulations.fuzz_runs --runs 20 --out fuzz``; a run may end for want of a quorum, and with no other error.
"""

from __future__ import annotations

import argparse
import logging
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from flwr.app import Message
from rich.console import Console
from rich.table import Table

from client_app.app import app
from fedrag_flwr.errors import FederationError, WireError
from fedrag_flwr.handling import place_of
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Question
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire_bytes import to_bytes
from simulations.fixtures.fuzz_world import DEVICES, QUESTIONS, RUN, RUNS, FuzzWorld
from simulations.fixtures.mutations import mutated
from strategies import ServerTools, make_strategy

_SHARE = 0.3  # of replies that are spoilt


def run_spoilt(world: FuzzWorld, settings: Settings, rng: np.random.Generator) -> str:
    """Run a strategy over spoilt replies: "finished", "no quorum", or what else ended it, with its place."""
    asked = [Question(name, text, home) for name, text, home, _ in QUESTIONS]
    grid = LocalGrid(app, [{"partition-id": n} for n in range(len(DEVICES))], settings.flat(), tamper=_spoiling(rng))
    tools = ServerTools(settings)
    try:
        make_strategy(settings.strategy, settings, asked, tools).run(grid, RUN)
    except FederationError:
        return "no quorum"
    except Exception as error:
        return f"{type(error).__name__} at {place_of(error)}"
    finally:
        tools.close()
    return "finished"


def _spoiling(rng: np.random.Generator) -> Callable[[Message], Message]:
    def tamper(reply: Message) -> Message:
        if reply.has_content() and rng.random() < _SHARE:
            try:
                reply.content = mutated(to_bytes(reply.content), rng)
            except WireError:
                return reply
        return reply

    return tamper


def run_all(out: Path, runs: int, seed: int) -> dict[str, Counter[str]]:
    """So many runs of each strategy and exchange, and how they ended."""
    world = FuzzWorld(out / "world")
    world.write()
    ends: dict[str, Counter[str]] = {}
    for number, changes in enumerate(RUNS):
        settings = world.settings(**changes, **{"federation.quorum": 0.0, "federation.retries": 0})
        name = f"{settings.strategy}, {settings.exchange}"
        rng = np.random.default_rng([seed, number])
        ends.setdefault(name, Counter()).update(run_spoilt(world, settings, rng) for _ in range(runs))
        print(name, dict(ends[name]), flush=True)
    shutil.rmtree(world.root / "home" / "server", ignore_errors=True)  # keys that spoilt replies brought
    return ends


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each strategy and exchange")
    parser.add_argument("--seed", type=int, default=7, help="draws what is spoilt")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="folder of the federation")
    chosen = parser.parse_args()
    for name in ("flwr", "fedrag_flwr"):
        logging.getLogger(name).setLevel(logging.ERROR)
    table = Table("strategy", "finished", "no quorum", "other")
    for name, ends in run_all(chosen.out, chosen.runs, chosen.seed).items():
        other = {end: count for end, count in ends.items() if end not in ("finished", "no quorum")}
        table.add_row(name, str(ends["finished"]), str(ends["no quorum"]), str(other or 0))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
