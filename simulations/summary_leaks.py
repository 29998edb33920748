"""How much of the documents' wording survives in the summaries that leave, at each level of protection.

    python simulations/summary_leaks.py --set openstax --documents 25 [--communities 50] [--model 0]

Builds the devices' graphs where they are not built yet. For communities drawn from them: the share of a summary's word
5-grams that stand in the community's sentences, the longest run of words and the longest common subsequence with one of
them, the share of summaries with a number, and of the persons whom the sentences name, those whom the summary names.
Levels: lists, and for `--model` communities the model's own sentences, each with no limit on copies, with the default
limit, and erased; as they are, and as the export filter masks them or puts surrogates in place of names. What the model
wrote is kept under the home, so a stopped run goes on. The results hold numbers, never a text.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.knowledge_graph.summaries import (
    Detail,
    ExtractiveSummarizer,
    ModelSummarizer,
    Subgraph,
    Summarizer,
    copied_share,
    longest_copy,
    subgraph_of,
)
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.store.graph_store import GraphStore
from fedrag_flwr.settings import GraphSettings
from simulations.corpora.domain_devices import DomainDevices, build
from simulations.corpora.sentences import find_data
from simulations.reporting.folders import out_folder

_WORD = re.compile(r"\w+")
_PERSON = "PERSON"
COLUMNS = (
    *("level", "summaries", "words", "5-grams copied %", "longest run, mean", "run, p95", "run, most"),
    *("subsequence, mean", "subsequence, p95", "with a number %", "persons", "told %"),
)
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Level:
    """How a summary is made, and what the export filter does to it."""

    name: str
    model: bool = False
    most_copied: float = GraphSettings().most_copied
    detail: Detail = "full"
    export: str = "none"

    def summarizer(self, models: Models) -> Summarizer:
        """What makes it."""
        lists = ExtractiveSummarizer(self.detail, self.most_copied)
        return ModelSummarizer(models.generator, lists) if self.model else lists


LEVELS = tuple(
    level
    for kind, model in (("lists", False), ("model", True))
    for level in (
        Level(f"{kind}, no limit", model, most_copied=1.0),
        Level(kind, model),
        Level(f"{kind}, masked", model, export="type-masking"),
        Level(f"{kind}, surrogates", model, export="ldp"),
        Level(f"{kind}, erased", model, detail="erased"),
        Level(f"{kind}, erased and masked", model, detail="erased", export="type-masking"),
    )
)


@dataclass(frozen=True, slots=True)
class Community:
    """A community, what is known of it, and the persons whom its sentences name."""

    id: str
    subgraph: Subgraph
    persons: frozenset[str]


def communities(device: EdgeDevice, most: int, seed: int) -> list[Community]:
    """Communities drawn from a device's graph, as summaries draw on them."""
    store = device.store
    known = list(GraphStore(store.database, device.models.encoder.dimension).communities().items())
    graph, passages = device.graph.knowledge(), store.passages()
    titles = {passage.id: passage.title for passage in passages}
    persons = {fact.text for passage in passages for fact in passage.facts if fact.type == _PERSON}
    sentences = {one.id: one.text for one in store.sentences()}
    chosen = np.random.default_rng(seed).choice(len(known), min(most, len(known)), replace=False)
    found = []
    for name, one in (known[row] for row in chosen.tolist()):
        subgraph = subgraph_of(graph, one.members, titles, sentences)
        found.append(Community(name, subgraph, frozenset(named(persons, subgraph.sources))))
    return found


def named(persons: Iterable[str], texts: Iterable[str]) -> set[str]:
    """Those persons whose name stands in one of some texts, in whole words."""
    told = [f" {' '.join(_WORD.findall(text))} " for text in texts]
    return {name for name in persons if any(f" {' '.join(_WORD.findall(name))} " in text for text in told)}


def released(device: EdgeDevice, texts: Mapping[str, str]) -> dict[str, str]:
    """Summaries by their community, as a device's export filter lets them leave."""
    device.graph.hide.prepare(texts)
    own = {device.graph.hide(name): name for name in texts}
    return {own[one.id]: one.text for one in device.export.release_summaries(texts).items}


def figures_of(text: str, community: Community) -> Figures:
    """What one summary shares with its community's sentences."""
    sources, persons = community.subgraph.sources, community.persons
    return {
        "words": len(_WORD.findall(text)),
        "copied": copied_share(text, sources),
        "run": longest_copy(text, sources),
        "common": max(common_subsequence(text, source) for source in sources),
        "number": any(char.isdigit() for char in text),
        "persons": len(persons),
        "told": len(named(persons, [text])),
    }


def common_subsequence(text: str, source: str) -> int:
    """Words of the longest subsequence that two texts have in common."""
    one, other = _WORD.findall(text.casefold()), _WORD.findall(source.casefold())
    before = [0] * (len(other) + 1)
    for word in one:
        now = [0]
        for place, told in enumerate(other, 1):
            now.append(before[place - 1] + 1 if told == word else max(before[place], now[-1]))
        before = now
    return before[-1]


def row_of(level: str, found: Sequence[Figures]) -> dict[str, str]:
    """One level's row of the table."""
    of = {name: np.array([one[name] for one in found], dtype=float) for name in found[0]}
    cells = (
        level,
        f"{len(found)}",
        f"{of['words'].mean():.0f}",
        f"{100 * of['copied'].mean():.1f}",
        f"{of['run'].mean():.1f}",
        f"{np.quantile(of['run'], 0.95):.0f}",
        f"{of['run'].max():.0f}",
        f"{of['common'].mean():.1f}",
        f"{np.quantile(of['common'], 0.95):.0f}",
        f"{100 * of['number'].mean():.1f}",
        f"{of['persons'].sum():.0f}",
        f"{100 * of['told'].sum() / max(of['persons'].sum(), 1):.1f}",
    )
    return dict(zip(COLUMNS, cells, strict=True))


def measured(made: DomainDevices, name: str, most: int, read: int, seed: int) -> dict[str, list[Figures]]:
    """One device's figures by level, of so many communities, and of those that the model reads."""
    with made.device(name) as device:
        found = communities(device, most, seed)
    figures: dict[str, list[Figures]] = {}
    for level in LEVELS:
        if not (chosen := found[:read] if level.model else found):
            continue
        summarizer = level.summarizer(made.models)
        texts = {one.id: summarizer.summarize(one.subgraph) for one in chosen}
        if level.export != "none":
            with made.device(name, made.settings(privacy__export=level.export)) as device:
                texts = released(device, texts)
        figures[level.name] = [figures_of(texts[one.id], one) for one in chosen if one.id in texts]
        print(f"{name}: {level.name}: {len(figures[level.name])} summaries", flush=True)
    return figures


def main() -> None:
    """Measure all levels and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("openstax", "medquad"), default="openstax")
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--communities", type=int, default=50, help="of each device")
    parser.add_argument("--model", type=int, default=0, help="of each device, summed up by the model")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    made = DomainDevices(arguments.set, arguments.documents, find_data(arguments.data))
    build(made, print)
    figures: defaultdict[str, list[Figures]] = defaultdict(list)
    for name in made.devices:
        own = measured(made, name, arguments.communities, arguments.model, arguments.seed)
        for level, found in own.items():
            figures[level] += found
    rows = [row_of(level, found) for level, found in figures.items() if found]
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join(row.values())} |" for row in rows]
    sizes = f"{arguments.set}, {len(made.devices)} devices with {arguments.documents or 'all'} documents each."
    (arguments.out / "summary_leaks.md").write_text("\n".join([*lines, "", sizes, ""]), encoding="utf-8")
    (arguments.out / "summary_leaks.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
