"""What a device's service holds in memory with each generator, and a plan on paper for 8 GB with an 8B model.

    python -m simulations.bench_device_memory [--generators smollm2-135m,...] [--out docs/benchmarks]

For each generator one resident service over one of the demo's devices: when it has started, when it has built its
memory, and when it has answered 20 training questions with the model (its memory may not answer). Resident memory (RSS)
counts every page in use; the proportional share (PSS) divides those that other processes use, too, so it comes out low
where other services run. The file part is mostly weights, which are mapped and could be read again. The plan takes the
resident memory of the first service beside its weights.
Stopped, the same command goes on with the next generator.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device_files import DeviceFiles, Link, toml_of
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.models.files import resolve
from fedrag_flwr.records import BuildRequest
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import SOCKET
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.wire_bytes import to_bytes
from simulations.deployment.federation import program
from simulations.deployment.memory_plan import plan
from simulations.deployment.processes import Processes
from simulations.reporting.kept_rows import KeptRows, Row
from simulations.reporting.row_file import this_code

GENERATORS = ("smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
_DEVICE = "missions"
_ANSWERS = 20
_BUILD_TOKENS = 4  # of the model for 1,000 of the documents': so few that the build is short and goes by rules
_MIB = 2**20
_MEASURES = {"Rss": "RSS", "Pss": "PSS", "Pss_Anon": "own", "Pss_File": "files"}


def measure(generator: str) -> Row:
    """Run one service and read its memory at its stations, in MiB."""
    with tempfile.TemporaryDirectory(prefix="fedrag-memory-") as place:
        home = Path(place)
        (home / "models").symlink_to(fedrag_home() / "models")
        files = DeviceFiles(home / "devices" / "local" / _DEVICE)
        own: dict[str, Plain] = {"device-name": _DEVICE, "data-path": str(CORPUS / _DEVICE), "model-path": generator}
        files.create(own, Link("127.0.0.1:8000"))
        with files.config.open("a", encoding="utf-8") as config:
            config.write(f"[serve]\n{toml_of({'ask-seconds': 3_600.0})}")  # on a busy machine a question takes minutes
            config.write(f"[settings]\n{toml_of({'memory.delta': 1.0})}")
        with Processes(home / "logs") as processes:
            environment = {**os.environ, "FEDRAG_HOME": str(home), "OMP_NUM_THREADS": "1"}
            processes.start("service", [program("fedrag"), "serve", _DEVICE], environment, nice=10)
            process_id, socket = processes.marked("service")[0], files.root / SOCKET
            _wait_until_there(socket)
            with ServiceClient(socket) as client:
                client.health()
                row = {f"started {name}": value for name, value in memory_of(process_id).items()}
                request = to_bytes(wire.encode(BuildRequest(memories=True, graph=True), run="1"))
                settings = Settings.from_config({"memory.tokens-per-kilotoken": _BUILD_TOKENS})
                client.message("train.build", "1", settings.flat(), request)
                row |= {f"built {name}": value for name, value in memory_of(process_id).items()}
                asked = islice((one for one in read_gold(QUESTIONS) if one.split == "train"), _ANSWERS)
                calls = sum(int(str(client.ask(one.text)["llm_calls"])) for one in asked)
                row |= {f"answered {name}": value for name, value in memory_of(process_id).items()}
        return {**row, "LLM calls": float(calls), "weights": resolve(generator).stat().st_size / _MIB}


def _wait_until_there(socket: Path, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not socket.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no service at {socket} within {seconds:g} s")
        time.sleep(0.2)


def memory_of(process_id: int) -> Mapping[str, float]:
    """The memory of a process as Linux sums it up, in MiB."""
    lines = Path(f"/proc/{process_id}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    told = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {name: told[key] for key, name in _MEASURES.items()}


def table(rows: Mapping[str, Row]) -> str:
    """The rows as Markdown, in MiB."""
    stations = [f"{station} {name}" for station in ("started", "built", "answered") for name in _MEASURES.values()]
    head = ["generator", "weights", *stations, "LLM calls"]
    lines = [head, ["---"] * len(head)]
    for name, row in rows.items():
        lines.append([name, *(f"{float(row[key]):,.0f}" for key in head[1:])])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure what is not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generators", default=",".join(GENERATORS))
    parser.add_argument("--rows", type=Path, default=Path("results/device_memory.jsonl"))
    parser.add_argument("--out", type=Path, help="a folder for device_memory.md")
    given = parser.parse_args()
    kept = KeptRows(given.rows, this_code())
    rows = {name: kept.row(name, partial(measure, name)) for name in given.generators.split(",")}
    first = next(iter(rows.values()))
    told = table(rows) + "\n" + plan(float(first["answered RSS"]) - float(first["weights"]))
    print(told)
    if given.out:
        (given.out / "device_memory.md").write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
