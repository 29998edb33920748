"""How many peers does a walk query, does it find who knows, and how does that grow (DRAG table 1, figs. 2 to 5, 7)?

Networks without messages. MMLU's 57 subjects lie with 20 to 100 peers, each size drawn three times; walks of one draw
share network and holdings. Growth from 100 to 100,000 peers is over made-up knowledge, so that only the network grows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args

import numpy as np
import typer
from numpy.typing import ArrayLike, NDArray
from pandas import DataFrame, Index, Series, concat

from fedrag_flwr.overlay.expertise import LearningRules
from fedrag_flwr.overlay.sketches import noisy_sketch
from fedrag_flwr.overlay.topology import make_overlay
from fedrag_flwr.overlay.walks import WalkRules
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import WalkKind
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import KeptRows, Row
from simulations.bench.plan import named
from simulations.overlay.simulator import (
    EPSILON,
    FANOUT,
    GOSSIP_ROUNDS,
    MEANS,
    QUESTIONS,
    THRESHOLD,
    Faults,
    MmluPeers,
    Simulator,
    SubjectKnowledge,
    ask_all,
    gossip,
)

SIZES, FEW_SIZES = (20, 40, 60, 80, 100), (20, 60, 100)
KINDS: tuple[WalkKind, ...] = ("topic", "sketch", "random", "flooding")
SEEDS = (0, 1, 2)
VARIED: dict[str, tuple[WalkKind, tuple[float, ...]]] = {  # over one draw of each of few sizes, and fewer questions
    "epsilon": ("sketch", (0.1, 0.3, 1.0, 3.0, math.inf)),
    "connectivity": ("topic", (2, 4, 6, 8)),
    "fanout": ("topic", (2, 4, 6, 8)),
}
LESS_QUESTIONS = 2_000
STEP = 500  # questions between the points of a curve
FAULTS = ((0.0, 0.0), (0.1, 0.0), (0.3, 0.0), (0.5, 0.0), (0.0, 0.1), (0.0, 0.3))  # shares of dead peers and of liars
STORES = ((1.0, "S"), (0.7, "S"), (0.5, "S"), (0.7, "T"), (0.5, "T"))  # share of all rows (S) or subjects (T)
MADE_UP_SIZES = (100, 1_000, 10_000, 100_000)
TOPICS, DOCUMENTS, FEW, EACH = 64, 200, 5, 3  # of the made-up knowledge
Knowledge = Literal["few", "shared", "hidden"]


def run(
    bench: Bench,
    tables: Annotated[str, typer.Option(help="Of walks, varied, faults, stores, scale; all without it.")] = "",
) -> None:
    """Let questions walk, and count whom they query; print a table of each kind."""
    every: dict[str, Callable[[Bench], None]] = {
        "walks": walks,
        "varied": varied,
        "faults": faults,
        "stores": stores,
        "scale": scale,
    }
    for name in named(tables or ",".join(every), tuple(every), "table"):
        every[name](bench)


_peers = cache(MmluPeers)  # for all tables


def _rows(bench: Bench, name: str) -> KeptRows:
    """Rows of runs of this size: a quick one's are none of a full one's."""
    return bench.rows(name, bench.sized("all", "quick"))


def walks(bench: Bench) -> None:
    """All walks at all sizes (table 1, figure 3), and how a topic walk shortens with questions (figure 4)."""
    mmlu, kept, rows = _peers(bench.data(), bench.sized(1, 500)), _rows(bench, "walks"), []
    for peers in bench.sized(SIZES, (20,)):
        found: list[Row] = [
            {"peers": peers, "walk": kind, **kept.row(f"{kind} {peers}", measured, mmlu, kind, peers)} for kind in KINDS
        ]
        rows += [{**row, "of flooding %": 100 * row["queried"] / found[-1]["queried"]} for row in found]
    table = DataFrame(rows)
    curves = {f"{row['peers']} peers": row["so far"] for row in rows if row["walk"] == "topic"}
    across = Index([STEP * (place + 1) for place in range(len(next(iter(curves.values()))))])
    bench.table("walks", table.drop(columns="so far").round(2))
    bench.chart("convergence", DataFrame(curves, across), "questions", "peers queried a question so far, topic walk")


def measured(
    mmlu: MmluPeers,
    kind: WalkKind,
    peers: int,
    questions: int = QUESTIONS,
    seeds: Iterable[int] = SEEDS,
    **changed: Any,
) -> Row:
    """Means over all questions and draws, over the first 500 and the last 500, and over all so far in steps of 500."""
    runs: list[DataFrame] = []
    for seed in seeds:
        simulator = mmlu.simulator(kind, peers, seed=seed, **changed)
        asked = ask_all(simulator, questions, seed)
        assert isinstance(simulator.knowledge, SubjectKnowledge)
        held, subject = simulator.knowledge.of, mmlu.subject[mmlu.chosen]
        right = [100 * (subject[row] in held.get(by, ())) for row, by in enumerate(asked["answered by"])]
        runs.append(asked.assign(**{"right %": right}))
    return {
        **dict(concat(runs)[[*MEANS, "right %"]].mean()),
        "first 500": float(concat([one[:STEP] for one in runs])["queried"].mean()),
        "last 500": float(concat([one[-STEP:] for one in runs])["queried"].mean()),
        "between draws": float(np.std([one["queried"].mean() for one in runs])),
        "so far": so_far([one["queried"] for one in runs]),
    }


def so_far(queried: Sequence[Sequence[float] | Series[float]]) -> list[float]:
    """Peers queried a question, over all questions so far of several runs, in steps of 500."""
    ends = range(STEP, len(queried[0]) + STEP, STEP)
    return [round(float(np.mean([value for one in queried for value in one[:end]])), 2) for end in ends]


def varied(bench: Bench) -> None:
    """Noise of sketches, connectivity (figure 5) and k (figure 7), one at a time."""
    mmlu, kept, rows = _peers(bench.data(), bench.sized(1, 500)), _rows(bench, "varied"), []
    for name, (kind, values) in VARIED.items():
        for value in bench.sized(values, values[:1]):
            for peers in bench.sized(FEW_SIZES, (20,)):
                change = {name: value if name == "epsilon" else int(value)}
                given = (mmlu, kind, peers, LESS_QUESTIONS, SEEDS[:1])
                found = kept.row(f"{name} {value:g} {peers}", measured, *given, **change)
                rows.append({"varied": name, "value": value, "walk": kind, "peers": peers, **found})
    bench.table("varied", DataFrame(rows)[["varied", "value", "walk", "peers", "queried", "hits %"]].round(2))


def faults(bench: Bench) -> None:
    """Dead peers never answer; liars claim everything, in sketches too. Home sees half of their junk for what it is."""
    mmlu, kept, rows = _peers(bench.data(), bench.sized(1, 500)), _rows(bench, "faults"), []
    for dead, liars in bench.sized(FAULTS, FAULTS[-1:]):
        for kind in ("topic", "sketch", "flooding"):
            for reputation in (True, False) if kind != "flooding" and (dead or liars) else (True,):
                key = f"{kind} dead={dead} liars={liars} reputation={reputation}"
                found = kept.row(key, faulty, mmlu, kind, dead, liars, reputation)
                what = {"dead %": 100 * dead, "liars %": 100 * liars, "walk": kind, "reputation": str(reputation)}
                rows.append({**what, **found})
    bench.table("faults", DataFrame(rows).round(2))


def faulty(mmlu: MmluPeers, kind: WalkKind, dead: float, liars: float, reputation: bool) -> Row:
    """Ask 100 peers of which some are dead or liars; means over all questions, in per cent where shares."""
    draw = np.random.default_rng(11).permutation(100)
    bad = frozenset(int(peer) for peer in draw[: round(100 * (dead + liars))])
    wrong = Faults(dead=bad if dead else frozenset(), liars=bad if liars else frozenset())
    simulator = mmlu.simulator(kind, 100, faults=wrong, learning=LearningRules(reputation=reputation))
    asked = ask_all(simulator, LESS_QUESTIONS)
    assert isinstance(simulator.knowledge, SubjectKnowledge)
    honest = [subject for peer, held in simulator.knowledge.of.items() if peer not in bad for subject in held]
    there = simulator.knowledge.best[: len(asked)][:, honest].max(axis=1) >= THRESHOLD
    means, last = asked.mean(), asked[-STEP:].mean()
    return {
        **dict(means[["queried", "on the wire"]]),
        "answered %": means["hits %"] - means["junk %"],
        "honest peers know %": 100 * float(there.mean()),
        "junk taken %": means["junk %"],
        "junk, last 500": last["junk %"],
        "answered, last 500": last["hits %"] - last["junk %"],
    }


def stores(bench: Bench) -> None:
    """Central stores that lack a part of all rows or subjects, beside 20 peers that hold everything (figure 2)."""
    mmlu, rows, rng = _peers(bench.data(), bench.sized(1, 500)), [], np.random.default_rng(5)
    subject = mmlu.subject
    order, subjects = rng.permutation(len(subject)), rng.permutation(len(mmlu.subjects))
    for share, kind in STORES:
        if kind == "S":
            kept = np.isin(np.arange(len(subject)), order[: round(share * len(order))])
        else:
            kept = np.isin(subject, subjects[: round(share * len(subjects))])
        rows.append({"system": f"CRAG-{share:g}{kind}", **central(mmlu, kept)})
    for walk in KINDS:
        found = _rows(bench, "walks").row(f"{walk} 20", measured, mmlu, walk, 20)
        rows.append({"system": f"{walk} walk", "hits %": found["hits %"], "right %": found["right %"]})
    bench.table("stores", DataFrame(rows).round(2))


def central(mmlu: MmluPeers, kept: NDArray[np.bool_]) -> Row:
    """Hits and right hits of a central store that holds some of the rows; a hit is right where it is the row itself."""
    known, numbers = mmlu.known[kept], np.flatnonzero(kept)
    hits = right = 0
    for start in range(0, len(mmlu.chosen), 1_000):
        part = mmlu.chosen[start : start + 1_000]
        scores = mmlu.asked[part] @ known.T
        best = scores.argmax(axis=1)
        hit = scores[np.arange(len(part)), best] >= THRESHOLD
        hits += int(hit.sum())
        right += int((hit & (numbers[best] == part)).sum())
    return {"hits %": 100 * hits / len(mmlu.chosen), "right %": 100 * right / len(mmlu.chosen)}


def scale(bench: Bench) -> None:
    """From 100 peers on, and the exponents of growth.

    *few*: each of 64 topics is known to five peers. *shared*: each peer knows three. *hidden*: as shared, but five of
    those who hold a topic can answer, so that topics do not lead to them.
    """
    kept, rows = _rows(bench, "scale"), []
    for knowledge in get_args(Knowledge):
        for kind, epsilon in (("sketch", EPSILON), ("sketch", math.inf), ("topic", EPSILON), ("flooding", EPSILON)):
            for peers in bench.sized(MADE_UP_SIZES, MADE_UP_SIZES[:1]):
                asked = bench.sized(asked_of(kind, peers), 20)
                key = f"{knowledge} {kind} epsilon={epsilon:g} peers={peers}"
                found = kept.row(key, grown, kind, peers, knowledge, epsilon, asked)
                walk = f"{kind}, epsilon {epsilon:g}" if kind == "sketch" else kind
                rows.append({"knowledge": knowledge, "walk": walk, "peers": peers, **found})
    table = DataFrame(rows)
    bench.table("scale", table.round(2))
    if table["peers"].nunique() > 1:
        groups = table.groupby(["knowledge", "walk"])
        grows = [(*name, *growth(own["peers"], own["queried"]), own["hits %"].min()) for name, own in groups]
        heads = ["knowledge", "walk", "queried ~ N^", "queried ~ (log N)^", "least hits %"]
        bench.table("growth", DataFrame(grows, columns=heads).round(3))


@dataclass(frozen=True, slots=True)
class TopicKnowledge:
    """Question i is on topic i modulo their number; `able` says who can answer, shape (peers, topics)."""

    able: NDArray[np.bool_]

    def relevance(self, question: int, peer: int) -> float:
        """1 where the peer can answer, else 0."""
        return float(self.able[peer, question % TOPICS])


def holdings(peers: int, knowledge: Knowledge, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Who holds documents on what, and who can answer; both of shape (peers, topics)."""
    holds, answers = np.zeros((peers, TOPICS), dtype=bool), np.zeros((peers, TOPICS), dtype=bool)
    if knowledge != "few":
        for peer in range(peers):
            holds[peer, rng.choice(TOPICS, EACH, replace=False)] = True
    for topic in range(TOPICS):
        able = np.flatnonzero(holds[:, topic]) if knowledge != "few" else np.arange(peers)
        answers[rng.choice(able, min(FEW, len(able)), replace=False), topic] = True
    return (answers if knowledge == "few" else holds), (holds if knowledge == "shared" else answers)


