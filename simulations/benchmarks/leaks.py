"""What do members and summaries reveal: whether a device holds a document, names that were masked, and its wording?

Each of the demo's devices holds every second of its documents; the others on the same subject are held by nobody. A
member of `fedrag` has the text of one of them and sees all that it may see of the device: its shared memories, the
downloaded summaries in a byte a value, and the evidence that comes back for the vector of each sentence of the text. It
compares vectors and words. Then: which names of persons can be read in what leaves, in clear or as the likeliest name
behind a surrogate; and how much of the documents' wording stands in the summaries. Rows hold numbers, never a text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from pandas import DataFrame

from fedrag_flwr.demo import PARTITION, PARTITION_STRONG
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.bootstrap import mean_interval
from fedrag_flwr.knowledge_graph.summaries import ExtractiveSummarizer, copied_share, longest_copy, subgraph_of
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.memory.store.graph_store import GraphStore
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy import EntityPartition, RandomisedResponse, SurrogateMemo, load_partition
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.randomised_response import keep_probability
from fedrag_flwr.settings import Plain, fedrag_home
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.fixtures.leak_fixture import LeakFixture, Seen, Text, Vectors, seen_of, text_of

MODES: dict[str, dict[str, Plain]] = {
    "none": {"privacy.export": "none"},
    "type-masking": {"privacy.export": "type-masking"},
    "ldp 1": {"privacy.export": "ldp"},
    "ldp strong": {"privacy.export": "ldp", "privacy.partition": "demo-strong", "privacy.group-size": 26},
    "ldp strong, vectors": {
        "privacy.export": "ldp",
        "privacy.partition": "demo-strong",
        "privacy.group-size": 26,
        "graph.share": "vector",
    },
}
DETAILS: dict[str, dict[str, Plain]] = {"type-masking, erased": {"graph.detail": "erased"}}
MODES |= {mode: MODES["type-masking"] | changes for mode, changes in DETAILS.items()}
COMMUNITIES = 50  # of each device whose summaries are read
DEVICES = ("launchers", "missions", "observatories", "people", "worlds")
CHANNELS = ("memories", "summaries", "evidence")
_WORD = re.compile(r"\w+")
_RUN = 3  # words that stand together
_DRAWS = 100  # of surrogates, each by a device that never drew before
_RESAMPLES = 2000  # of the documents behind an interval
_PERSON = "PERSON"


def run(
    bench: Bench,
    modes: Annotated[str, typer.Option(help="Names separated by semicolons; all without it.")] = "",
) -> None:
    """Release everything under each mode, and attack it."""
    chosen = (modes or bench.sized(";".join(mode for mode in MODES if mode not in DETAILS), "type-masking")).split(";")
    models = load_models(bench.settings.models, fedrag_home())
    fixture = LeakFixture(bench.out / "devices", models, bench.sized(DEVICES, ("people",)), bench.sized(None, 2))
    fixture.prepare()
    kept = bench.rows("rows", models.generator_id)
    rows = [kept.row(mode, partial(measure, fixture, mode)) for mode in chosen]
    for name, frame in tables(rows).items():
        bench.table(name, frame)
    shown = [mode for mode in (*chosen, *DETAILS) if MODES[mode].get("graph.share") != "vector"]
    told = [kept.row(f"wording {mode}", partial(wording, fixture, mode)) for mode in dict.fromkeys(shown)]
    bench.table("wording", pd.DataFrame(told).round(1), "What summaries copy.")


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
    also holds that over the held documents alone, which is a score interval there. And the share of held documents
    that score higher than all others of their device: nobody else is accused.
    """
    won = [_won(device) for device in scored]
    rng = np.random.default_rng(0)
    alone = mean_interval(np.concatenate([pairs.mean(axis=1) for pairs in won]), rng=rng)
    low, high = np.quantile(_areas(won, rng), (0.025, 0.975))
    above = np.concatenate([pairs.min(axis=1) == 1.0 for pairs in won])
    return {
        "auc": alone.value,
        "low": min(float(low), alone.low),
        "high": max(float(high), alone.high),
        "above all": float(above.mean()),
    }


def _won(device: Sequence[tuple[bool, float]]) -> NDArray[np.float64]:
    """Who scores higher: 1 the held document, 0 the other, a half where they are level; shape (held, others)."""
    held, others = (np.array([score for of, score in device if of == which]) for which in (True, False))
    won: NDArray[np.float64] = (held[:, None] > others) + 0.5 * (held[:, None] == others)
    return won


def _areas(won: Sequence[NDArray[np.float64]], rng: np.random.Generator) -> NDArray[np.float64]:
    """The area of each resample, every device's held and other documents drawn anew, shape (resamples,)."""
    drawn = np.zeros(_RESAMPLES)
    for pairs in won:
        held, others = (rng.integers(size, size=(_RESAMPLES, size)) for size in pairs.shape)
        drawn += pairs[held[:, :, None], others[:, None, :]].mean(axis=2).sum(axis=1)
    return drawn / sum(map(len, won))


