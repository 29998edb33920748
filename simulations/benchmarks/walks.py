"""Do walks give the answers of a central store that has everything, or a part (DRAG table 1 and figure 2)?

20 simulated peers, with real messages, retrieval and generator; nothing is masked, as the text is public. A central
store (CRAG) is one device that holds all documents, or a share of them (S) or of their topics (T), and answers as the
peers do. Stores lie in the results folder as well: a stopped run goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pandas import DataFrame

from client_app.app import app_of
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.metrics import accuracy, exact_match, f1, normalise_answer
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.sources.partition import write_documents
from simulations.bench.frame import Bench
from simulations.bench.plan import named
from simulations.corpora.domain_data import DomainQuestion
from simulations.corpora.overlay_peers_data import Peers, read_peers
from simulations.fixtures.kept_devices import KeptDevices, notes_of
from simulations.reporting.kept_rows import RowFile, this_code
from strategies import ServerTools, make_strategy

THRESHOLDS = {"medquad": 0.7, "huffpost": 0.75}  # fitted on train questions
WALKS: Mapping[str, Mapping[str, Plain]] = {
    "topic-walk": {},
    "sketch-walk": {"strategy": "topic-walk", "overlay.walk": "sketch"},
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
SYSTEMS = (*WALKS, *STORES, "no-rag")
AT_ONCE = 20  # questions of one round
_COUNTS = ("hops", "queried", "wire", "hits")
Row = dict[str, Any]


def run(
    bench: Bench,
    peers: Annotated[str, typer.Option("--set", help="huffpost or medquad.")] = "huffpost",
    documents: Annotated[int, typer.Option(help="Of a peer.")] = 25,
    questions: Annotated[int, typer.Option(help="Dev questions, each asked at a drawn peer.")] = 40,
    systems: Annotated[str, typer.Option(help="Names separated by commas.")] = ",".join(SYSTEMS),
) -> None:
    """Ask the same questions of all systems."""
    if peers not in THRESHOLDS:
        raise SettingError("is no set", where=peers, fix=f"choose from {', '.join(THRESHOLDS)}")
    most = bench.sized(documents, 1)
    held = PeersOnDisk(bench, peers, most, read_peers(peers, bench.data(), most))
    asked = held.peers.asked("dev", bench.sized(questions, 2), seed=0)
    chosen = named(bench.sized(systems, "topic-walk"), SYSTEMS)
    bench.table(
        f"walks_{peers}",
        DataFrame([summed(system, answers(held, system, asked)) for system in chosen]),
        f"{peers}, {len(asked)} questions",
    )


@dataclass(frozen=True, slots=True)
class PeersOnDisk:
    """A set's peers, their documents and stores under the results folder."""

    bench: Bench
    name: str
    most: int
    peers: Peers

    @property
    def root(self) -> Path:
        """Where stores and answers are kept."""
        return self.bench.out / f"{self.name}-{self.most}"

    def folder(self, system: str) -> Path:
        """The devices' documents, written if they are not there: those of all peers, or of one central store."""
        if system in STORES:
            root, own = self.root / system, {"centre": self.peers.some(*STORES[system], seed=3)}
        else:
            root, own = self.root / "peers", {peer: list(theirs) for peer, theirs in self.peers.documents.items()}
        for device, documents in own.items():
            if not (root / device).is_dir():
                write_documents(root / device, documents)
        return root

    def forget_walks(self, walker: str) -> None:
        """Take from all peers what a walker's earlier walks taught them: they were over the same questions."""
        for notes in (self.root / "home").rglob(f"{notes_of(walker)}*"):
            notes.unlink()

    def settings(self, system: str) -> Settings:
        """A run's settings over public text."""
        folder = self.folder(system)
        config: dict[str, Plain] = {
            "strategy": "flooding" if system in STORES else system,
            "baselines": "",
            "home": str(self.root / "home"),
            "data.root": str(folder),
            "privacy.export": "none",
            "federation.devices": len(list(folder.iterdir())),
            "federation.round-timeout": 360_000.0,
            "overlay.threshold": THRESHOLDS[self.name],
            "overlay.cache-similarity": 1.1,
        }
        return Settings.from_config({**config, **self.bench.changes, **WALKS.get(system, {})})


def answers(held: PeersOnDisk, system: str, asked: Sequence[tuple[DomainQuestion, str]]) -> list[Row]:
    """A system's answers; those given before are read back. Another number of questions is another draw of homes."""
    settings = held.settings(system)
    kept = kept_answers(held, system, len(asked), settings)
    known = {row["id"]: row for row in kept.rows()}
    waiting = [pair for pair in asked if pair[0].id not in known]
    if waiting:
        walker = kept.path.stem
        if not known:
            held.forget_walks(walker)
        with closing(KeptDevices(walker)) as devices:
            for rows in _asked(devices, settings, system, waiting):
                kept.add(*rows)
                known.update({row["id"]: row for row in rows})
                held.bench.tell(f"{system}: {len(known)} of {len(asked)}")
    return [known[one.id] for one, _ in asked]


def kept_answers(held: PeersOnDisk, system: str, count: int, settings: Settings) -> RowFile:
    """A system's answers to so many questions under some settings; its walks are noted under the file's name."""
    told = hashlib.sha256(json.dumps(settings.flat(), sort_keys=True).encode()).hexdigest()[:6]
    generator_id = load_models(settings.models, fedrag_home(settings.home)).generator_id
    return RowFile(held.root / f"answers-{system}-{count}.jsonl", this_code(generator_id, f"settings={told}"))


def _asked(
    devices: KeptDevices, settings: Settings, system: str, waiting: Sequence[tuple[DomainQuestion, str]]
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
        yield [{**marked(strategy.answers[one.id], one.answer), **took} for one, _ in batch]


def marked(answer: Answer, gold: str) -> Row:
    """An answer with its marks, all in [0, 1]; precision and recall count words as F1 does."""
    said, right = normalise_answer(answer.text).split(), normalise_answer(gold).split()
    common = sum((Counter(said) & Counter(right)).values())
    return {
        "id": answer.question_id,
        "path": answer.path,
        "EM": exact_match(answer.text, [gold]),
        "F1": f1(answer.text, [gold]),
        "precision": common / len(said) if said else 0.0,
        "recall": common / len(right) if right else 0.0,
        "ACC": accuracy(answer.text, [gold]),
        "seconds": answer.cost.seconds,
    }


def summed(system: str, rows: Sequence[Row]) -> Row:
    """A system's means, in per cent where shares; what its walks took, where it walks."""
    found = DataFrame(rows)
    found["declined"] = found["path"] == "abstained"
    if system not in WALKS:
        found[list(_COUNTS)] = float("nan")
    shares = ["hits", "EM", "F1", "precision", "recall", "ACC", "declined"]
    means = found[[*_COUNTS, *shares[1:], "seconds"]].astype(float).mean()
    means[shares] *= 100
    return {"system": system, **means.round(2)}
