"""What do members see of a device: whether it holds a document, and names that were masked?

Each of the demo's devices holds every second of its documents; the others on the same subject are held by nobody. A
member of `fedrag` has the text of one of them and sees all that it may see of the device: its shared memories, the
downloaded summaries in a byte a value, and the evidence that comes back for the vector of each sentence of the text. It
compares vectors and words. Then: which names of persons can be read in what leaves. Rows hold numbers, never a text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas import DataFrame

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.bootstrap import Interval, mean_interval
from fedrag_flwr.exchange.routing import restored, rounded
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.nodes import store_root
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.records import EvidenceRequest, EvidenceUnit, MemoryItem, OwnedRows, ShareRequest, SummaryRequest
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.text.segment import under_title
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.tables import with_interval
from simulations.corpora.sentences import whole_words
from simulations.fixtures.demo_home import NAMES, DemoHome, titled_sentences

STRONG: dict[str, Plain] = {"privacy.export": "ldp", "privacy.partition": "demo-strong", "privacy.group-size": 26}
MODES: dict[str, dict[str, Plain]] = {
    "none": {"privacy.export": "none"},
    "type-masking": {"privacy.export": "type-masking"},
    "ldp 1": {"privacy.export": "ldp"},
    "ldp strong": STRONG,
    "ldp strong, vectors": {**STRONG, "graph.share": "vector"},
}
CHANNELS = ("memories", "summaries", "evidence")
_WORD = re.compile(r"\w+")
_RUN = 3  # words that stand together
_RESAMPLES = 2000  # of the documents behind an interval


def run(bench: Bench) -> None:
    """Release everything under each mode, and attack it."""
    models = load_models(bench.settings.models, fedrag_home(bench.settings.home))
    home = LeakFixture(bench.out / "devices", bench.sized(NAMES, ("people",)), bench.sized(None, 2), step=2)
    home.prepare(models)
    kept = bench.rows("rows", models.generator_id)
    rows = [kept.row(mode, measure, home, models, mode) for mode in bench.sized(tuple(MODES), ("type-masking",))]
    for name, frame in tables(rows).items():
        bench.table(name, frame)


def member_scores(text: Text, seen: Seen, encoder: Encoder) -> dict[str, float]:
    """How much a device seems to hold a document, by channel: by vectors of sentences, by runs of words, by scores."""
    replies = seen.replies[text.name]
    shown = [[text_of(unit) for unit in given] for given in replies]
    nearest = [_nearest(vector[None], encoder.encode(told)) for vector, told in zip(text.vectors, shown, strict=True)]
    return {
        "memories by vectors": _nearest(text.vectors, np.stack([item.embedding for item in seen.memories])),
        "memories by words": _told(text.sentences, [f"{item.question} {item.answer}" for item in seen.memories]),
        "summaries by vectors": _nearest(text.vectors, seen.summary_vectors),
        "evidence by vectors": float(np.mean(nearest)),
        "evidence by words": _told(text.sentences, [one for told in shown for one in told]),
        "evidence by scores": float(np.mean([max((unit.score for unit in given), default=0.0) for given in replies])),
    }


def _nearest(vectors: Vectors, shown: Vectors) -> float:
    """Mean over sentences of the cosine to the nearest of what is shown."""
    return float((vectors @ shown.T).max(axis=1).mean()) if len(shown) else 0.0


def _told(sentences: Sequence[str], shown: Iterable[str]) -> float:
    """Share of the sentences' runs of three words that stand in what is shown."""
    runs = set().union(*map(_runs, sentences))
    known = set().union(*map(_runs, shown))
    return len(runs & known) / max(len(runs), 1)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return {tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}


def membership(scored: Sequence[Sequence[tuple[bool, float]]]) -> dict[str, float]:
    """Area under the curve over pairs of one device's documents, one held and one not, with its bootstrap interval.

    Both are drawn anew within each device. Where all pairs are won, or none, each draw says the same, so the interval
    also holds that over the held documents alone, which is a score interval there.
    """
    won, drawn, rng = [], np.zeros(_RESAMPLES), np.random.default_rng(0)
    for device in scored:  # 1 where the held document scores higher, a half where they are level
        held, others = (np.array([score for of, score in device if of == which]) for which in (True, False))
        won.append(np.heaviside(held[:, None] - others, 0.5))
    alone = mean_interval(np.concatenate([pairs.mean(axis=1) for pairs in won]), rng=rng)
    for pairs in won:
        rows, columns = (rng.integers(size, size=(_RESAMPLES, size)) for size in pairs.shape)
        drawn += pairs[rows[:, :, None], columns[:, None, :]].mean(axis=2).sum(axis=1)
    low, high = np.quantile(drawn / sum(map(len, won)), (0.025, 0.975))
    return {"auc": alone.value, "low": min(float(low), alone.low), "high": max(float(high), alone.high)}


def restoration(device: EdgeDevice, seen: Seen) -> dict[str, float]:
    """Counts of persons' names in the documents, and of those that can be read by channel."""
    persons = {normal_name(f.text) for p in device.store.passages() for f in p.facts if f.type == "PERSON"}
    shown = {channel: " | ".join(map(normal_name, texts)) for channel, texts in seen.texts().items()}
    counts: dict[str, float] = {"names": len(persons)}
    read: set[str] = set()
    for channel, text in shown.items():
        here = {name for name in persons if whole_words(name, text)}
        counts[channel] = len(here)
        read |= here
    return counts | {"anywhere": len(read)}


