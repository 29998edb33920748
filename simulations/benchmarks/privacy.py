"""Does the noise keep its promise, what do attackers restore from shared memories, and what are these still good for?

*audit*: exact ratios of the shipped partitions, and what draws alone show; a bound above epsilon is an error.
*restored*: each dataset's first dev rows give one device's memories, which pass the export filter under each mechanism;
a reader who knows mechanism and partition guesses names from surrogates, after one draw and after several. *answers*:
`memory-fusion` answers dev questions at five devices under each mechanism, beside `local-memory`, which shares nothing.
Rows hold counts, never a text.
"""

import hashlib
import hmac
import random
import secrets
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from pandas import DataFrame
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from fedrag_flwr.demo import CORPUS, PARTITION, PARTITION_STRONG
from fedrag_flwr.errors import PrivacyError
from fedrag_flwr.evaluation.bootstrap import share_interval
from fedrag_flwr.evaluation.metrics import accuracy, judge_all
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.privacy.bundles import item_bundle
from fedrag_flwr.privacy.ldp import SENSITIVE_TYPES, LocalDifferentialPrivacy
from fedrag_flwr.privacy.ledger import MEMO, SurrogateMemo
from fedrag_flwr.privacy.masks import DEFAULT_MASK_TYPES
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.policy import open_export_filter
from fedrag_flwr.privacy.randomised_response import RandomisedResponse, keep_probability, probabilities, respond
from fedrag_flwr.privacy.vocabulary import EntityPartition, load_partition
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.settings import Plain, PrivacySettings, fedrag_home
from fedrag_flwr.sources.folder import FolderSource
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.outcome import answers_of
from simulations.bench.plan import BenchPlan
from simulations.bench.run import run_plan
from simulations.corpora.privacy_corpus import (
    DEVICE,
    Corpus,
    partition_path,
    read_corpus,
    read_partitions,
    remember,
)
from simulations.corpora.sentences import DATASETS, whole_words

EPSILONS = (0.1, 0.5, 1.0, 2.0)
MASKED = tuple(dict.fromkeys((*DEFAULT_MASK_TYPES, *SENSITIVE_TYPES)))  # what FD-RAG D.3 masks, and identifiers
UPLOADS = (1, 5, 10, 50)
ROWS = 60  # dev rows of a dataset whose paragraphs are remembered
READERS = 4  # each sees draws of its own
SYSTEM, FLOOR = "memory-fusion", "local-memory"
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Partitions = Mapping[int, EntityPartition]  # by the least size of their groups


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A way to share; epsilon and the least group size only where surrogates are drawn."""

    mode: str
    epsilon: float = 1.0
    size: int = 0

    def changes(self, partition: str) -> dict[str, Plain]:
        """The settings that ask for it."""
        asked: dict[str, Plain] = {"privacy.export": self.mode, "privacy.public-names": ""}
        if self.size:
            asked |= {"privacy.epsilon": self.epsilon, "privacy.budget": self.epsilon}
            asked |= {"privacy.group-size": self.size, "privacy.partition": partition}
        return asked


MECHANISMS = {
    "none": Mechanism("none"),
    "type-masking": Mechanism("type-masking"),
    **{f"ldp {epsilon:g}": Mechanism("ldp", epsilon, 5) for epsilon in EPSILONS},
    "ldp strong": Mechanism("ldp", 1.0, 26),
}


def run(
    bench: Bench,
    questions: Annotated[int, typer.Option(help="Questions of each set that are answered; 0 for none.")] = 40,
) -> None:
    """Audit the mechanism, attack what is shared under each, and answer with it."""
    draws = bench.sized(100_000, 5_000)
    audits = [audit(path, epsilon, draws) for path in (PARTITION, PARTITION_STRONG) for epsilon in EPSILONS]
    bench.table("audit", DataFrame(audits))
    if any(max(float(one["log-ratio"]) - 1e-9, float(one["bound"])) > float(one["epsilon"]) for one in audits):
        raise PrivacyError("a bound lies above epsilon", where="randomised response")
    models = load_models(bench.settings.models, fedrag_home(bench.settings.home))
    if bench.quick:  # the datasets' public names take minutes to find
        documents = FolderSource(CORPUS / "people").read().documents[:2]
        demo = Corpus(*remember(documents, DEVICE, bench.out / "demo", models))
        shipped = {5: load_partition(PARTITION)}
        bench.table("restored", attack(bench, {"demo": lambda: demo}, ("type-masking", "ldp 1"), shipped))
        return
    partitions = read_partitions(bench.data(), (5, 26), bench.out, models.encoder, models.pipeline)
    corpora = {name: partial(read_corpus, bench.data(), name, ROWS, bench.out, models) for name in DATASETS}
    found = attack(bench, corpora, tuple(MECHANISMS), partitions)
    bench.table("restored", found, "Names in per cent of those attacked.")
    if questions:
        bench.table("answers", answers(bench, tuple(MECHANISMS), questions), "Accuracy with what was shared.")


def attack(
    bench: Bench, corpora: Mapping[str, Callable[[], Corpus]], wanted: Sequence[str], own: Partitions
) -> DataFrame:
    """Attack each dataset's memories under each mechanism."""
    models = load_models(bench.settings.models, fedrag_home(bench.settings.home))
    kept, told = bench.rows("restored", models.generator_id), []
    for dataset, read in corpora.items():
        corpus = read()
        slots = find_slots(corpus, own[5], models)
        for name in wanted:
            given = (dataset, name, corpus, slots, own.get(MECHANISMS[name].size), models)
            told.append(kept.row(f"{dataset} {name} {len(corpus.items)}", attacked, *given))
    return restored_table(told)


