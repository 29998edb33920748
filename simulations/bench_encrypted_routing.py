"""Routing by summaries in the open, downloaded, and encrypted, side by side: seconds, bytes, errors and choices.

``python simulations/bench_encrypted_routing.py --data FOLDER`` scores training questions of the datasets against
sentences of their paragraphs, which stand for summaries. Methods take turns, so that a noisy machine hits all alike.
Whole federations are compared by `compare_exchanges.py`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.exchange.routing import restored, rounded
from fedrag_flwr.knowledge_graph.routing import choose_owners
from fedrag_flwr.privacy.ckks import QuestionCipher, Sandbox, SummaryScorer
from fedrag_flwr.records import OwnedRows
from fedrag_flwr.sources.benchmark import read_multihop
from simulations.bench_controller import table
from simulations.corpora.sentences import DATASETS, encoded, find_data, pooled_documents, sentences_of
from simulations.fixtures.encrypted_reference import MatmulReference

Floats = NDArray[np.float32]
_OWNERS = 20
_FLOAT16 = 2


@dataclass(slots=True)
class Cell:
    """What one method did at one number of summaries."""

    method: str
    summaries: int
    server_seconds: list[float] = field(default_factory=list)
    server_cpu: list[float] = field(default_factory=list)
    device_seconds: list[float] = field(default_factory=list)
    bytes_up: int = 0
    bytes_down: int = 0
    bytes_once: int = 0
    worst_error: float = 0.0
    top_five: list[bool] = field(default_factory=list)
    same_device: list[bool] = field(default_factory=list)

    def note(self, scores: NDArray[np.floating], plain: Floats, owners: list[str]) -> None:
        """Compare one question's scores with the plain ones."""
        self.worst_error = max(self.worst_error, float(np.abs(scores - plain).max()))
        self.top_five.append(bool((_best(scores) == _best(plain)).all()))
        self.same_device.append(choose_owners(scores, owners, 3, 1) == choose_owners(plain, owners, 3, 1))


def _best(scores: NDArray[np.floating]) -> NDArray[np.intp]:
    return np.argsort(-scores, kind="stable")[:5]