def measure(home: LeakFixture, models: Models, mode: str) -> Row:
    """Release everything under one mode, and attack it."""
    scored: defaultdict[str, list[list[tuple[bool, float]]]] = defaultdict(list)
    totals: Counter[str] = Counter()
    with home.opened(MODES[mode], models) as devices:
        for device in devices:
            texts = home.texts(device.name, models.encoder)
            seen = seen_of(device, texts)
            scores = [member_scores(text, seen, models.encoder) for text in texts]
            for attack in scores[0]:
                scored[attack].append([(text.held, one[attack]) for text, one in zip(texts, scores, strict=True)])
            totals.update(restoration(device, seen) | {"shared": len(seen.memories)})
    told = {attack: membership(by_device) for attack, by_device in scored.items()}
    return {"mode": mode, **totals, **{f"{one}: {what}": told[one][what] for one in told for what in told[one]}}


def tables(rows: Sequence[Row]) -> dict[str, DataFrame]:
    """Membership by attack, and names that can be read."""
    attacks = [key.removesuffix(": auc") for key in rows[0] if key.endswith(": auc")]
    areas, names = [], []
    for row in rows:
        mode = {"mode": row["mode"]}
        intervals = {a: Interval(*(row[f"{a}: {what}"] for what in ("auc", "low", "high"))) for a in attacks}
        told = {attack: with_interval(one, digits=2) for attack, one in intervals.items()}
        areas.append({**mode, "memories": row["shared"], **told})
        shares = {what: round(100 * row[what] / max(1, row["names"]), 1) for what in (*CHANNELS, "anywhere")}
        names.append({**mode, "names": row["names"], **shares})
    return {"membership": pd.DataFrame(areas), "names": pd.DataFrame(names)}


Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Text:
    """A document as an attacker has it: its sentences, and their vectors under its title, shape (n, dimension)."""

    name: str
    sentences: tuple[str, ...]
    vectors: Vectors
    held: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What a member sees of one device: texts by channel, vectors, and the replies to each sentence of a document."""

    memories: tuple[MemoryItem, ...]  # of the shared memories, this device's
    # what the server reads, and what members download in a byte a value, shape (n, dimension)
    summary_texts: tuple[str, ...]
    summary_vectors: Vectors
    # evidence, by document and then by the sentence whose vector was sent
    replies: Mapping[str, Sequence[Sequence[EvidenceUnit]]]

    def texts(self) -> dict[str, list[str]]:
        """All texts by channel."""
        return {
            "memories": [" | ".join((item.question, item.answer, *item.anchors)) for item in self.memories],
            "summaries": list(self.summary_texts),
            "evidence": [text_of(unit) for asked in self.replies.values() for given in asked for unit in given],
        }


class LeakFixture(DemoHome):
    """Devices that hold every second document; what is released is released from a copy of the stores."""

    def prepare(self, models: Models) -> None:
        """Write the folders and build the devices, where that was not done yet."""
        self.lay_out()
        for name in self.names:
            with self._open(name, self.stores, {}, models) as device:
                device.build(graph=True)

    def texts(self, name: str, encoder: Encoder) -> list[Text]:
        """The documents of a demo device, of which every second is held."""
        found = []
        for number, path in enumerate(self.documents(name)):
            title, sentences = titled_sentences(path)
            vectors = encoder.encode([under_title(title, sentence) for sentence in sentences])
            found.append(Text(path.stem, tuple(sentences), vectors, number % self.step == 0))
        return found

    @contextmanager
    def opened(self, changes: Mapping[str, Plain], models: Models) -> Iterator[list[EdgeDevice]]:
        """The devices under changed settings, over copies of their stores."""
        with self.copied() as home, ExitStack() as stack:
            yield [stack.enter_context(self._open(name, home, changes, models)) for name in self.names]

    def _open(self, name: str, home: Path, changes: Mapping[str, Plain], models: Models) -> EdgeDevice:
        """A device whose store lies in this home; memories are made by rules, and no name is public."""
        fixed: dict[str, Plain] = {"home": str(home), "data.root": str(self.folders)}
        fixed |= {"memory.tokens-per-kilotoken": 0, "privacy.public-names": ""}
        settings = Settings.from_config({**fixed, **changes})
        return EdgeDevice(name, self.folders / name, store_root(settings, name), settings, models)


def text_of(unit: EvidenceUnit) -> str:
    """A sentence of evidence under its title."""
    return under_title(unit.title, unit.text)


def seen_of(device: EdgeDevice, texts: Sequence[Text]) -> Seen:
    """What a member gets who takes all memories and summaries, and asks with the vector of every sentence."""
    items = device.giving.memories(ShareRequest(0)).items if device.settings.fedrag.has("memories") else ()
    summaries = device.giving.summaries(SummaryRequest("", (), "download")).summaries
    told = rounded((OwnedRows(device.name, len(summaries)),), np.stack([one.vector for one in summaries]))
    budget = device.settings.inference.remote_units
    replies = {}
    for text in texts:
        asked = [EvidenceRequest(f"{row}", vector, (), budget) for row, vector in enumerate(text.vectors)]
        given = device.giving.evidence(asked, "nearest").evidence
        replies[text.name] = [one.units for one in given]
    return Seen(
        items,
        tuple(one.text for one in summaries if one.text),
        np.stack([one.vector for one in restored(told)]),
        replies,
    )
