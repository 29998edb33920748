"""What does routing cost in the open, downloaded and encrypted, does it choose the same, and do forgeries do harm?

*scores*: training questions of the datasets against sentences of their paragraphs, which stand for summaries; methods
take turns, so that a noisy machine hits all alike. *exchanges*: the demo's training questions all leave home, under
each exchange over the same five devices; the generator is SmolLM2, and what it wrote is kept, so that equal prompts
give equal answers. *forged*: forged ciphertexts and keys go to everything that takes them; none may end this process,
be taken for a key or a score, or make a worker larger than a gigabyte.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from fedrag_flwr.demo import QUESTIONS
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.exchange.routing import restored, rounded
from fedrag_flwr.knowledge_graph.routing import choose_owners
from fedrag_flwr.privacy.ckks import QuestionCipher, Sandbox, SummaryScorer
from fedrag_flwr.records import OwnedRows, Question
from fedrag_flwr.settings import Settings
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.measure import memory_mb, seconds_of
from simulations.corpora.multihop import read_multihop
from simulations.corpora.sentences import DATASETS, encoded, pooled_documents, sentences_of
from simulations.fixtures.forged_ciphertexts import FORGERIES, attack, targets
from simulations.fixtures.simulated import simulated
from strategies import ServerTools, SummaryRouting, make_strategy

Floats = NDArray[np.float32]
Method = Callable[[Floats], tuple[NDArray[np.floating], dict[str, float]]]
DEVICES = 5
HIDDEN = ("download", "encrypted")
_OWNERS = 20


def run(
    bench: Bench,
    sizes: Annotated[str, typer.Option(help="Numbers of summaries, separated by commas.")] = "100,1000,10000",
    questions: Annotated[int, typer.Option(help="Questions that are scored at each size.")] = 40,
    strategies: Annotated[str, typer.Option(help="Compared in all exchanges; empty for none.")] = (
        "summary-routing,fedrag"
    ),
    cases: Annotated[int, typer.Option(help="Forged inputs; 0 for none.")] = 10_000,
) -> None:
    """Score in the open and encrypted, ask a federation in all exchanges, and forge."""
    numbers = [int(size) for size in bench.sized(sizes, "100").split(",")]
    rows, asked = vectors_of(bench.data(), max(numbers), bench.sized(questions, 2))
    bench.table("scores", pd.concat([scored(rows[:size], asked) for size in numbers]), "Medians of a question.")
    count = bench.sized(cases, 52)
    forged = bench.rows().row(f"forged {count}", forgeries, count)
    bench.table("forged", pd.DataFrame([forged]), "Forged ciphertexts and keys.")
    gold = [one for one in read_gold(QUESTIONS) if one.split == "train"]
    people = [Question(one.question_id, one.text, one.home) for one in gold]
    names = filter(None, bench.sized(strategies, "").split(","))
    compared = [line for name in names for line in exchanges(bench.out / "devices", name, people)]
    if compared:
        bench.table("exchanges", pd.DataFrame(compared), "Beside the open exchange.")


def vectors_of(data: Path, summaries: int, questions: int) -> tuple[Floats, Floats]:
    """Vectors of sentences of the datasets' paragraphs, and of training questions of all three in turn."""
    sentences = sentences_of(pooled_documents(data, summaries // 20 + 10))[:summaries]
    each = [read_multihop(data / f"{name}.jsonl.gz", "train", questions).questions for name in DATASETS.values()]
    asked = [one.text for row in zip_longest(*each) for one in row if one is not None][:questions]
    return encoded(sentences, "sentences"), encoded(asked, "questions")


# --- scores -------------------------------------------------------------------------------------------


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


# --- exchanges ----------------------------------------------------------------------------------------


def exchanges(home: Path, strategy: str, asked: Sequence[Question]) -> list[Row]:
    """Ask a strategy in all exchanges, over the same devices and the same shared memory."""
    routed(home, strategy, "plain", asked[:1])  # names learnt at the first build leave other memories later
    plain = routed(home, strategy, "plain", asked)
    return [_beside(plain, routed(home, strategy, exchange, asked), exchange) for exchange in HIDDEN]


def _beside(plain: SummaryRouting, private: SummaryRouting, exchange: str) -> Row:
    """How many questions went to the same devices as in the open, and how many of these got the same answer."""
    both = [name for name in plain.routes if name in private.routes]
    same = [name for name in both if set(plain.routes[name]) == set(private.routes[name])]
    equal = [name for name in same if plain.answers[name].text == private.answers[name].text]
    phases = private.outcome().traffic.by_phase
    before = [phases[name] for name in ("query.encrypt", "query.route") if name in phases]
    count = max(1, len(both))
    return {
        "strategy": private.name,
        "exchange": exchange,
        "devices asked": round(sum(len(private.routes[name]) for name in both) / count, 1),
        "same devices": f"{len(same)} of {len(both)}",
        "equal answers": f"{len(equal)} of {len(same)}",
        "KB before evidence": round(sum(one.bytes_up + one.bytes_down for one in before) / 1000 / count, 1),
        "scoring ms": round(private.counts["scoring-ms"] / max(1, private.counts["scored"]), 1),
    }


def routed(home: Path, strategy: str, exchange: str, asked: Sequence[Question]) -> SummaryRouting:
    """One strategy over the demo's devices, which are built once; the gate accepts nothing, memory answers nothing."""
    settings = Settings.from_config(
        {
            "strategy": strategy,
            "exchange": exchange,
            "home": str(home),
            "federation.devices": DEVICES,
            "models.generator": "smollm2-135m",
            "models.context-tokens": 2048,
            "inference.max-answer-tokens": 8,
            "inference.abstain-below": 0.0,  # answers that were declined would all be equal
            "fedrag.without": "reading, cache",
            "gate.threshold": 1.0,
            "routing.quota": 1_000_000,
            **({} if strategy == "summary-routing" else {"memory.delta": 1.0}),
        }
    )
    with closing(ServerTools(settings)) as tools:
        made = make_strategy(strategy, settings, asked, tools)
        if not isinstance(made, SummaryRouting):
            raise SettingError(f"{strategy} does not route by summaries", where="--strategies", fix="leave it out")
        made.run(simulated(settings), "1")
    return made


# --- forgeries ----------------------------------------------------------------------------------------


def forgeries(cases: int) -> Row:
    """Hand over so many forged inputs of all kinds at all places, then the honest ones."""
    became: Counter[str] = Counter()
    peak = 0.0
    with tempfile.TemporaryDirectory() as folder:
        places, (sandbox, scorer) = targets(Path(folder))
        for case in range(cases):
            rng = np.random.default_rng([0, case])
            place, kind = list(places)[case % len(places)], list(FORGERIES)[case // len(places) % len(FORGERIES)]
            became[attack(places[place], FORGERIES[kind](places[place].good, rng))] += 1
            peak = max(peak, *(memory_mb("VmHWM", worker.pid) for worker in (sandbox.worker, scorer.worker)))
        honest = sum(attack(target, target.good) == "taken" for target in places.values())
        scorer.close()
        sandbox.close()
    told = {"cases": cases, "refused": became["refused"], "worker crashes": became["worker died"]}
    told |= {"taken": became["taken"], "largest worker MiB": round(peak)}
    return {**told, "honest taken": f"{honest} of {len(places)}"}
