"""What is lost or crashes when files are torn, processes are killed or messages are spoilt?

Each fault is injected many times, at moments or with messages that are drawn. An attempt is *right* if all is as if
nothing had happened: the same answers, or the store of an undisturbed twin. Else one of our errors must have told of
it, as an error, as a missing device, or as a refused message. Anything else is a crash, and fails the benchmark.
"""

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from fedrag_flwr.errors import FederationError
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.plan import named
from simulations.faults import moments, spoilt
from simulations.faults.small_federation import RUNS
from simulations.faults.tally import Tally

SEED = 7
AT_MOMENTS: Mapping[str, Callable[[Path, int, np.random.Generator], Tally]] = {
    "device-killed": moments.device_killed,
    "server-killed": moments.server_killed,
    "disk-full": moments.disk_full,
    "file-torn": moments.file_torn,
    "messages-repeated": moments.messages_repeated,
    "messages-lost": moments.messages_lost,
    "slow-link": moments.slow_link,
    "clock-off": moments.clock_off,
}
SPOILT: Mapping[str, Callable[[Path, int, np.random.Generator, int], Tally]] = {
    "spoilt-runs": spoilt.whole_runs,
    "spoilt-requests": spoilt.requests,
    "spoilt-replies": spoilt.replies,
    "spoilt-service": spoilt.service,
}
FAULTS = (*AT_MOMENTS, *SPOILT)
QUICK = ("device-killed", "disk-full", "spoilt-requests", "spoilt-replies")


def run(
    bench: Bench,
    faults: Annotated[str, typer.Option(help=f"Names separated by commas: {', '.join(FAULTS)}.")] = ",".join(FAULTS),
    moments: Annotated[int, typer.Option(help="Of each fault; a device is killed twice as often.")] = 20,
    messages: Annotated[int, typer.Option(help="Spoilt ones of each type on each side.")] = 1_000,
    runs: Annotated[int, typer.Option(help="With spoilt replies, of each strategy and exchange.")] = 5,
) -> None:
    """Inject each fault; exits with status 1 after a crash."""
    for name in ("flwr", "fedrag_flwr", "httpx"):  # each refusal has its line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    counts = {"spoilt-runs": bench.sized(runs, 1), **dict.fromkeys(AT_MOMENTS, bench.sized(moments, 1))}
    kept, rows = bench.rows(), []
    for name in named(faults, FAULTS, "fault"):
        if not bench.quick or name in QUICK:
            count = counts.get(name, bench.sized(messages, 10))
            bench.tell(f"{name}: {count}")
            rows.append(kept.row(f"{name} {count}", measure, bench, name, count))
    bench.table("faults", pd.DataFrame(rows))
    if any(row["crashes"] for row in rows):
        raise FederationError("something crashed or was lost", where="faults", fix="see the table")


def measure(bench: Bench, name: str, count: int) -> Row:
    """Inject one fault so many times."""
    rng, start = np.random.default_rng([SEED, FAULTS.index(name)]), time.monotonic()
    if name in AT_MOMENTS:
        tally = AT_MOMENTS[name](bench.out / name, count, rng)
    else:
        tally = SPOILT[name](bench.out / "spoilt", count, rng, bench.sized(len(RUNS), 1))
    return {"fault": name, **tally.row(), "seconds": round(time.monotonic() - start)}
