"""Do walks give the answers of a central store that has everything, or a part (DRAG table 1 and figure 2)?

20 simulated peers, with real messages, retrieval and generator; nothing is masked, as the text is public. A central
store (CRAG) is one device that holds all documents, or a share of them (S) or of their topics (T), and answers as the
peers do. Stores lie in the results folder as well: a stopped run goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pandas import DataFrame

from client_app.app import app_of
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.metrics import accuracy, exact_match, f1, normalise_answer
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.records import Answer, Document, Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.sources.base import make_document
from fedrag_flwr.sources.folder import write_documents
from simulations.bench.asking import ask_waiting
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import KeptRows, Row, this_code
from simulations.corpora.domain_data import DomainQuestion, split_of
from simulations.corpora.sentences import json_lines
from simulations.fixtures.kept_devices import KeptDevices, notes_of
from simulations.fixtures.simulated import simulated
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
DOCUMENTS = 25  # of a peer
QUESTIONS = 40  # of the dev split, each asked at a drawn peer
AT_ONCE = 20  # questions of one round
_COUNTS = ("hops", "queried", "wire", "hits")


def run(
    bench: Bench,
    peers: Annotated[str, typer.Option(help="huffpost or medquad.")] = "huffpost",
) -> None:
    """Ask the same questions of all systems."""
    if peers not in THRESHOLDS:
        raise SettingError("is no set", where=peers, fix=f"choose from {', '.join(THRESHOLDS)}")
    most = bench.sized(DOCUMENTS, 1)
    held = read_peers(peers, bench.data(), most)
    asked = held.asked("dev", bench.sized(QUESTIONS, 2), seed=0)
    root, rows = bench.out / f"{peers}-{most}", []
    for system in bench.sized(SYSTEMS, SYSTEMS[:1]):
        settings = settings_of(system, written(held, system, root), THRESHOLDS[peers], bench.changes)
        rows.append(summed(system, answers(bench, system, settings, asked)))
    bench.table(f"walks_{peers}", DataFrame(rows), f"{peers}, {len(asked)} questions")


def written(peers: Peers, system: str, root: Path) -> Path:
    """The folder of the devices' documents: those of all peers, or of one central store; written if need be."""
    folder, own = root / "peers", {peer: list(theirs) for peer, theirs in peers.documents.items()}
    if system in STORES:
        folder, own = root / system, {"centre": peers.some(*STORES[system], seed=3)}
    for device, documents in own.items():
        if not (folder / device).is_dir():
            write_documents(folder / device, documents)
    return folder


def settings_of(system: str, folder: Path, threshold: float, changes: Mapping[str, Plain]) -> Settings:
    """A run's settings over public text."""
    config: dict[str, Plain] = {
        "strategy": "flooding" if system in STORES else system,
        "baselines": "",
        "home": str(folder.parent / "home"),
        "data.root": str(folder),
        "privacy.export": "none",
        "federation.devices": len(list(folder.iterdir())),
        "federation.round-timeout": 360_000.0,
        "overlay.threshold": threshold,
        "overlay.cache-similarity": 1.1,
    }
    return Settings.from_config({**config, **changes, **WALKS.get(system, {})})


def answers(bench: Bench, system: str, settings: Settings, asked: Sequence[tuple[DomainQuestion, str]]) -> list[Row]:
    """A system's answers; those given before are read back. Another number of questions is another draw of homes.

    What its earlier walks taught the peers is taken from them before the first question.
    """
    told = hashlib.sha256(json.dumps(settings.flat(), sort_keys=True).encode()).hexdigest()[:6]
    models = load_models(settings.models, fedrag_home(settings.home))
    walker = f"answers-{system}-{len(asked)}"
    kept = KeptRows(Path(settings.home).parent / f"{walker}.jsonl", this_code(models.generator_id, f"settings={told}"))
    waiting = [pair for pair in asked if pair[0].id not in kept]
    if not kept:
        for notes in Path(settings.home).rglob(f"{notes_of(walker)}*"):
            notes.unlink()
    if waiting:
        tools, seen = ServerTools(settings), Counter[str]()
        strategy = make_strategy(settings.strategy, settings, (), tools)
        gold = {one.id: one.answer for one, _ in waiting}

        def rows_of(batch: Sequence[Question]) -> list[Row]:
            walked = {name: strategy.counts.get(f"walk-{name}", 0) - seen[name] for name in _COUNTS}
            seen.update(walked)
            took = {name: count / len(batch) for name, count in walked.items()}
            return [{**marked(strategy.answers[one.id], gold[one.id]), **took} for one in batch]

        asking = [Question(one.id, one.text[:2000], "centre" if system in STORES else home) for one, home in waiting]
        with closing(KeptDevices(walker)) as devices:
            grid = simulated(settings, app_of(devices.reply))
            ask_waiting(bench, system, strategy, tools, grid, kept, asking, AT_ONCE, rows_of)
    return [kept[one.id] for one, _ in asked]


