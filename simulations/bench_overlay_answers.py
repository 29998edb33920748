"""MedQuAD and HuffPost on 20 simulated peers: answers of walks, central stores and the model alone (DRAG table 1).

    python simulations/bench_overlay_answers.py --set huffpost [--documents 25] [--questions 40] [--out docs/benchmarks]

Peers, messages, retrieval and generator are the real ones; nothing is masked, as the text is public. A central store
(CRAG) is one device that holds all documents, or 70 or 50 % of them (S) or of the topics (T), and answers as the peers
do. `overlay.threshold` was fitted on train questions (`--fit` prints that), dev questions are asked. Stores and answers
are kept under ``$FEDRAG_HOME/overlay-answers``: a stopped run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from client_app.app import app, app_of
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.metrics import accuracy, exact_match, f1, normalise_answer
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import store_root
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.sources.partition import write_documents
from simulations.corpora.overlay_peers_data import PeerQuestion, Peers, read_peers
from simulations.fixtures.kept_devices import KeptDevices, notes_of
from simulations.reporting.folders import out_folder
from simulations.reporting.privacy_table import markdown
from simulations.reporting.row_file import RowFile, this_code
from strategies import ServerTools, make_strategy

THRESHOLDS = {"medquad": 0.7, "huffpost": 0.75}
WALKS: Mapping[str, Mapping[str, Plain]] = {
    "topic-walk": {},
    "topic-walk, sketches": {"overlay.walk": "sketch", "overlay.fanout": 8},
    "random-walk": {},
    "flooding": {},
}
STORES = {
    "CRAG": (1.0, False),
    "CRAG-0.7S": (0.7, False),
    "CRAG-0.5S": (0.5, False),
    "CRAG-0.7T": (0.7, True),
    "CRAG-0.5T": (0.5, True),
}
AT_ONCE = 20  # questions of one round
_COUNTS = ("hops", "queried", "wire", "hits")


@dataclass(frozen=True, slots=True)
class Row:
    """One answer with its marks, all in [0, 1], and the means of the walk of its batch."""

    id: str
    text: str
    path: str
    em: float
    f1: float
    precision: float
    recall: float
    acc: float
    seconds: float
    walk: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class World:
    """A set's peers under ``<home>/overlay-answers``."""

    name: str
    most: int
    peers: Peers

    @property
    def root(self) -> Path:
        """Where stores and answers are kept."""
        return fedrag_home() / "overlay-answers" / f"{self.name}-{self.most}"

    def folder(self, system: str) -> Path:
        """The devices' documents, written if they are not there: those of all peers, or of one central store."""
        if system not in STORES:
            root = self.root / "peers"
            held = {peer: list(own) for peer, own in self.peers.documents.items()}
        else:
            root = self.root / system
            held = {"centre": self.peers.some(*STORES[system], seed=3)}
        for device, documents in held.items():
            if not (root / device).is_dir():
                write_documents(root / device, documents)
        return root

    def forget_walks(self, walker: str) -> None:
        """Take from all peers what a walker's earlier walks taught them: they were over the same questions."""
        for notes in (self.root / "home").rglob(f"{notes_of(walker)}*"):
            notes.unlink()

    def settings(self, system: str, threshold: float) -> Settings:
        """A run's settings over public text."""
        folder = self.folder(system)
        return Settings.from_config(
            {
                "strategy": "flooding" if system in STORES else system.split(",")[0],
                "baselines": "",
                "home": str(self.root / "home"),
                "data.root": str(folder),
                "privacy.export": "none",
                "federation.devices": len(list(folder.iterdir())),
                "federation.round-timeout": 360_000.0,
                "overlay.threshold": threshold,
                "overlay.cache-similarity": 1.1,
                **WALKS.get(system, {}),
            }
        )


def answers(world: World, system: str, asked: Sequence[tuple[PeerQuestion, str]], threshold: float) -> list[Row]:
    """A system's answers; those given before are read back. Another number of questions is another draw of homes."""
    settings = world.settings(system, threshold)
    kept = kept_answers(world, system, len(asked), settings)
    known = {row["id"]: Row(**row) for row in kept.rows()}
    waiting = [pair for pair in asked if pair[0].id not in known]
    if waiting:
        walker = kept.path.stem
        if not known:
            world.forget_walks(walker)
        with closing(KeptDevices(walker)) as devices:
            for rows in _asked(devices, settings, system, waiting):
                kept.add(*map(asdict, rows))
                known.update({row.id: row for row in rows})
                print(f"{system}: {len(known)} of {len(asked)}", flush=True)
    return [known[one.id] for one, _ in asked]


def kept_answers(world: World, system: str, count: int, settings: Settings) -> RowFile:
    """A system's answers to so many questions under some settings; its walks are noted under the file's name."""
    told = hashlib.sha256(json.dumps(settings.flat(), sort_keys=True).encode()).hexdigest()[:6]
    generator_id = load_models(settings.models, fedrag_home(settings.home)).generator_id
    path = world.root / f"answers-{system.replace(', ', '-')}-{count}.jsonl"
    return RowFile(path, this_code(generator_id, f"settings={told}"))