def audit(path: Path, epsilon: float, draws: int) -> Row:
    """Largest exact log-ratio over every pair of every group, and what the operating system's draws show."""
    sizes = [len(group.members) for group in load_partition(path).groups]
    exact = max(
        largest_log_ratio(np.stack([probabilities(size, index, epsilon) for index in range(size)]))
        for size in set(sizes)
    )
    source, size = secrets.SystemRandom(), min(sizes)
    first, second = (
        np.bincount([respond(index, size, epsilon, source) for _ in range(draws)], minlength=size)
        for index in (0, size - 1)
    )
    return {
        "partition": path.stem,
        "groups": len(sizes),
        "epsilon": epsilon,
        "log-ratio": round(exact, 12),
        "bound": round(empirical_epsilon(first, second), 4),
        "chi-square p": round(float(stats.chisquare(first, probabilities(size, 0, epsilon) * draws).pvalue), 2),
        "restored %": round(50 * float(first[0] + second[-1]) / draws, 1),  # the likeliest name is the surrogate
        "best possible %": round(100 * keep_probability(size, epsilon), 1),
    }


def largest_log_ratio(rows: Floats) -> float:
    """Exact epsilon of a mechanism: the largest log-ratio of an output's probabilities over all pairs of inputs.

    `rows`: distribution of the output for each input, shape (inputs, outputs).
    Gives infinity where an output is possible under one input and impossible under another.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rows)
        ratios = logs.max(axis=0) - logs.min(axis=0)
    return float(np.where((rows == 0).all(axis=0), 0.0, ratios).max())


def empirical_epsilon(first: Counts, second: Counts, level: float = 0.001) -> float:
    """Lower confidence bound on the epsilon of a mechanism from draws under two inputs.

    Clopper-Pearson bounds on each output's probability under each input, at a level that all of them share
    (Bonferroni), so that the bound exceeds the true epsilon with a probability of at most `level`.

    `first`, `second`: how often each output came under each input, shape (outputs,); `level`: probability of a wrong
    bound.
    """
    share = level / (4 * len(first))  # two bounds for each output, in two directions
    low, high = np.array(
        [
            [stats.binomtest(int(count), int(seen.sum())).proportion_ci(1 - 2 * share) for count in seen]
            for seen in (first, second)
        ]
    ).transpose(2, 0, 1)
    with np.errstate(divide="ignore"):
        return float(np.log(low / high[::-1]).max())


def restored(counts: Counts, index: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Tell where the member that was seen most, one of the equal by lot, is the true one: the likeliest guess.

    `counts`: how often each member was seen as a surrogate, of independent draws, shape (trials, size); `index`: the
    true member; `rng`: decides between equals.
    Gives shape (trials,).
    """
    lots = np.where(counts >= counts.max(axis=1, keepdims=True), rng.random(counts.shape), -1.0)
    right: NDArray[np.bool_] = lots.argmax(axis=1) == index
    return right


