"""What is left of a federation's answers when names in shared memories and evidence are masked or exchanged.

    python -m simulations.bench_private_answers [--data FOLDER] [--questions 40] [--mechanisms "none,ldp 1"] [--out DIR]

FOLDER holds the three multi-hop files (default: $FEDRAG_DATA). FD-RAG (`memory-fusion`) answers the same dev questions
at the same five devices under each mechanism of `privacy_restoration.py`: memories pass the export filter as they are
shared, and evidence as owners give it; judged is what home answers, as people there read it. `local-memory` shares
nothing: what is left when nothing passes. Each dataset under each mechanism is a run of `fedrag bench` with
its log beside it; killed at any time, the same command goes on where it was. ``private_answers.md`` has the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedrag_flwr.evaluation.bootstrap import Interval
from fedrag_flwr.evaluation.measures import number, points, seconds, signed_points
from fedrag_flwr.evaluation.scoring import SystemResult
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.settings import Settings, fedrag_home
from simulations.bench.comparison import compared
from simulations.bench.plan import named
from simulations.corpora.privacy_corpus import partition_path, read_partitions
from simulations.corpora.sentences import find_data
from simulations.parts.privacy_release import Mechanism
from simulations.parts.side_by_side import Part, parser_of, run_queues, set_words, words_of
from simulations.privacy_restoration import MECHANISMS

ASKED = tuple(one for one in MECHANISMS if one.unknown == "mask")  # what the export filter does by the settings
SYSTEM, FLOOR = "memory-fusion", "local-memory"


def lane_of(
    dataset: str, asked: Sequence[Mechanism], data: Path, partitions: Mapping[int, Path], further: Sequence[str]
) -> list[Part]:
    """One dataset under some mechanisms, in turn, as they share the devices' stores.

    `partitions` has the public partitions' files by the least size of their groups.
    """
    file = str((data / f"{dataset}.jsonl.gz").resolve())
    lane = []
    for mechanism in asked:
        systems = f"{SYSTEM},{FLOOR}" if mechanism.mode == "none" else SYSTEM
        changes = [f"privacy.export={mechanism.mode}"]
        if mechanism.mode != "none":
            changes.append("privacy.share-documents=false")
        if mechanism.mode == "ldp":
            changes += [
                f"privacy.epsilon={mechanism.epsilon}",
                f"privacy.group-size={mechanism.size}",
                f"privacy.partition={partitions[mechanism.size].resolve()}",
                f"privacy.epoch={ASKED.index(mechanism)}",  # surrogates of its own
            ]
        words = ("--data", file, "--setting", "federated", "--systems", systems, *further, *set_words(changes))
        lane.append(Part(_folder(dataset, mechanism), words))
    return lane


def table(out: Path, datasets: Sequence[str], asked: Sequence[Mechanism]) -> str:
    """Mechanisms as rows: ACC with its interval, paired differences to the ends of the scale, F1, calls and seconds."""
    heads = ("dataset", "mechanism", "ACC", "ACC 95 %", f"- {FLOOR}", "- none", "F1", "LLM calls", "mean latency")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for dataset in datasets:
        runs = [_folder(dataset, mechanism) for mechanism in asked]
        systems = compared([out / run for run in runs])[0].systems
        own = {run: f"{run}/" if len(runs) > 1 else "" for run in runs}  # as `compared` names systems
        floor, plain = f"{own[runs[0]]}{FLOOR}", f"{own[runs[0]]}{SYSTEM}"
        shown = {f"{own[run]}{SYSTEM}": one.name for run, one in zip(runs, asked, strict=True)}
        for name, told in {floor: f"`{FLOOR}`, nothing shared", **shown}.items():
            lines.append(f"| {dataset} | {told} | {' | '.join(_cells(systems[name], floor, plain))} |")
    return "\n".join(lines) + "\n"


def _folder(dataset: str, mechanism: Mechanism) -> str:
    return f"{dataset}-{mechanism.name.replace(' ', '-')}"


def _cells(result: SystemResult, *others: str) -> tuple[str, ...]:
    acc = result.intervals["ACC"]
    return (
        points(result.acc),
        f"{points(acc.low)} to {points(acc.high)}",
        *(_difference(result.versus.get(other)) for other in others),
        points(result.f1),
        number(result.llm_calls),
        seconds(result.latency_s.mean),
    )


def _difference(found: Interval | None) -> str:
    if found is None:
        return "-"
    return f"{signed_points(found.value)} ({signed_points(found.low)} to {signed_points(found.high)})"


def main() -> None:
    """Run what is not done yet and write the table."""
    parser = parser_of(__doc__, "results/private-answers")
    parser.add_argument("--mechanisms", help="names of some, with commas between; `none` is always one; by default all")
    options = parser.parse_args()
    known = [one.name for one in ASKED]
    chosen = named(f"none,{options.mechanisms}", known, "mechanism") if options.mechanisms else known
    asked = [one for one in ASKED if one.name in chosen]
    data = find_data(options.data)
    partitions = _partitions(data, asked)
    queues = [lane_of(dataset, asked, data, partitions, words_of(options)) for dataset in options.datasets]
    run_queues(queues, options.jobs, options.out)
    told = table(options.out, options.datasets, asked)
    (options.out / "private_answers.md").write_text(told, encoding="utf-8")
    print(told)


def _partitions(data: Path, asked: Sequence[Mechanism]) -> dict[int, Path]:
    """The files of the partitions that `privacy_restoration.py` attacks, built if they are not there yet."""
    home = fedrag_home() / "benchmarks" / "privacy"
    home.mkdir(parents=True, exist_ok=True)
    models = load_models(Settings().models, fedrag_home())
    sizes = sorted({mechanism.size for mechanism in asked if mechanism.size})
    read_partitions(data, sizes, home, models.encoder, models.pipeline)
    return {size: partition_path(home, size) for size in sizes}


if __name__ == "__main__":
    main()