def restoration(device: EdgeDevice, seen: Seen) -> dict[str, float]:
    """Counts of persons' names in the documents, of those that can be read by channel, and of surrogates that tell."""
    persons = {normal_name(f.text): f.text for p in device.store.passages() for f in p.facts if f.type == _PERSON}
    shown = {channel: " | ".join(map(normal_name, texts)) for channel, texts in seen.texts().items()}
    counts: dict[str, float] = {"names": len(persons)}
    read: set[str] = set()
    for channel, text in shown.items():
        here = {name for name in persons if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)}
        counts[channel] = len(here)
        read |= here
    return counts | {"anywhere": len(read)} | surrogates(device, list(persons.values()))


def surrogates(device: EdgeDevice, names: Sequence[str]) -> dict[str, float]:
    """Of names in the partition: how many there are, and how many a device gives themselves, mean of fresh draws."""
    privacy = device.settings.privacy
    if privacy.export != "ldp":
        return {"covered": 0, "kept": 0}
    partition = load_partition(PARTITION_STRONG if privacy.partition == "demo-strong" else PARTITION)
    covered = [name for name in names if partition.find(_PERSON, name) is not None]
    return {
        "covered": len(covered),
        "kept": float(np.mean([_kept(partition, privacy.epsilon, covered) for _ in range(_DRAWS)])),
    }


def _kept(partition: EntityPartition, epsilon: float, names: Sequence[str]) -> int:
    """How many of some persons' names a device that never drew before leaves as they are."""
    with TemporaryDirectory() as folder, closing(SurrogateMemo(Path(folder) / "surrogates.sqlite")) as memo:
        drawn = RandomisedResponse(partition, epsilon, memo).perturb([(_PERSON, name) for name in names])
    return sum(normal_name(one.name) == normal_name(name) for one, name in zip(drawn, names, strict=True))


def measure(fixture: LeakFixture, mode: str) -> Row:
    """Release everything under one mode, and attack it."""
    scored: defaultdict[str, list[list[tuple[bool, float]]]] = defaultdict(list)
    totals: defaultdict[str, float] = defaultdict(float)
    with fixture.opened(MODES[mode]) as devices:
        for device in devices:
            texts = fixture.texts(device.name)
            seen = seen_of(device, texts)
            scores = [member_scores(text, seen, fixture.models.encoder) for text in texts]
            for attack in scores[0]:
                scored[attack].append([(text.held, one[attack]) for text, one in zip(texts, scores, strict=True)])
            for what, count in (restoration(device, seen) | {"shared": len(seen.memories)}).items():
                totals[what] += count
    row: dict[str, float | str] = {"mode": mode, **totals}
    for attack, by_device in scored.items():
        row |= {f"{attack}: {what}": value for what, value in membership(by_device).items()}
    return row


def wording(fixture: LeakFixture, mode: str) -> Row:
    """How much of its community's sentences a summary shares, mean over the summaries of all devices."""
    figures: list[dict[str, float]] = []
    with fixture.opened(MODES[mode]) as devices:
        for device in devices:
            store = device.store
            titles = {passage.id: passage.title for passage in store.passages()}
            texts = {one.id: one.text for one in store.sentences()}
            known, graph = (
                GraphStore(store.database, device.models.encoder.dimension).communities(),
                device.graph.knowledge(),
            )
            for name in sorted(known)[:COMMUNITIES]:
                told = subgraph_of(graph, known[name].members, titles, texts)
                summary = ExtractiveSummarizer(device.settings.graph.detail).summarize(told)
                device.graph.hide.prepare({name: summary})
                for shown in device.export.release_summaries({name: summary}).items:
                    figures.append(
                        {
                            "5-grams copied %": 100 * copied_share(shown.text, told.sources),
                            "longest run": longest_copy(shown.text, told.sources),
                            "with a number %": 100.0 * any(char.isdigit() for char in shown.text),
                        }
                    )
    means = {key: float(np.mean([one[key] for one in figures])) for key in figures[0]} if figures else {}
    return {"mode": mode, "summaries": len(figures), **means}


def tables(rows: Sequence[Row]) -> dict[str, DataFrame]:
    """Membership by attack, per cent of held documents found without another accused, and names that can be read.

    Each device has so few documents that a false positive rate of 1 % means none.
    """
    attacks = [key.removesuffix(": auc") for key in rows[0] if key.endswith(": auc")]
    areas, found, names = [], [], []
    for row in rows:
        mode = {"mode": row["mode"]}
        areas.append(
            mode
            | {"memories": row["shared"]}
            | {
                a: "{:.2f} [{:.2f}, {:.2f}]".format(*(row[f"{a}: {what}"] for what in ("auc", "low", "high")))
                for a in attacks
            }
        )
        found.append(mode | {a: round(100 * float(row[f"{a}: above all"])) for a in attacks})
        shares = {
            what: round(100 * float(row[what]) / max(1.0, float(row["names"])), 1) for what in (*CHANNELS, "anywhere")
        }
        told = mode | {"names": row["names"], **shares, "in the partition": row["covered"]}
        if covered := float(row["covered"]):
            size = int(MODES[str(row["mode"])].get("privacy.group-size", 5))
            told |= {"surrogate is the name": round(100 * float(row["kept"]) / covered, 1)}
            told |= {"best possible": round(100 * keep_probability(size, 1.0), 1)}
        names.append(told)
    return {"membership": pd.DataFrame(areas), "recall": pd.DataFrame(found), "names": pd.DataFrame(names)}
