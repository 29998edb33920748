"""How fast does this processor read prompts and write answers with each form of the weights, and start a ClientApp?

The forms take turns; told is the best of three. Each import runs in new processes, turn by turn: told are the least
and the median of the processor's seconds.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pandas import DataFrame

from fedrag_flwr.models import resolve
from fedrag_flwr.models.llama import LlamaEngine, instructions
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from simulations.bench.frame import Bench

PROMPT = "The ferry to Linwick leaves the harbour at nine, and Ada Morrow, who drew the bridge, is on board. " * 8
TOKENS, GENERATED, REPEATS = 128, 16, 3
IMPORTS = {
    "nothing": "pass",
    "Flower": "import flwr.app, flwr.clientapp",
    "the ClientApp": "import client_app.app",
    "the ClientApp, handling by itself": "import client_app.app, fedrag_flwr.handling, fedrag_flwr.nodes",
}


def run(
    bench: Bench,
    generators: Annotated[str, typer.Option(help="Known names, separated by commas; brought where need be.")] = (
        f"{DEFAULT_GENERATOR},{DEFAULT_GENERATOR}-q8"
    ),
    threads: Annotated[int, typer.Option(help="Of the model.")] = 1,
    rounds: Annotated[int, typer.Option(help="Of each import.")] = 8,
) -> None:
    """Measure each form of the weights, and each import."""
    rows = []
    for name in bench.sized(generators, "smollm2-135m").split(","):
        path = resolve(name.strip())
        prompt, written = speed(path, threads)
        size = round(path.stat().st_size / 1e6)
        rows.append({"weights": path.name, "MB": size, "prompt tokens/s": prompt, "written tokens/s": written})
    bench.table("weights", DataFrame(rows).round(0), f"{threads} threads; {instructions()}")
    turns = bench.sized(1 + rounds, 1)
    times = {name: [seconds(code) for _ in range(turns)][-rounds:] for name, code in IMPORTS.items()}
    told = [{"import": name, "CPU s, least": min(own), "median": np.median(own)} for name, own in times.items()]
    bench.table("imports", DataFrame(told).round(2))


def speed(path: Path, threads: int) -> tuple[float, float]:
    """Prompt and written tokens a second, the best of three."""
    engine = LlamaEngine(path, context_tokens=1024, threads=threads)
    tokens = engine.tokenize(PROMPT)[:TOKENS]
    engine.extend(tokens, 0)
    prompt = written = 0.0
    for _ in range(REPEATS):
        engine.clear()
        start = time.perf_counter()
        engine.extend(tokens, 0)
        read = time.perf_counter()
        for place in range(GENERATED):
            engine.step([tokens[place]], [TOKENS + place], [0])
        prompt = max(prompt, TOKENS / (read - start))
        written = max(written, GENERATED / (time.perf_counter() - read))
    engine.close()
    return prompt, written


def seconds(statement: str) -> float:
    """The processor's seconds of one new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