def vectors_of(data: Path, summaries: int, questions: int) -> tuple[Floats, Floats]:
    """Vectors of sentences of the datasets' paragraphs, and of training questions of all three in turn."""
    sentences = sentences_of(pooled_documents(data, summaries // 20 + 10))[:summaries]
    each = [read_multihop(data / f"{name}.jsonl.gz", "train").questions for name in DATASETS.values()]
    asked = [one.text for row in zip_longest(*each) for one in row if one is not None][:questions]
    return encoded(sentences, "sentences")[0], encoded(asked, "questions")[0]


Method = Callable[[Floats, Cell], NDArray[np.floating]]


def encrypted(rows: Floats, folder: Path) -> tuple[Method, Callable[[], None]]:
    """Baby-step giant-step as the strategy runs it, with both workers."""
    sandbox, scorer = Sandbox(), SummaryScorer(folder / "server")
    cipher = QuestionCipher(folder / "device", rows.shape[1], sandbox)
    scorer.hold(rows)
    scorer.learn("device", cipher.public, rows.shape[1])
    scorer.score("device", cipher.encrypt(rows[:1]))  # the diagonals are encoded with the first question

    def ask(question: Floats, cell: Cell) -> NDArray[np.floating]:
        start = time.perf_counter()
        asked = cipher.encrypt([question])
        sent, before = time.perf_counter(), cpu_seconds(scorer.worker.pid)
        [scores] = scorer.score("device", asked)
        scored = time.perf_counter()
        cell.server_cpu.append(cpu_seconds(scorer.worker.pid) - before)
        found = cipher.choose(scores, len(rows), lambda values: values)
        cell.server_seconds.append(scored - sent)
        cell.device_seconds.append(sent - start + time.perf_counter() - scored)
        cell.bytes_up, cell.bytes_down = len(asked[0]), sum(map(len, scores))
        cell.bytes_once = len(cipher.public)
        return found

    def close() -> None:
        scorer.close()
        sandbox.close()

    return ask, close


def plain(rows: Floats) -> Method:
    """The vector travels in float16, and numpy compares it with all rows."""

    def ask(question: Floats, cell: Cell) -> NDArray[np.floating]:
        start, before = time.perf_counter(), time.process_time()
        found = rows @ question
        cell.server_seconds.append(time.perf_counter() - start)
        cell.server_cpu.append(time.process_time() - before)
        cell.device_seconds.append(0.0)
        cell.bytes_up = _FLOAT16 * len(question)
        return found

    return ask


def downloaded(rows: Floats) -> Method:
    """All rows came once in a byte a value, and numpy compares them at home."""
    overview = rounded([OwnedRows("owner", len(rows))], rows)
    held = np.stack([one.vector for one in restored(overview)])

    def ask(question: Floats, cell: Cell) -> NDArray[np.floating]:
        start = time.perf_counter()
        found = held @ question
        cell.server_seconds.append(0.0)
        cell.server_cpu.append(0.0)
        cell.device_seconds.append(time.perf_counter() - start)
        cell.bytes_once = len(overview.codes)
        return found

    return ask


def matmul(rows: Floats) -> Method:
    """TenSEAL's own product, in chunks that it gets right; its context's keys travel once."""
    reference = MatmulReference(rows)

    def ask(question: Floats, cell: Cell) -> NDArray[np.floating]:
        told = reference.ask(question)
        cell.server_seconds.append(told.server_seconds)
        cell.server_cpu.append(told.server_cpu)
        cell.device_seconds.append(told.device_seconds)
        cell.bytes_up, cell.bytes_down, cell.bytes_once = told.bytes_up, told.bytes_down, reference.bytes_once
        return told.scores

    return ask


def measure(rows: Floats, questions: Floats, slow: int) -> list[Cell]:
    """All methods in turn over all questions; `matmul` over the first few only."""
    owners = [f"owner-{row * _OWNERS // len(rows):02d}" for row in range(len(rows))]
    with tempfile.TemporaryDirectory() as folder:
        ours, close = encrypted(rows, Path(folder))
        methods: Mapping[str, Method] = {
            "plain numpy": plain(rows),
            "downloaded int8": downloaded(rows),
            **({"matmul": matmul(rows)} if slow else {}),
            "baby-step giant-step": ours,
        }
        cells = {name: Cell(name, len(rows)) for name in methods}
        for number, question in enumerate(questions):
            truth = rows @ question
            for name, method in methods.items():
                if name != "matmul" or number < slow:
                    cells[name].note(method(question, cells[name]), truth, owners)
        close()
    return [cell for cell in cells.values() if cell.top_five]


def cpu_seconds(pid: int) -> float:
    """Seconds that a process has been on a processor: what it would take on an idle machine, nearly."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def row_of(cell: Cell) -> list[str]:
    """A table's line."""
    return [
        f"{cell.summaries:,}",
        cell.method,
        f"{statistics.median(cell.server_seconds):.4f}",
        f"{np.quantile(cell.server_seconds, 0.95):.4f}",
        f"{statistics.median(cell.server_cpu):.4f}",
        f"{statistics.median(cell.device_seconds):.4f}",
        f"{(cell.bytes_up + cell.bytes_down) / 1000:,.1f}",
        f"{cell.bytes_once / 1000:,.0f}",
        f"{cell.worst_error:.1e}",
        f"{100 * statistics.mean(cell.top_five):.1f}",
        f"{100 * statistics.mean(cell.same_device):.1f}",
        str(len(cell.server_seconds)),
    ]


HEADER = [
    *("summaries", "method", "server s", "p95", "server CPU s", "device s", "KB a question", "KB once"),
    *("worst error", "same top 5, %", "same device, %", "questions"),
]


def main() -> None:
    """Print the table, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--slow", type=int, default=5, help="questions that `matmul` is asked")
    parser.add_argument("--out", type=Path, default=None, help="a JSON file")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    sentences, questions = vectors_of(find_data(options.data), max(sizes), options.questions)
    cells = [cell for size in sizes for cell in measure(sentences[:size], questions, options.slow)]
    told: dict[str, object] = {"cells": [asdict(cell) for cell in cells]}
    print(table(HEADER, [row_of(cell) for cell in cells]))
    if options.out:
        options.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
