"""What the privacy evaluation attacks: memories of benchmark documents, and a partition of public names.

Memories come from dev rows, names from train rows: a name is public because it was published elsewhere, not because the
device knows it. Both are built once and kept beside the benchmark's rows.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from fedrag_flwr.device.builder import Builder, BuildPlan
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.ldp import SENSITIVE_TYPES
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.register import Register, read_register
from fedrag_flwr.privacy.vocabulary import EntityPartition, build_partition, load_partition
from fedrag_flwr.records import Document, Fact, MemoryItem, silent
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.text.pipeline import Pipeline
from simulations.corpora.multihop import read_multihop
from simulations.corpora.sentences import DATASETS

DEVICE = "device-0"
LEAST_MENTIONS = 2  # of names mentioned once many are other spellings, which end in one group and make it smaller
MOST_CHARS = 80  # what is longer is a list, or a sentence that the recogniser took for a name
PARTITION_SEED = 7


@dataclass(frozen=True, slots=True)
class Corpus:
    """One device's memories, sorted by id, and what its documents show to be private."""

    items: tuple[MemoryItem, ...]
    register: Register


def read_corpus(data: Path, dataset: str, rows: int, home: Path, models: Models) -> Corpus:
    """Build, or open again, the memories of the first dev rows' supporting paragraphs; made by rules alone."""
    benchmark = read_multihop(data / f"{DATASETS[dataset]}.jsonl.gz", "dev", rows)
    supporting = {document for question in benchmark.questions for document in question.documents}
    documents = tuple(document for document in benchmark.documents if document.id in supporting)
    return Corpus(*remember(documents, DEVICE, home / f"{dataset}-{rows}", models))


def remember(
    documents: tuple[Document, ...], device: str, path: Path, models: Models
) -> tuple[tuple[MemoryItem, ...], Register]:
    """Build, or open again, one device's memories, sorted by id, by rules alone; with what its documents tell."""
    encoder = models.encoder
    plan = BuildPlan.of(Settings(), memories=True)
    identity = {
        "device": device,
        "encoder": encoder.id,
        "pipeline": models.pipeline.id,
        "dimension": str(encoder.dimension),
    }
    with MemoryStore.open(path, identity) as store:
        builder = Builder(device, store, encoder, models.pipeline)
        builder.build(Reading(documents, ()), plan, silent)
        items = sorted(store.items(origin=device), key=lambda item: item.id)
        return tuple(items), read_register(store.passages())


def read_partitions(
    data: Path, sizes: Iterable[int], home: Path, encoder: Encoder, pipeline: Pipeline
) -> dict[int, EntityPartition]:
    """The public partitions with groups of at least these sizes, over the names of all train rows."""
    paths = {size: partition_path(home, size) for size in sizes}
    missing = [size for size, path in paths.items() if not path.exists()]
    names = _public_names(data, pipeline) if missing else []
    for size in missing:
        build_partition(names, encoder, size, PARTITION_SEED).save(paths[size])
    return {size: load_partition(path) for size, path in paths.items()}


def partition_path(home: Path, size: int) -> Path:
    """Where `read_partitions` keeps the partition with groups of at least so many names."""
    return home / f"partition-{size}.jsonl"


def _public_names(data: Path, pipeline: Pipeline) -> list[tuple[str, str]]:
    """The (type, name) pairs of the train rows' titles and texts."""
    documents: dict[str, Document] = {}
    for file in DATASETS.values():
        documents |= {one.id: one for one in read_multihop(data / f"{file}.jsonl.gz", "train").documents}
    titles = {normal_name(document.title) for document in documents.values()}

    def known(name: str, mentions: int) -> bool:
        return len(name) <= MOST_CHARS and (name in titles or mentions >= LEAST_MENTIONS)

    named = whole_names([one.title for one in documents.values() if one.title], pipeline)
    return frequent_names(chain(facts_of(documents.values(), pipeline), named), known)


def facts_of(documents: Iterable[Document], pipeline: Pipeline) -> Iterator[Fact]:
    """What documents name."""
    for parsed in pipeline.parse(documents):
        for part in parsed:
            yield from part.passage.facts


def whole_names(names: Sequence[str], pipeline: Pipeline) -> Iterator[Fact]:
    """Those of some names that the pipeline takes for a name as a whole."""
    for name, facts in zip(names, pipeline.facts(names), strict=True):
        yield from (fact for fact in facts if fact.text == name)


def frequent_names(
    facts: Iterable[Fact], known: Callable[[str, int], bool], mended: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """The (type, name) pairs of sensitive types, sorted: each name once, under its most frequent type and spelling.

    `known` says of a name in normal form and its mentions whether it is taken, `mended` which type it has.
    """
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    spelt: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        types[normal_name(fact.text)][fact.type] += 1
        spelt[normal_name(fact.text)][fact.text.strip()] += 1
    kinds = {name: _most(seen) for name, seen in types.items()} | dict(mended or {})
    taken = (name for name, seen in types.items() if kinds[name] in SENSITIVE_TYPES and known(name, seen.total()))
    return sorted((kinds[name], _most(spelt[name])) for name in taken)


def _most(seen: Counter[str]) -> str:
    return min(seen, key=lambda one: (-seen[one], one))