def _asked(
    devices: KeptDevices, settings: Settings, system: str, waiting: Sequence[tuple[PeerQuestion, str]]
) -> Iterator[list[Row]]:
    """The answers of one round after the other."""
    nodes = [{"partition-id": n} for n in range(settings.federation.devices)]
    grid = LocalGrid(app_of(devices.reply), nodes, settings.flat())
    strategy = make_strategy(settings.strategy, settings, (), ServerTools(settings))
    strategy.prepare(grid, str(grid.run.run_id))
    for start in range(0, len(waiting), AT_ONCE):
        batch = waiting[start : start + AT_ONCE]
        before = Counter(strategy.counts)
        homes = {one.id: "centre" if system in STORES else home for one, home in batch}
        strategy.ask([Question(one.id, one.text[:2000], homes[one.id]) for one, _ in batch])
        took = {
            name: (strategy.counts.get(f"walk-{name}", 0) - before[f"walk-{name}"]) / len(batch) for name in _COUNTS
        }
        yield [marked(strategy.answers[one.id], one.answer, took) for one, _ in batch]


def marked(answer: Answer, gold: str, took: Mapping[str, float]) -> Row:
    """An answer with its marks; precision and recall count words as F1 does."""
    said, right = normalise_answer(answer.text).split(), normalise_answer(gold).split()
    common = sum((Counter(said) & Counter(right)).values())
    return Row(
        answer.question_id,
        answer.text,
        answer.path,
        exact_match(answer.text, [gold]),
        f1(answer.text, [gold]),
        common / len(said) if said else 0.0,
        common / len(right) if right else 0.0,
        accuracy(answer.text, [gold]),
        answer.cost.seconds,
        took,
    )


def table(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """A line a system, in per cent where shares."""
    cells = []
    for system, found in rows.items():
        walk = ["-"] * len(_COUNTS)
        if system in WALKS:
            means = {name: float(np.mean([row.walk[name] for row in found])) for name in _COUNTS}
            walk = [*(f"{means[name]:.2f}" for name in _COUNTS[:3]), f"{100 * means['hits']:.1f}"]
        marks = [[getattr(row, name) for row in found] for name in ("em", "f1", "precision", "recall", "acc")]
        shown = [f"{100 * float(np.mean(values)):.1f}" for values in marks]
        declined = 100 * float(np.mean([row.path == "abstained" for row in found]))
        cells.append([system, *walk, *shown, f"{declined:.1f}", f"{np.mean([row.seconds for row in found]):.2f}"])
    headings = ["system", "hops", "queried", "on the wire", "hits, %", "EM", "F1", "precision", "recall", "ACC"]
    return markdown([*headings, "declined", "s a question"], cells)


def fit(world: World, count: int) -> None:
    """Print, by threshold, how many train questions their own peer misses and how many another takes, in per cent."""
    settings = world.settings("flooding", 0.0)
    grid = LocalGrid(app, [{"partition-id": n} for n in range(settings.federation.devices)], settings.flat())
    tools = ServerTools(settings)
    strategy = make_strategy("flooding", settings, (), tools)
    strategy.prepare(grid, str(grid.run.run_id))
    asked = [one for one, _ in world.peers.asked("train", count, seed=1)]
    vectors = tools.models.encoder.encode([one.text for one in asked])
    best = np.stack([_best(world, settings, tools, peer, vectors) for peer in sorted(world.peers.documents)], axis=1)
    own = np.array([sorted(world.peers.documents).index(one.peer) for one in asked])
    mine = best[np.arange(len(asked)), own]
    others = best.copy()
    others[np.arange(len(asked)), own] = -1.0
    for threshold in np.arange(0.5, 0.96, 0.05):
        missed, taken = 100 * (mine < threshold).mean(), 100 * (others.max(axis=1) >= threshold).mean()
        print(f"{threshold:.2f}: missed {missed:.1f}, taken by another {taken:.1f}")


def _best(
    world: World, settings: Settings, tools: ServerTools, peer: str, vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The best cosine of a peer's sentences to each of some vectors."""
    folder = world.folder("flooding") / peer
    with EdgeDevice(peer, folder, store_root(settings, peer), settings, tools.models) as device:
        scores: NDArray[np.float32] = (device.store.units("sentence").vectors @ vectors.T).max(axis=0)
        return scores


def main() -> None:
    """Ask what was not asked yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=tuple(THRESHOLDS), default="huffpost")
    parser.add_argument("--documents", type=int, default=25, help="of a peer")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--systems", default=";".join((*WALKS, *STORES, "no-rag")))
    parser.add_argument("--fit", action="store_true", help="print misses by threshold on train questions, and stop")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    data = arguments.data or data_root()
    if data is None:
        raise SourceError("there is no data", where="--data", fix="name its folder, or set FEDRAG_DATA")
    world = World(arguments.set, arguments.documents, read_peers(arguments.set, data, arguments.documents))
    if arguments.fit:
        fit(world, arguments.questions)
        return
    asked = world.peers.asked("dev", arguments.questions, seed=0)
    threshold = THRESHOLDS[arguments.set]
    rows = {system: answers(world, system, asked, threshold) for system in arguments.systems.split(";")}
    text = "\n".join([*table(rows), "", f"{len(asked)} questions.", ""])
    (arguments.out / f"overlay_answers_{arguments.set}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
