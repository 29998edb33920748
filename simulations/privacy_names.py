"""Persons that stand in clear under type masking: each memory read alone, and read with all others of its device.

    python simulations/privacy_names.py --data FOLDER [--rows 60] [--out docs/benchmarks]

FOLDER holds the multi-hop files (default: $FEDRAG_DATA). The recogniser sees a name in one memory and misses it in
another: alone, the other tells it. Persons are the names that recogniser and rules find in any memory of a device and
that no public list holds; what neither ever sees is not counted. Writes ``privacy_names.json`` and, as a table,
``privacy_names.md``.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fedrag_flwr.demo import CORPUS
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.privacy import Bundle, TypeMasking
from fedrag_flwr.privacy.bundles import item_bundle, item_refusal
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.normalise import normal_name, normal_names, probe
from fedrag_flwr.privacy.persons import PERSON, family_tokens, find_entities, is_written_as_name
from fedrag_flwr.privacy.policy import read_names
from fedrag_flwr.privacy.register import Register
from fedrag_flwr.records import Fact, MemoryItem
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources import FolderSource
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text import SpacyPipeline
from fedrag_flwr.text.base import Pipeline
from simulations.corpora.privacy_corpus import DATASETS, read_corpus, remember
from simulations.reporting.folders import out_folder
from simulations.reporting.privacy_table import markdown

_UNTYPED = frozenset({PERSON, "CONCEPT", "NAME"})
HEADINGS = (
    *("corpus", "reading", "memories", "kept back", "mentions of persons shared", "in clear", "persons", "in clear"),
    *("last words in clear", "newly masked", "of these typed otherwise", "microseconds a memory"),
)


@dataclass(frozen=True, slots=True)
class Device:
    """One device's memories, what its documents tell, and the names that are public in its federation."""

    corpus: str
    items: tuple[MemoryItem, ...]
    register: Register
    public: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What stands in clear of one device's persons; `mentions` and `in_clear` count a name once in a memory.

    `newly` is how many mentions go that stay when memories are read alone, `otherwise` how many of them the recogniser
    takes for something else where they stand. `seconds` go to looking for known names in all memories.
    """

    corpus: str
    reading: str
    memories: int
    kept_back: int
    mentions: int
    in_clear: int
    persons: int
    persons_in_clear: int
    last_words_in_clear: int
    newly: int
    otherwise: int
    seconds: float


class OncePipeline(SpacyPipeline):
    """Reads each text once, though it is asked for several times."""

    def __init__(self) -> None:
        super().__init__()
        self._read: dict[str, tuple[Fact, ...]] = {}

    def facts(self, texts: Sequence[str]) -> list[tuple[Fact, ...]]:
        """The typed facts of each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._read]
        self._read.update(zip(new, super().facts(new), strict=True))
        return [self._read[text] for text in texts]


def devices(data: Path, rows: int, home: Path, models: Models) -> Iterable[Device]:
    """The demo's devices with its public list, and a device for each dataset with none."""
    public = tuple(read_names("demo"))
    for folder in sorted(path for path in CORPUS.iterdir() if path.is_dir()):
        documents = FolderSource(folder).read().documents
        yield Device("demo", *remember(documents, folder.name, home / f"demo-{folder.name}", models), public)
    for dataset in DATASETS:
        corpus = read_corpus(data, dataset, rows, home, models)
        yield Device(dataset, corpus.items, corpus.register, ())


def measure(device: Device, pipeline: Pipeline) -> list[Row]:
    """Mask one device's memories both ways and look for its persons in what is left."""
    told = [device.register.tell(item_bundle(item)) for item in device.items]
    persons = _persons(told, device.public, pipeline)
    alone = [left for bundle in told for left in TypeMasking(pipeline, public_names=device.public).operate([bundle])]
    names = KnownNames()
    names.consult(device.register)
    together = TypeMasking(pipeline, public_names=device.public, names=names).operate(told)
    start = time.perf_counter()
    for bundle in told:
        names.find(bundle)
    seconds = time.perf_counter() - start
    new = [
        (bundle, name)
        for bundle, one, other in zip(told, alone, together, strict=True)
        for name in _names_in(one, persons) - _names_in(other, persons)
    ]
    otherwise = sum(_typed_otherwise(bundle, name, pipeline) for bundle, name in new)
    before = _row(device, "alone", told, alone, persons)
    after = _row(device, "with all others", told, together, persons)
    return [before, replace(after, newly=len(new), otherwise=otherwise, seconds=seconds)]


