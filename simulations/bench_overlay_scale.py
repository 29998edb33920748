"""Growth of walks from 100 to 100,000 peers: peers queried, hops, hits, seconds, memory, and the exponent of growth.

    python simulations/bench_overlay_scale.py [--most 100000] [--out docs/benchmarks]

Made-up knowledge, so that nothing but the network grows: 64 topics, each known to five peers however many there are
(*few*), or each peer knowing three of them (*shared*). Whoever knows a topic holds 200 documents of it and answers any
question on it; but where only five of those who know a topic can answer a question (*hidden*), topics do not lead to
them. Barabasi-Albert, four edges a new peer, at most six hops; 500 questions, beyond 1,000 peers 200
(flooding: 50, beyond 10,000 peers 5).
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.overlay import WalkRules, gossip, make_overlay, noisy_sketch
from fedrag_flwr.overlay.simulator import Simulator
from fedrag_flwr.records import WalkKind
from fedrag_flwr.settings import fedrag_home
from simulations.bench_overlay import FANOUT
from simulations.fixtures.overlay_world import EPSILON, GOSSIP_ROUNDS, Means, ask_all
from simulations.reporting.folders import out_folder
from simulations.reporting.kept_rows import KeptRows, Row
from simulations.reporting.privacy_table import markdown
from simulations.reporting.row_file import this_code

TOPICS, DOCUMENTS, FEW, EACH = 64, 200, 5, 3
World = Literal["few", "shared", "hidden"]
KINDS: tuple[WalkKind, ...] = ("sketch", "topic", "flooding")


@dataclass(frozen=True, slots=True)
class TopicKnowledge:
    """Question i is on topic i modulo their number; `able` says who can answer, shape (peers, topics)."""

    able: NDArray[np.bool_]

    def relevance(self, question: int, peer: int) -> float:
        """1 where the peer can answer, else 0."""
        return float(self.able[peer, question % TOPICS])


def holdings(peers: int, world: World, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Who holds documents on what, and who can answer; both of shape (peers, topics)."""
    holds, answers = np.zeros((peers, TOPICS), dtype=bool), np.zeros((peers, TOPICS), dtype=bool)
    if world != "few":
        for peer in range(peers):
            holds[peer, rng.choice(TOPICS, EACH, replace=False)] = True
    for topic in range(TOPICS):
        able = np.flatnonzero(holds[:, topic]) if world != "few" else np.arange(peers)
        answers[rng.choice(able, min(FEW, len(able)), replace=False), topic] = True
    return (answers if world == "few" else holds), (holds if world == "shared" else answers)


def measured(kind: WalkKind, peers: int, world: World, epsilon: float) -> Row:
    """One network: means, seconds of drawing and gossip and of a question, and this process' peak memory so far."""
    rng = np.random.default_rng(peers)
    start = time.process_time()
    overlay = make_overlay("barabasi-albert", peers, 4, rng)
    holds, able = holdings(peers, world, rng)
    told = ()
    if kind == "sketch":
        own = noisy_sketch(np.where(holds, DOCUMENTS, 0), epsilon, rng)
        told = gossip(own, [overlay.neighbours(peer) for peer in range(peers)], GOSSIP_ROUNDS)  # type: ignore[assignment]
    made = time.process_time() - start
    questions = asked_of(kind, peers)
    topics = [{question % TOPICS: 1.0} for question in range(questions)]
    rules = WalkRules(kind, fanout=FANOUT[kind])
    simulator = Simulator(overlay, TopicKnowledge(able), topics, rules, 0.5, rng, told=told)
    start = time.process_time()
    means = Means.of(ask_all(simulator, questions))
    return {
        "queried": means.queried,
        "hops": means.hops,
        "wire": means.wire,
        "hit": means.hit,
        "made": made,
        "asked": (time.process_time() - start) / questions,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def asked_of(kind: WalkKind, peers: int) -> int:
    """How many questions a network is asked: fewer where each takes long."""
    if peers <= 1_000:
        return 500
    return 200 if kind != "flooding" else 50 if peers <= 10_000 else 5


def growth(sizes: Sequence[int], queried: Sequence[float]) -> tuple[float, float]:
    """The exponent of N in peers queried, and that of log N: slopes of straight lines through the logarithms."""
    values = np.log(queried)
    return tuple(  # type: ignore[return-value]
        round(float(np.polyfit(across, values, 1)[0]), 3)
        for across in (np.log(sizes), [math.log(math.log(size)) for size in sizes])
    )


def page(rows: Mapping[tuple[str, WalkKind, float, int], Row]) -> str:
    """The tables."""
    cells: list[list[str]] = []
    groups: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for (world, kind, epsilon, peers), row in rows.items():
        told = f"{kind}, epsilon {epsilon:g}" if kind == "sketch" else kind
        groups.setdefault((world, told), []).append((peers, float(row["queried"]), float(row["hit"])))
        numbers = (f"{row[name]:.2f}" for name in ("queried", "hops", "wire", "hit"))
        cells.append(
            [
                world,
                told,
                f"{peers:,}",
                *numbers,
                f"{row['made']:.1f}",
                f"{1000 * float(row['asked']):.2f}",
                f"{row['peak']:.0f}",
            ]
        )
    headings = [
        "topics",
        "walk",
        "peers",
        "queried",
        "hops",
        "on the wire",
        "hits, %",
        "CPU s to make",
        "ms a question",
    ]
    lines = markdown([*headings, "peak MB"], cells)
    grown = []
    for (world, told), points in groups.items():
        sizes, queried, hits = zip(*points, strict=True)
        by_size, by_log = growth(sizes, queried)
        grown.append([world, told, f"{by_size:g}", f"{by_log:g}", f"{min(hits):.1f}"])
    return "\n".join(
        [*lines, "", *markdown(["topics", "walk", "queried ~ N^", "queried ~ (log N)^", "least hits, %"], grown), ""]
    )


def main() -> None:
    """Measure what is not kept, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    kept = KeptRows(fedrag_home() / "overlay" / "scale-rows.jsonl", this_code())
    rows: dict[tuple[str, WalkKind, float, int], Row] = {}
    for peers in (size for size in (100, 1_000, 10_000, 100_000) if size <= arguments.most):
        for world in get_args(World):
            for kind in KINDS:
                for epsilon in (math.inf, EPSILON) if kind == "sketch" else (EPSILON,):
                    rows[world, kind, epsilon, peers] = kept.row(
                        f"{world} {kind} epsilon={epsilon:g} peers={peers}",
                        lambda k=kind, n=peers, w=world, e=epsilon: measured(k, n, w, e),  # type: ignore[misc]
                    )
    text = page(dict(sorted(rows.items())))
    (arguments.out / "overlay_scale.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
