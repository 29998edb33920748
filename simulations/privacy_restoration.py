"""How well a reader of shared memories restores the names in them, and what the memories are still good for.

    python simulations/privacy_restoration.py --data FOLDER [--rows 60] [--attacks 30] [--mechanisms "ldp 1,none"]

FOLDER holds the multi-hop files (default: $FEDRAG_DATA). Each dataset's first dev rows give one device's memories; they
pass the export filter under each mechanism, and attackers who know mechanism and partition guess the names. A finished
cell is a row of ``privacy.json``; a second run goes on with the next, and with cells that fewer names were attacked in.
``privacy.md`` is the table of all rows. Rows hold counts, never a text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SourceError, StoreMismatchError
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.base import Generator
from fedrag_flwr.privacy import EntityPartition, SeededRandomness
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from simulations.corpora.privacy_corpus import DATASETS, Corpus, read_corpus, read_partitions
from simulations.parts.privacy_attacks import both, by_context, by_mechanism, by_reading_on, left_in_clear
from simulations.parts.privacy_model_attack import Attacker
from simulations.parts.privacy_release import Mechanism, Slot, find_slots, release
from simulations.parts.privacy_use import answer_asked, answer_own
from simulations.reporting.folders import out_folder
from simulations.reporting.privacy_table import table

MECHANISMS = (
    Mechanism("none", "none"),
    Mechanism("type-masking", "type-masking"),
    *(Mechanism(f"ldp {epsilon:g}", "ldp", epsilon, 5) for epsilon in (0.1, 0.5, 1.0, 2.0)),
    Mechanism("ldp strong", "ldp", 1.0, 26),
    Mechanism("ldp 1, nearest", "ldp", 1.0, 5, "nearest"),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """One dataset's memories with the names in them, and what all cells share."""

    dataset: str
    corpus: Corpus
    slots: list[Slot]
    partitions: dict[int, EntityPartition]
    models: Models
    generator: Generator
    attacks: int
    home: Path
    seed: int

    def named_items(self) -> list[MemoryItem]:
        """Memories with names, all of which are in the partition: what the mechanism alone does to their use."""
        bare = {slot.item.id for slot in self.slots if not slot.covered}
        return list({slot.item.id: slot.item for slot in self.slots if slot.item.id not in bare}.values())


def cell(bench: Bench, mechanism: Mechanism) -> dict[str, object]:
    """Release, attack and use one dataset's memories under one mechanism."""
    rng = np.random.default_rng(bench.seed)
    partition = bench.partitions.get(mechanism.size)
    with tempfile.TemporaryDirectory() as folder:
        source = SeededRandomness(rng)
        shared = release(bench.corpus, bench.slots, mechanism, partition, bench.models, Path(folder), source)
    attacker = Attacker(bench.generator, np.random.default_rng(bench.seed))
    covered = [slot for slot in bench.slots if slot.covered]
    attackable = covered if partition else [slot for slot in bench.slots if slot.item.id in shared.items]
    attacked = _spread(attackable, bench.attacks, bench.seed)
    row: dict[str, object] = {
        "dataset": bench.dataset,
        "mechanism": mechanism.name,
        "memories": len(bench.corpus.items),
        "released": len(shared.items),
        "withheld": dict(shared.withheld),
        "mentions": len(bench.slots),
        "covered": len(covered),
        "names": len({slot.name for slot in covered}),
        "left": asdict(left_in_clear(bench.slots, shared)),
        "own": asdict(answer_own(bench.corpus.items, shared)),
        "own_covered": asdict(answer_own(bench.named_items(), shared)),
        "asked": asdict(answer_asked(bench.corpus.questions, shared, bench.models.encoder)),
    }
    if partition is not None:
        names = {slot.name: slot for slot in covered}
        row |= by_mechanism(list(names.values()), partition, mechanism.epsilon, rng)
        row["reading_on"] = asdict(by_reading_on(covered, partition, shared, rng))
        known = (bench.dataset, len(bench.corpus.items), partition.digest[:8], bench.attacks, bench.seed)
        asked = [bench.models.generator_id, *(f"{slot.note}\x1f{slot.place}\x1f{slot.text}" for slot in attacked)]
        mark = hashlib.sha256("\x1e".join(asked).encode()).hexdigest()[:12]  # of another model, or of other names
        priors = bench.home / f"priors-{'-'.join(map(str, known))}-{mark}.json"
        if attacked:
            row |= both(attacked, partition, mechanism.epsilon, attacker, priors, rng)
    if mechanism.mode != "none" and attacked:
        row["context"] = asdict(by_context(attacked, partition, shared, attacker))
    return row


