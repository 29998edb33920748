"""What a member of `fedrag` learns of another device: whether it holds a document, and the names that were masked.

    python simulations/fedrag_leaks.py [--modes "none;type-masking;..."] [--out docs/benchmarks]

Each of the demo's devices holds every second of its documents; the others on the same subject are held by nobody. A
member has the text of one of them and sees all that `fedrag` lets it see of the device: its memories in the bank, the
downloaded summaries in a byte a value, and the evidence that comes back for the vector of each sentence of the text.
It compares vectors and words. Then: which names of persons can be read in what leaves, in clear or as the likeliest
name behind a surrogate. Rows are kept under the home; a stopped run goes on. They hold numbers, never a text.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.demo import PARTITION, PARTITION_STRONG
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.bootstrap import mean_interval
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy import EntityPartition, RandomisedResponse, SurrogateMemo, load_partition
from fedrag_flwr.privacy.attack import best_possible
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from simulations.fixtures.leak_world import LeakWorld, Seen, Text, Vectors, seen_of, text_of
from simulations.reporting.folders import out_folder
from simulations.reporting.kept_rows import KeptRows, Row
from simulations.reporting.row_file import this_code

MODES: Mapping[str, Mapping[str, Plain]] = {
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
DEVICES = ("launchers", "missions", "observatories", "people", "worlds")
CHANNELS = ("memories", "summaries", "evidence")
_WORD = re.compile(r"\w+")
_RUN = 3  # words that stand together
_DRAWS = 100  # of surrogates, each by a device that never drew before
_RESAMPLES = 2000  # of the documents behind an interval
_PERSON = "PERSON"


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


def measure(world: LeakWorld, mode: str) -> Row:
    """Release everything under one mode, and attack it."""
    scored: defaultdict[str, list[list[tuple[bool, float]]]] = defaultdict(list)
    totals: defaultdict[str, float] = defaultdict(float)
    with world.opened(MODES[mode]) as devices:
        for device in devices:
            texts = world.texts(device.name)
            seen = seen_of(device, texts)
            scores = [member_scores(text, seen, world.models.encoder) for text in texts]
            for attack in scores[0]:
                scored[attack].append([(text.held, one[attack]) for text, one in zip(texts, scores, strict=True)])
            for what, count in (restoration(device, seen) | {"shared": len(seen.memories)}).items():
                totals[what] += count
    row: dict[str, float | str] = {"mode": mode, **totals}
    for attack, by_device in scored.items():
        row |= {f"{attack}: {what}": value for what, value in membership(by_device).items()}
    return row


def membership_table(rows: Sequence[Row]) -> str:
    """Areas under the curve by mode and attack, in Markdown."""
    attacks = [key.removesuffix(": auc") for key in rows[0] if key.endswith(": auc")]
    lines: list[Sequence[str]] = [("mode", "memories shared", *attacks), ("---",) * (2 + len(attacks))]
    for row in rows:
        cells = [
            f"{float(row[f'{a}: auc']):.2f} ({float(row[f'{a}: low']):.2f} to {float(row[f'{a}: high']):.2f})"
            for a in attacks
        ]
        lines.append((str(row["mode"]), f"{float(row['shared']):.0f}", *cells))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def recall_table(rows: Sequence[Row]) -> str:
    """Per cent of held documents found where no other document is accused, by mode and attack, in Markdown.

    Each device has so few documents that a false positive rate of 1 % means none.
    """
    attacks = [key.removesuffix(": above all") for key in rows[0] if key.endswith(": above all")]
    lines: list[Sequence[str]] = [("mode", *attacks), ("---",) * (1 + len(attacks))]
    lines += [(str(row["mode"]), *(f"{100 * float(row[f'{a}: above all']):.0f}" for a in attacks)) for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def restoration_table(rows: Sequence[Row]) -> str:
    """Per cent of persons' names that can be read, by mode and channel, in Markdown."""
    heads = ("mode", "names", *CHANNELS, "anywhere", "in the partition", "surrogate is the name", "best possible")
    lines: list[Sequence[str]] = [heads, ("---",) * len(heads)]
    for row in rows:
        changes = MODES[str(row["mode"])]
        cells = [f"{100 * float(row[what]) / float(row['names']):.1f}" for what in (*CHANNELS, "anywhere")]
        size, covered = int(changes.get("privacy.group-size", 5)), int(row["covered"])
        told = ["-", "-"]
        if covered:
            told = [f"{100 * float(row['kept']) / covered:.1f}", f"{100 * best_possible(size, 1.0):.1f}"]
        lines.append((str(row["mode"]), f"{float(row['names']):.0f}", *cells, str(covered), *told))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure the modes that were not measured yet, and print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default=";".join(MODES), help="some of them, with semicolons between")
    parser.add_argument("--devices", default=",".join(DEVICES), help="some of the demo's, with commas between")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    home = fedrag_home() / "fedrag-leaks"
    names = tuple(sorted(arguments.devices.split(",")))
    world = LeakWorld(home, load_models(Settings().models, fedrag_home()), names)
    kept = KeptRows(home / f"rows-{'-'.join(names)}.jsonl", this_code(world.models.generator_id))
    world.prepare()
    rows = [kept.row(mode, partial(measure, world, mode)) for mode in arguments.modes.split(";")]
    (arguments.out / "fedrag_leaks.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(membership_table(rows))
    print(recall_table(rows))
    print(restoration_table(rows))


if __name__ == "__main__":
    main()
