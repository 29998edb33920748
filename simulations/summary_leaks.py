"""How much of the documents' wording survives in the summaries that leave, at each level of protection.

    python simulations/summary_leaks.py --set openstax --documents 25 [--communities 50] [--model 0]

For communities drawn from the devices' graphs: the share of a summary's word 5-grams that stand in the community's
sentences, the longest run of words and the longest common subsequence with one of them, and the share of summaries with
a number. Levels: lists with everything (no limit on copies), with the default limit, erased; and, for `--model`
communities, the model's own sentences. Personal data is the export door's work, measured elsewhere.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.knowledge_graph.summaries import (
    ExtractiveSummarizer,
    ModelSummarizer,
    Subgraph,
    Summarizer,
    copied_share,
    longest_copy,
    subgraph_of,
)
from fedrag_flwr.memory.store.graph_store import GraphStore
from simulations.reporting.folders import out_folder
from simulations.worlds.summary_world import world

_WORD = re.compile(r"\w+")
COLUMNS = (
    *("level", "words", "5-grams copied %", "longest run, mean", "run, p95", "run, most"),
    *("subsequence, mean", "subsequence, p95", "with a number %"),
)


def subgraphs(device: EdgeDevice, most: int, seed: int) -> list[Subgraph]:
    """Communities drawn from a device's graph, as summaries draw on them."""
    store = device.store
    known = list(GraphStore(store.database, device.toolbox.encoder.dimension).communities().values())
    graph = device.graph.knowledge()
    titles = {passage.id: passage.title for passage in store.passages()}
    sentences = {one.id: one.text for one in store.sentences()}
    chosen = np.random.default_rng(seed).choice(len(known), min(most, len(known)), replace=False)
    return [subgraph_of(graph, known[row].members, titles, sentences) for row in chosen.tolist()]


def measured(level: str, summarizer: Summarizer, found: Sequence[Subgraph]) -> dict[str, str]:
    """One level's figures."""
    texts = [summarizer.summarize(one) for one in found]
    copied = [copied_share(text, one.sources) for text, one in zip(texts, found, strict=True)]
    runs = [longest_copy(text, one.sources) for text, one in zip(texts, found, strict=True)]
    common = [
        max(common_subsequence(text, source) for source in one.sources) for text, one in zip(texts, found, strict=True)
    ]
    cells = (
        level,
        f"{np.mean([len(_WORD.findall(text)) for text in texts]):.0f}",
        f"{100 * np.mean(copied):.1f}",
        f"{np.mean(runs):.1f}",
        f"{np.quantile(runs, 0.95):.0f}",
        f"{max(runs)}",
        f"{np.mean(common):.1f}",
        f"{np.quantile(common, 0.95):.0f}",
        f"{100 * np.mean([any(char.isdigit() for char in text) for text in texts]):.1f}",
    )
    print(dict(zip(COLUMNS, cells, strict=True)), flush=True)
    return {str(place): cell for place, cell in enumerate(cells)}


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
    made = world(arguments.set, arguments.documents, arguments.data)
    found: list[Subgraph] = []
    read: list[Subgraph] = []
    for name in made.devices:
        with made.device(name) as device:
            own = subgraphs(device, arguments.communities, arguments.seed)
            found += own
            read += own[: arguments.model]
    levels: list[tuple[str, Summarizer, list[Subgraph]]] = [
        ("lists, no limit", ExtractiveSummarizer("full", 1.0), found),
        ("lists", ExtractiveSummarizer("full"), found),
        ("lists, erased", ExtractiveSummarizer("erased"), found),
    ]
    if read:
        model = made.toolbox.generator
        levels += [
            ("model, no limit", ModelSummarizer(model, ExtractiveSummarizer("full", 1.0)), read),
            ("model", ModelSummarizer(model, ExtractiveSummarizer("full")), read),
        ]
    rows = [measured(*level) for level in levels]
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join(row.values())} |" for row in rows]
    lines += ["", f"{len(found)} communities; the model's levels {len(read)}.", ""]
    (arguments.out / "summary_leaks.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