def marked(answer: Answer, gold: str) -> Row:
    """An answer with its marks, all in [0, 1]; precision and recall count words as F1 does."""
    said, right = normalise_answer(answer.text).split(), normalise_answer(gold).split()
    common = (Counter(said) & Counter(right)).total()
    return {
        "path": answer.path,
        "EM": exact_match(answer.text, [gold]),
        "F1": f1(answer.text, [gold]),
        "precision": common / max(1, len(said)),
        "recall": common / max(1, len(right)),
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


PEERS = 20


@dataclass(frozen=True, slots=True)
class Peers:
    """Documents by peer and questions about all of them; `topic` names each peer's collection or category."""

    documents: Mapping[str, tuple[Document, ...]]
    topic: Mapping[str, str]
    questions: tuple[DomainQuestion, ...]

    def asked(self, split: str, count: int, seed: int) -> list[tuple[DomainQuestion, str]]:
        """So many questions of a split, drawn, each with the peer where it is asked."""
        rng = np.random.default_rng(seed)
        pool = [one for one in self.questions if one.split == split]
        names = sorted(self.documents)
        rows = rng.choice(len(pool), min(count, len(pool)), replace=False)
        return [(pool[row], names[int(rng.integers(len(names)))]) for row in rows]

    def some(self, share: float, by_topic: bool, seed: int) -> list[Document]:
        """The documents of a central store that holds a share of all samples, or of all topics (DRAG figure 2)."""
        rng = np.random.default_rng(seed)
        if by_topic:
            topics = sorted(set(self.topic.values()))
            kept = {topics[row] for row in rng.permutation(len(topics))[: round(share * len(topics))]}
            return [one for peer, own in sorted(self.documents.items()) if self.topic[peer] in kept for one in own]
        every = [one for _, own in sorted(self.documents.items()) for one in own]
        return [every[row] for row in rng.permutation(len(every))[: round(share * len(every))]]


def read_peers(name: str, data: Path, most: int) -> Peers:
    """Read ``medquad`` or ``huffpost`` from the folder of evaluation data, with so many documents of a peer.

    A topic is a collection or a category; the largest are cut into parts until there are 20, one for each peer.
    """
    documents, questions = {"medquad": _medquad, "huffpost": _huffpost}[name](data)
    parts = _parts(documents)
    held = {f"peer-{place:02d}": tuple(part[:most]) for place, (_, part) in enumerate(parts)}
    owner = {one.id: peer for peer, own in held.items() for one in own}
    asked = [
        DomainQuestion(key, text, answer, owner[document], document, split_of(key))
        for key, text, answer, document in questions
        if document in owner
    ]
    return Peers(held, {f"peer-{place:02d}": topic for place, (topic, _) in enumerate(parts)}, tuple(asked))


def _parts(documents: Mapping[str, Sequence[Document]]) -> list[tuple[str, Sequence[Document]]]:
    parts = sorted(documents.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:PEERS]
    while len(parts) < PEERS:
        parts.sort(key=lambda pair: (-len(pair[1]), pair[0]))
        topic, whole = parts.pop(0)
        parts += [(topic, whole[::2]), (topic, whole[1::2])]
    return sorted(parts, key=lambda pair: pair[0])


Asked = tuple[str, str, str, str]  # id, question, answer, document


def _medquad(data: Path) -> tuple[dict[str, list[Document]], list[Asked]]:
    """A document holds the first two answers about one focus; gold is an answer's first sentence."""
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    questions: list[Asked] = []
    for row in json_lines(data / "medquad.jsonl.gz"):
        name, answers = row["doc_id"].replace("/", "-"), []
        for one in row["qa"][:2]:
            words = " ".join(one["answer"].split()).split(" ")[:200]
            answers.append(" ".join(words))
            first = answers[-1].split(". ")[0]
            questions.append((f"{name}-{one['qid']}", one["question"], first, name))
        documents[row["collection"]].append(make_document(name, row["focus"], "\n\n".join(answers)))
    return documents, questions


def _huffpost(data: Path) -> tuple[dict[str, list[Document]], list[Asked]]:
    """A document says who wrote an article; the question gives its headline (DRAG 4.1)."""
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    questions: list[Asked] = []
    for place, row in enumerate(json_lines(data / "huffpost_news.jsonl.gz")):
        headline, authors = " ".join(row["headline"].split()), " ".join(row["authors"].split())
        if not headline or not authors:
            continue
        name = f"article-{place}"
        text = f'The article "{headline}" was written by {authors}. {row["short_description"]}'
        documents[row["category"]].append(make_document(name, headline, text))
        questions.append((name, f'Who wrote the article "{headline}"?', authors, name))
    return documents, questions