def _persons(bundles: Sequence[Bundle], public: Sequence[str], pipeline: Pipeline) -> dict[str, str]:
    """Persons by their names in normal form, with the last word of each; parts of public names are left out."""
    known = [f" {name} " for name in normal_names(public)]
    found = {form.text: None for forms in find_entities(bundles, pipeline, frozenset({PERSON})) for form in forms}
    named = [name for name in found if is_written_as_name(name, PERSON)]
    persons = {normal_name(name): (family_tokens(name) or [""])[0] for name in named}
    return {name: last for name, last in persons.items() if not any(f" {name} " in one for one in known)}


def _row(
    device: Device,
    reading: str,
    told: Sequence[Bundle],
    masked: Sequence[Bundle],
    persons: dict[str, str],
) -> Row:
    passed = [
        (bundle, left)
        for item, bundle, left in zip(device.items, told, masked, strict=True)
        if not item_refusal(item, left)
    ]
    held = [(name, left) for bundle, left in passed for name in _names_in(bundle, persons)]
    clear = [name for _, left in passed for name in _names_in(left, persons)]
    last = sum(_stands(left, persons[name]) for name, left in held)
    return Row(
        corpus=device.corpus,
        reading=reading,
        memories=len(told),
        kept_back=len(told) - len(passed),
        mentions=len(held),
        in_clear=len(clear),
        persons=len(persons),
        persons_in_clear=len(set(clear)),
        last_words_in_clear=last,
        newly=0,
        otherwise=0,
        seconds=0.0,
    )


def _names_in(bundle: Bundle, persons: Iterable[str]) -> set[str]:
    """The persons whose names can be read in a bundle, in any case."""
    text = " | ".join(" ".join(map(normal_name, probe(text).split())) for text in (*bundle.prose, *bundle.anchors))
    return {name for name in persons if name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)}


def _stands(bundle: Bundle, word: str) -> bool:
    """Whether a name's last word stands in the prose as it is written there."""
    return bool(word) and any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", probe(text)) for text in bundle.prose)


def _typed_otherwise(bundle: Bundle, name: str, pipeline: Pipeline) -> bool:
    facts = pipeline.facts([" ".join(bundle.prose)])[0]
    return any(normal_name(fact.text) == name and fact.type not in _UNTYPED for fact in facts)


def _sum(rows: Sequence[Row]) -> Row:
    """One row for a corpus of several devices."""
    counts = {key: sum(getattr(row, key) for row in rows) for key in Row.__slots__ if key not in ("corpus", "reading")}
    return Row(rows[0].corpus, rows[0].reading, **counts)


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    return "\n".join(
        markdown(
            HEADINGS,
            [
                [
                    row.corpus,
                    row.reading,
                    str(row.memories),
                    str(row.kept_back),
                    str(row.mentions),
                    _part(row.in_clear, row.mentions),
                    str(row.persons),
                    _part(row.persons_in_clear, row.persons),
                    _part(row.last_words_in_clear, row.mentions),
                    str(row.newly) if row.reading != "alone" else "-",
                    str(row.otherwise) if row.reading != "alone" else "-",
                    f"{1e6 * row.seconds / row.memories:.0f}" if row.reading != "alone" else "-",
                ]
                for row in rows
            ],
        )
    )


def _part(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "0"


def main() -> None:
    """Measure all corpora and write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the datasets")
    parser.add_argument("--rows", type=int, default=60, help="dev rows whose supporting paragraphs are remembered")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    home = fedrag_home() / "benchmarks" / "privacy"
    home.mkdir(parents=True, exist_ok=True)
    models = load_models(Settings().models, fedrag_home())
    found: dict[tuple[str, str], list[Row]] = {}
    for device in devices(arguments.data, arguments.rows, home, models):
        for row in measure(device, OncePipeline()):
            found.setdefault((row.corpus, row.reading), []).append(row)
    rows = [_sum(group) for group in found.values()]
    (arguments.out / "privacy_names.json").write_text(
        json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8"
    )
    (arguments.out / "privacy_names.md").write_text(table(rows) + "\n", encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