@dataclass(frozen=True, slots=True)
class Slot:
    """One name in one memory that the filter replaces."""

    item: MemoryItem
    kind: str
    text: str
    place: tuple[int, int] | None  # in the partition

    @property
    def name(self) -> str:
        """The name in normal form."""
        return normal_name(self.text)


def find_slots(corpus: Corpus, partition: EntityPartition, models: Models) -> list[Slot]:
    """Find every name of a sensitive type as the filter finds it and in full; each name once in a memory."""
    bundles = [corpus.register.tell(item_bundle(item)) for item in corpus.items]
    with tempfile.TemporaryDirectory() as folder:
        response = RandomisedResponse(partition, 1.0, SurrogateMemo(Path(folder) / MEMO))
        found = LocalDifferentialPrivacy(models.pipeline, response).entities(bundles)
    slots: dict[tuple[str, str], Slot] = {}
    for item, forms in zip(corpus.items, found, strict=True):
        for form in forms:
            if holds(item, name := normal_name(form.text)):
                place = partition.find(form.type, form.text)
                slots.setdefault((item.id, name), Slot(item, form.type, form.text, place))
    return list(slots.values())


def holds(item: MemoryItem, name: str) -> bool:
    """Whether a name in normal form can be read in a memory: in question, answer or anchors, in any case."""
    return whole_words(name, " | ".join(map(normal_name, (item.question, item.answer, *item.anchors)))) is not None


def attacked(
    dataset: str,
    name: str,
    corpus: Corpus,
    slots: Sequence[Slot],
    partition: EntityPartition | None,
    models: Models,
) -> Row:
    """Release one dataset's memories under one mechanism, guess the names in them, and ask their own questions."""
    mechanism = MECHANISMS[name]
    with tempfile.TemporaryDirectory() as folder:
        shared, surrogates = release(mechanism, corpus, slots, partition, models, Path(folder))
    hidden = [
        slot for slot in slots if slot.item.id in shared and normal_name(surrogates.get(slot.name, "")) != slot.name
    ]
    row: dict[str, Any] = {
        "dataset": dataset,
        "mechanism": name,
        "memories": len(corpus.items),
        "shared": len(shared),
        "names": len(slots),
        "covered": sum(slot.place is not None for slot in slots),
        "replaced": len(hidden),
        "readable": sum(holds(shared[slot.item.id], slot.name) for slot in hidden),
        "own right": own_questions(corpus.items, list(shared.values())),
    }
    if partition is not None:
        covered = {slot.name: slot for slot in slots if slot.place is not None}
        row |= by_mechanism(covered.values(), partition, mechanism.epsilon)
    return row


def release(
    mechanism: Mechanism,
    corpus: Corpus,
    slots: Sequence[Slot],
    partition: EntityPartition | None,
    models: Models,
    folder: Path,
) -> tuple[dict[str, MemoryItem], dict[str, str]]:
    """What passes a fresh device's filter, by the own id behind it, and the surrogate of each name that has one."""
    asked = {key.removeprefix("privacy."): value for key, value in mechanism.changes("demo").items()}
    settings, source = PrivacySettings.model_validate(asked), random.Random(7)
    tools = (models.encoder, models.pipeline, _hide, DEVICE, folder)
    export = open_export_filter(settings, *tools, mask_types=MASKED, partition=partition, source=source)
    export.names.know(corpus.register)
    own = {_hide(item.id): item.id for item in corpus.items}
    shared = {own[shown.id]: shown for shown in export.release_items(corpus.items).items}
    export.close()
    if partition is None:
        return shared, {}
    response = RandomisedResponse(partition, mechanism.epsilon, SurrogateMemo(folder / MEMO), source=source)
    covered = [slot for slot in slots if slot.place is not None]
    drawn = response.perturb([(slot.kind, slot.text) for slot in covered])
    return shared, {slot.name: one.name for slot, one in zip(covered, drawn, strict=True)}