def grown(kind: WalkKind, peers: int, knowledge: Knowledge, epsilon: float, questions: int) -> Row:
    """One network: means, seconds of drawing and gossip and of a question, and this process' peak memory so far."""
    rng = np.random.default_rng(peers)
    start = time.process_time()
    overlay = make_overlay(peers, 4, rng)
    holds, able = holdings(peers, knowledge, rng)
    told = ()
    if kind == "sketch":
        own = noisy_sketch(np.where(holds, DOCUMENTS, 0), epsilon, rng)
        told = gossip(own, [overlay.neighbours(peer) for peer in range(peers)], GOSSIP_ROUNDS)  # type: ignore[assignment]
    made = time.process_time() - start
    about = [{question % TOPICS: 1.0} for question in range(questions)]
    rules = WalkRules(kind, fanout=FANOUT[kind])
    simulator = Simulator(overlay, TopicKnowledge(able), about, rules, 0.5, rng, told=told)
    start = time.process_time()
    means = ask_all(simulator, questions)[list(MEANS)].mean()
    return {
        **dict(means),
        "CPU s to make": made,
        "ms a question": 1_000 * (time.process_time() - start) / questions,
        "peak MB": peak_rss_mb(),
    }


def asked_of(kind: str, peers: int) -> int:
    """How many questions a network is asked: fewer where each takes long."""
    if peers <= 1_000:
        return 500
    return 200 if kind != "flooding" else 50 if peers <= 10_000 else 5


def growth(sizes: ArrayLike, queried: ArrayLike) -> tuple[float, float]:
    """The exponent of N in peers queried, and that of log N: slopes of straight lines through the logarithms."""
    values = np.log(queried)
    across = np.log(sizes), np.log(np.log(sizes))
    by_size, by_log = (float(np.polyfit(one, values, 1)[0]) for one in across)
    return by_size, by_log
