"""What does routing cost in the open, downloaded and encrypted, and does it choose the same?

Training questions of the datasets are scored against sentences of their paragraphs, which stand for summaries; methods
take turns, so that a noisy machine hits all alike.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from fedrag_flwr.exchange.routing import restored, rounded
from fedrag_flwr.knowledge_graph.routing import choose_owners
from fedrag_flwr.privacy.ckks.sandbox import Sandbox
from fedrag_flwr.privacy.ckks.scores import QuestionCipher, SummaryScorer
from fedrag_flwr.records import OwnedRows
from simulations.bench.frame import Bench
from simulations.bench.measure import seconds_of
from simulations.corpora.multihop import read_multihop
from simulations.corpora.sentences import DATASETS, encoded, pooled_documents, sentences_of

Floats = NDArray[np.float32]
Method = Callable[[Floats], tuple[NDArray[np.floating], dict[str, float]]]
_OWNERS = 20


def run(
    bench: Bench,
    sizes: Annotated[str, typer.Option(help="Numbers of summaries, separated by commas.")] = "100,1000,10000",
    questions: Annotated[int, typer.Option(help="Questions that are scored at each size.")] = 40,
) -> None:
    """Score in the open, downloaded and encrypted."""
    numbers = [int(size) for size in bench.sized(sizes, "100").split(",")]
    rows, asked = vectors_of(bench.data(), max(numbers), bench.sized(questions, 2))
    bench.table("scores", pd.concat([scored(rows[:size], asked) for size in numbers]), "Medians of a question.")


def vectors_of(data: Path, summaries: int, questions: int) -> tuple[Floats, Floats]:
    """Vectors of sentences of the datasets' paragraphs, and of training questions of all three in turn."""
    sentences = sentences_of(pooled_documents(data, summaries // 20 + 10))[:summaries]
    each = [read_multihop(data / f"{name}.jsonl.gz", "train", questions).questions for name in DATASETS.values()]
    asked = [one.text for row in zip_longest(*each) for one in row if one is not None][:questions]
    return encoded(sentences, "sentences"), encoded(asked, "questions")


def scored(rows: Floats, questions: Floats) -> pd.DataFrame:
    """All methods in turn over all questions: seconds, bytes, and whether they choose as the open scores do.

    Medians; of errors the largest, of shares the mean.
    """
    owners = [f"owner-{row * _OWNERS // len(rows):02d}" for row in range(len(rows))]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as workers:
        methods: Mapping[str, Method] = {
            "open": opened(rows),
            "downloaded": downloaded(rows),
            "encrypted": encrypted(rows, Path(folder), workers),
        }
        told = []
        for question in questions:
            truth = rows @ question
            for name, method in methods.items():
                found, cost = method(question)
                same = choose_owners(found, owners, 3, 1) == choose_owners(truth, owners, 3, 1)
                five = (np.argsort(-found, kind="stable")[:5] == np.argsort(-truth, kind="stable")[:5]).all()
                cost |= {"error": np.abs(found - truth).max(), "same owner %": 100 * same, "same five %": 100 * five}
                told.append({"summaries": len(rows), "method": name, **cost})
    costs = pd.DataFrame(told)
    ways = {name: "max" if name == "error" else "mean" if "%" in name else "median" for name in costs.columns[2:]}
    groups = costs.groupby(["summaries", "method"], sort=False)
    return groups.agg(ways).map(lambda value: float(f"{value:.4g}")).reset_index()


def opened(rows: Floats) -> Method:
    """The vector travels in float16, and numpy compares it with all rows."""
    return lambda asked: (rows @ asked, _cost(seconds_of(np.matmul, rows, asked), 0.0, 2 * len(asked), 0))


def downloaded(rows: Floats) -> Method:
    """All rows came once in a byte a value, and numpy compares them at home."""
    overview = rounded([OwnedRows("owner", len(rows))], rows)
    held = np.stack([one.vector for one in restored(overview)])
    return lambda asked: (held @ asked, _cost(0.0, seconds_of(np.matmul, held, asked), 0, len(overview.codes)))


def encrypted(rows: Floats, folder: Path, workers: ExitStack) -> Method:
    """As the strategy runs it, with both workers."""
    sandbox, scorer = workers.enter_context(closing(Sandbox())), SummaryScorer(folder / "server")
    workers.callback(scorer.close)
    cipher = QuestionCipher(folder / "device", rows.shape[1], sandbox)
    scorer.hold(rows)
    scorer.learn("device", cipher.public, rows.shape[1])
    scorer.score("device", cipher.encrypt(rows[:1]))  # the diagonals are encoded with the first question

    def ask(question: Floats) -> tuple[NDArray[np.floating], dict[str, float]]:
        start = time.perf_counter()
        asked = cipher.encrypt([question])
        sent = time.perf_counter()
        [scores] = scorer.score("device", asked)
        done = time.perf_counter()
        found = cipher.choose(scores, len(rows), lambda values: values)
        at_home = sent - start + time.perf_counter() - done
        return found, _cost(done - sent, at_home, len(asked[0]) + sum(map(len, scores)), len(cipher.public))

    return ask


def _cost(server: float, device: float, each: int, once: int) -> dict[str, float]:
    return {"server s": server, "device s": device, "KB a question": each / 1000, "KB once": once / 1000}
