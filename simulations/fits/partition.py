"""Which names hide among which: the demo's public partitions for `privacy.export = "ldp"`.

Persons, organisations and places come from the demo corpus as the text pipeline types them, and from the demo's list of
public names; what the pipeline mistook is mended by the table beside this file. It writes ``partition.jsonl`` (groups
of at least 5, which `privacy.partition = "demo"` names) and ``partition_strong.jsonl`` (groups of at least 26, "demo-
strong"). The same corpus and models give the same files. Another federation builds its own from names that it holds to
be public.
"""

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import pandas as pd

from fedrag_flwr.demo import CORPUS, PARTITION, PARTITION_STRONG
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.policy import read_names
from fedrag_flwr.privacy.vocabulary import build_partition
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.text.pipeline import Pipeline
from simulations.bench.frame import Bench
from simulations.corpora.privacy_corpus import facts_of, frequent_names, whole_names

SIZES = {PARTITION.name: 5, PARTITION_STRONG.name: 26}
SEED = 7

# What the pipeline took for something else; names under "" are no person, organisation or place, or only a part of one.
MENDED = Path(__file__).with_name("partition_mended.json")


def run(bench: Bench) -> None:
    """Build both partitions into the folder of results, and say what they hold."""
    models = load_models(bench.settings.models, fedrag_home(bench.settings.home))
    encoder = SentenceEncoder(bench.settings.models.encoder or None, exact=True)
    entities = public_entities(models.pipeline, bench.sized(None, 12))
    counts = Counter(kind for kind, _ in entities)
    lines = []
    for name, size in SIZES.items():
        size = bench.sized(size, 2)
        partition = build_partition([entity for entity in entities if counts[entity[0]] >= size], encoder, size, SEED)
        partition.save(bench.out / name)
        lines.append(
            {"file": name, "groups": len(partition.groups), "least": size, **counts, "digest": partition.digest}
        )
    bench.table("partitions", pd.DataFrame(lines))


def public_entities(pipeline: Pipeline, most: int | None = None) -> list[tuple[str, str]]:
    """The (type, name) pairs of the demo; of its first documents alone where `most` says so."""
    table = json.loads(MENDED.read_text(encoding="utf-8"))
    mended = {normal_name(name): kind for kind, names in table.items() for name in names}
    facts = facts_of(FolderSource(CORPUS).read().documents[:most], pipeline)
    return frequent_names(chain(facts, whole_names(read_names("demo"), pipeline)), lambda *_: True, mended)