def _hide(own_id: str) -> str:
    return hmac.new(b"benchmark", own_id.encode(), hashlib.sha256).hexdigest()[:32]


def own_questions(items: Sequence[MemoryItem], shared: Sequence[MemoryItem]) -> float:
    """Share of all memories' own questions that the nearest shared memory answers."""
    near = np.stack([item.embedding for item in items]) @ np.stack([item.embedding for item in shared]).T
    answered = [
        accuracy(shared[int(row)].answer, [item.answer]) for row, item in zip(near.argmax(1), items, strict=True)
    ]
    return float(np.mean(answered))


def by_mechanism(slots: Iterable[Slot], partition: EntityPartition, epsilon: float) -> dict[str, float]:
    """The likeliest guess from surrogates that are drawn anew for each upload, one slot a name."""
    source, rng, right = random.Random(7), np.random.default_rng(7), dict.fromkeys(UPLOADS, 0)
    theory, guesses = 0.0, 0
    for slot in slots:
        group, index = slot.place or (0, 0)
        size = len(partition.groups[group].members)
        theory += keep_probability(size, epsilon)
        drawn = [[respond(index, size, epsilon, source) for _ in range(max(UPLOADS))] for _ in range(READERS)]
        seen = np.eye(size, dtype=np.int64)[np.array(drawn)]
        guesses += READERS
        for uploads in UPLOADS:
            right[uploads] += int(restored(seen[:, :uploads].sum(axis=1), index, rng).sum())
    return {"best possible": theory * READERS, "guesses": guesses} | {f"uploads {n}": right[n] for n in UPLOADS}


def restored_table(rows: Sequence[Row]) -> DataFrame:
    """One line for each dataset and mechanism, in per cent."""
    shares = {
        "memories shared": ("shared", "memories"),
        "names covered": ("covered", "names"),
        "still readable": ("readable", "replaced"),
        "best possible": ("best possible", "guesses"),
        **{f"{count} draws": (f"uploads {count}", "guesses") for count in UPLOADS},
    }
    lines = []
    for row in rows:
        line: dict[str, object] = {"dataset": row["dataset"], "mechanism": row["mechanism"]}
        for column, (part, whole) in shares.items():
            line[column] = percent(row[part], row[whole]) if row.get(whole) else "-"
        lines.append(line | {"own questions right": round(100 * row["own right"], 1)})
    return DataFrame(lines)


def percent(right: float, of: int) -> str:
    """A share in per cent with its score interval."""
    low, high = share_interval(right, of)
    return f"{100 * right / of:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def answers(bench: Bench, wanted: Sequence[str], questions: int) -> DataFrame:
    """Accuracy of memory fusion under each mechanism, and of what shares nothing."""
    lines = []
    for name in wanted:
        one = MECHANISMS[name]
        systems = (SYSTEM, FLOOR) if one.mode == "none" else (SYSTEM,)
        changes = {**bench.changes, **one.changes(str(partition_path(bench.out, one.size).resolve()))}
        for dataset, file in DATASETS.items():
            plan = BenchPlan(
                bench.data() / f"{file}.jsonl.gz", systems, "federated", questions=questions, changes=changes
            )
            folder = bench.out / "answers" / f"{name.replace(' ', '-')}-{dataset}"
            folder.mkdir(parents=True, exist_ok=True)
            fixture, rows = run_plan(plan, folder, bench.tell)
            for system, given in answers_of(systems, fixture, rows).items():
                right = [verdict.acc for verdict in judge_all(fixture.gold, given)]
                told = {"dataset": dataset, "mechanism": name, "system": system}
                lines.append(told | {"ACC, %": percent(sum(right), len(right))})
    return DataFrame(lines)