def _spread(slots: Sequence[Slot], count: int, seed: int) -> list[Slot]:
    """One memory of each of so many different names, drawn with a seed of their own: all cells attack the same."""
    order = np.random.default_rng(seed).permutation(len(slots))
    chosen: dict[str, Slot] = {}
    for number in order:
        slot = slots[number]
        if slot.place in slot.note and len(chosen) < count:
            chosen.setdefault(slot.name, slot)
    return list(chosen.values())


def run(
    data: Path, rows: int, attacks: int, seed: int, out: Path, mechanisms: Sequence[Mechanism]
) -> list[dict[str, object]]:
    """Measure what is not measured yet; every finished cell is on disk."""
    home = fedrag_home() / "benchmarks" / "privacy"
    home.mkdir(parents=True, exist_ok=True)
    models = load_models(Settings().models, fedrag_home())
    path = out / "privacy.json"
    found: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    sizes = sorted({mechanism.size for mechanism in MECHANISMS if mechanism.size})
    partitions = read_partitions(data, sizes, home, models.encoder, models.pipeline)
    public = sum(len(group.members) for group in partitions[sizes[0]].groups)
    key: dict[str, object] = {"rows": rows, "seed": seed, "public": public, "generator": models.generator_id}
    if any(row.get(name) != value for row in found for name, value in key.items()):
        raise StoreMismatchError(
            "the rows there are of other parameters, and would be lost", where=path.name, fix="choose another --out"
        )
    done = {(row["dataset"], row["mechanism"]) for row in found if int(str(row["attacks"])) >= attacks}
    generator = models.generator()
    for dataset in DATASETS:
        waiting = [mechanism for mechanism in mechanisms if (dataset, mechanism.name) not in done]
        if not waiting:
            continue
        corpus = read_corpus(data, dataset, rows, home, models)
        with tempfile.TemporaryDirectory() as folder:
            slots = find_slots(corpus, partitions[sizes[0]], models.pipeline, Path(folder))
        bench = Bench(dataset, corpus, slots, partitions, models, generator, attacks, home, seed)
        for mechanism in waiting:
            start = time.perf_counter()
            row = key | {"attacks": attacks} | cell(bench, mechanism)
            found = sorted([*(old for old in found if _cell(old) != _cell(row)), row], key=_cell)
            _write(path, json.dumps(found, indent=1) + "\n")
            _write(out / "privacy.md", table(found))
            print(f"{row['dataset']}, {row['mechanism']}: {time.perf_counter() - start:.0f} s", flush=True)
    return found


def _cell(row: dict[str, object]) -> tuple[int, int]:
    """Where a row stands in the table."""
    names = [mechanism.name for mechanism in MECHANISMS]
    return list(DATASETS).index(str(row["dataset"])), names.index(str(row["mechanism"]))


def _write(path: Path, text: str) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def main() -> None:
    """Run the evaluation and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the datasets")
    parser.add_argument("--rows", type=int, default=60, help="dev rows whose supporting paragraphs are remembered")
    parser.add_argument("--attacks", type=int, default=30, help="names that the model attacks in each cell; 0 for none")
    parser.add_argument("--mechanisms", help="names of some of them, with commas between; by default all")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    if arguments.data is None:
        files = ", ".join(DATASETS.values())
        raise SourceError("there is no data", where="--data", fix=f"name the folder with {files}, or set FEDRAG_DATA")
    wanted = arguments.mechanisms.split(",") if arguments.mechanisms else [one.name for one in MECHANISMS]
    mechanisms = [one for one in MECHANISMS if one.name in wanted]
    print(table(run(arguments.data, arguments.rows, arguments.attacks, arguments.seed, arguments.out, mechanisms)))


if __name__ == "__main__":
    main()
