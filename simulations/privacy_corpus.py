"""What the privacy evaluation attacks: memories of benchmark documents, and a partition of public names.

Memories come from dev rows, names from train rows: a name is public because it was published elsewhere, not because the
device knows it. Both are built once and kept under ``<home>/benchmarks/privacy``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from fedrag_flwr.building import Builder, BuildPlan
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.memory.distilling import Distiller
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy import SENSITIVE_TYPES, EntityPartition, build_partition, load_partition
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.records import Document, Fact, MemoryItem, silent
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.sources.benchmark import read_multihop
from fedrag_flwr.text.base import Pipeline
from fedrag_flwr.toolbox import Toolbox

DATASETS = {
    "HotpotQA": "hotpotqa.jsonl.gz",
    "2WikiMultiHopQA": "2wikimultihopqa.jsonl.gz",
    "MuSiQue": "musique.jsonl.gz",
}
DEVICE = "device-0"
LEAST_MENTIONS = 2  # a name that one train paragraph mentions once is as often a mistake of the recogniser
PARTITION_SEED = 7


def memories(
    data: Path, dataset: str, rows: int, home: Path, toolbox: Toolbox
) -> tuple[list[MemoryItem], tuple[GoldQuestion, ...]]:
    """One device's memories of the paragraphs of the first dev rows, made by rules alone, and those rows' questions."""
    benchmark = read_multihop(data / DATASETS[dataset], "dev", rows)
    encoder = toolbox.encoder
    distiller = Distiller(encoder, toolbox.generator, 0, PARTITION_SEED)
    plan = BuildPlan.of(Settings(), memories=True)
    identity = {
        "device": DEVICE,
        "encoder": encoder.id,
        "pipeline": toolbox.pipeline.id,
        "dimension": str(encoder.dimension),
    }
    with MemoryStore.open(home / f"{dataset}-{rows}", identity) as store:
        builder = Builder(DEVICE, store, encoder, toolbox.pipeline, distiller)
        builder.build(Reading(benchmark.documents, ()), plan, silent)
        return sorted(store.items(origin=DEVICE), key=lambda item: item.id), benchmark.questions


def partition_of(data: Path, size: int, home: Path, encoder: Encoder, pipeline: Pipeline) -> EntityPartition:
    """The public partition with groups of at least a size, over the names of all train rows."""
    path = home / f"partition-{size}.jsonl"
    if not path.exists():
        build_partition(_public_names(data, pipeline), encoder, size, PARTITION_SEED).save(path)
    return load_partition(path)


def _public_names(data: Path, pipeline: Pipeline) -> list[tuple[str, str]]:
    """The (type, name) pairs of the train rows' titles and texts, each name once, under its most frequent type."""
    documents: dict[str, Document] = {}
    for file in DATASETS.values():
        documents |= {document.id: document for document in read_multihop(data / file, "train").documents}
    titles = {normal_name(document.title) for document in documents.values()}
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    spelt: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for fact in _facts(documents.values(), pipeline):
        name = normal_name(fact.text)
        types[name][fact.type] += 1
        spelt[name][fact.text.strip()] += 1
    found = []
    for name, seen in types.items():
        kind = _most(seen)
        if kind in SENSITIVE_TYPES and (name in titles or seen.total() >= LEAST_MENTIONS):
            found.append((kind, _most(spelt[name])))
    return sorted(found)


def _facts(documents: Iterable[Document], pipeline: Pipeline) -> Iterable[Fact]:
    for parsed in pipeline.parse(documents):
        for part in parsed:
            yield from part.passage.facts
            title: Sequence[str] = [part.passage.title] if part.passage.title else []
            for facts in pipeline.facts(title):
                yield from (fact for fact in facts if fact.text == part.passage.title)


def _most(seen: Counter[str]) -> str:
    return min(seen, key=lambda one: (-seen[one], one))
