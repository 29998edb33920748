"""Whether answers get better where the Cognizer's evidence comes through the controller.

    python simulations/bench_controller_answers.py [--data FOLDER] [--split dev] [--limit 25] [--ways WAY ...]
        [--generator NAME] [--seed 7] [--out docs/benchmarks]

Each question has a device with its own 10 or 20 paragraphs, and is answered without any memory. In four ways the
sentences that the Cognizer reads come from the whole device (the nearest ones, the default), or from the five
paragraphs that come first by the best first stage alone, by the controller that ``bench_controller.py`` chooses (all
first stages and the second hop, one controller for all sets), or by the controller that is shipped. Which first stage
is best was seen on the training rows, on which the controllers were fitted too; with ``--split train`` each row is
ordered by a controller fitted without it. Everything after the choice of paragraphs is the same: the reader, the
model's prompt, four sentences of evidence at least, and ten where the model finds no answer in these. Two ways more are
the paper's protocol: the five paragraphs by the first stage and by the controller go to the model whole, within the
baselines' 400 words, in one call. Nothing is too far to be answered. The sets take turns, each answer is kept under
``$FEDRAG_HOME/benchmarks``, and a stopped run goes on. Rows hold figures and ids, no text. In brackets 95 %
paired-bootstrap intervals over questions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedrag_flwr.baselines.substrate import Limits
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.metrics import accuracy, exact_match, f1
from fedrag_flwr.inference.cognizer import Cognizer
from fedrag_flwr.inference.evidence import EvidenceOrder
from fedrag_flwr.inference.support import within
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from fedrag_flwr.records import ChosenPath, EvidenceUnit, Question
from fedrag_flwr.retrieval import RankedPassage, Ranking
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.text.segment import document_of
from simulations.bench_cognizer import Bench
from simulations.bench_controller import best_first_stage, difference, shown, table
from simulations.corpora.reader_corpus import rows_of
from simulations.corpora.sentences import DATASETS, find_data
from simulations.parts.candidate_rankings import FIRST_STAGES, SECOND_HOP, ranked_questions
from simulations.parts.controller_variants import (
    ALL,
    TOGETHER,
    Order,
    Split,
    ids,
    measures,
    one_for_all,
)
from simulations.reporting.folders import out_folder
from simulations.reporting.row_file import RowFile, this_code

NEAREST, FIRST, FITTED, SHIPPED = "nearest sentences", "best first stage", "controller", "shipped controller"
WHOLE = {FIRST: f"{FIRST}, whole", FITTED: f"{FITTED}, whole"}
WAYS = (NEAREST, FIRST, FITTED, SHIPPED, *WHOLE.values())
PAIRS = (
    (WHOLE[FITTED], WHOLE[FIRST]),
    (FITTED, FIRST),
    (SHIPPED, FIRST),
    (FITTED, NEAREST),
    (SHIPPED, NEAREST),
    (FIRST, NEAREST),
)
SOURCES = TOGETHER[f"{ALL} + {SECOND_HOP}"]
TRAIN = 100  # rows that controllers are fitted on, as in `bench_controller`


@dataclass(frozen=True, slots=True)
class Row:
    """One answer: how right it is, in [0, 1], whether the model was asked, and how many gold paragraphs were read."""

    dataset: str
    question_id: str
    way: str
    f1: float
    em: float
    acc: float
    calls: int
    gold_read: float


@dataclass(frozen=True, slots=True)
class FixedOrder:
    """The passages of documents in an order that was made before."""

    store: MemoryStore
    documents: Order

    def rank(self, question: str, most: int) -> Ranking:
        """The passages of the first so many documents."""
        chosen = [name for document in self.documents[:most] for name in self.store.contribution(document).passages]
        return tuple(RankedPassage(name, -float(place)) for place, name in enumerate(chosen))

    def paths(self, question: str, passages: Sequence[str]) -> tuple[ChosenPath, ...]:
        """None: the order is not explained."""
        return ()


def orders(splits: Mapping[str, Split], *, held_out: bool) -> dict[str, dict[str, Order]]:
    """Each asked question's paragraphs by the best first stage of its set and by the controller.

    Asked are the train rows, each ordered by a controller that was fitted without it, or else the dev rows.
    """
    found = {}
    for dataset, (known, new) in one_for_all(splits, SOURCES).items():
        split = splits[dataset]
        on_train = {name: measures([ids(q.rankings[name]) for q in split.train], split.train) for name in FIRST_STAGES}
        best = best_first_stage(on_train)
        print(f"{dataset}: best first stage on the training rows: {best}", flush=True)
        asked, by_controller = (split.train, known) if held_out else (split.dev, new)
        for question, order in zip(asked, by_controller, strict=True):
            found[question.id] = {FIRST: ids(question.rankings[best]), FITTED: order}
    return found


def answered(
    bench: Bench, dataset: str, fields: Mapping[str, Any], chosen: Mapping[str, Order], missing: Sequence[str]
) -> list[Row]:
    """Answer a question in the ways that are missing."""
    question = Question(fields["id"], fields["question"].strip(), "home")
    rows = []
    for order, way in WHOLE.items():
        if way in missing:
            units = whole_paragraphs(fields, chosen[order])
            analysis = bench.toolbox.pipeline.question(question.text)
            cognizer = Cognizer.of(bench.settings, bench.toolbox.generator)
            verdict = cognizer.answer(question.text, analysis, units, always=True)
            rows.append(_row(dataset, fields, way, verdict.text, verdict.cost.llm_calls, units))
    by_sentences = [way for way in missing if way not in WHOLE.values()]
    if not by_sentences:
        return rows
    with bench.device(fields) as device:
        device.build(memories=False)
        engine = device.engine_over("none")
        first = engine.leads.limits.passages
        for way in by_sentences:
            answer = replace(engine, order=_order(device, way, chosen), ordered=first).finish(question, ())
            rows.append(_row(dataset, fields, way, answer.text, answer.cost.llm_calls, answer.evidence))
    return rows


def whole_paragraphs(fields: Mapping[str, Any], order: Order) -> list[EvidenceUnit]:
    """The first paragraphs of an order, as much as the baselines' budget of words holds."""
    limits = Limits()
    names = [int(place) for place in order[: limits.passages]]
    given = [(f"p{place}", fields["paragraphs"][place]) for place in names]
    return within(
        [EvidenceUnit(name, one["text"], "home", 0.0, one["title"] or "") for name, one in given], limits.words
    )


def _row(
    dataset: str, fields: Mapping[str, Any], way: str, text: str, calls: int, evidence: Sequence[EvidenceUnit]
) -> Row:
    golds = [fields["answer"], *fields["aliases"]]
    supporting = {f"p{place}" for place, one in enumerate(fields["paragraphs"]) if one["is_supporting"]}
    read = {document_of(unit.id) for unit in evidence}
    right = (f1(text, golds), exact_match(text, golds), accuracy(text, golds))
    return Row(dataset, fields["id"], way, *right, calls, len(read & supporting) / len(supporting))


def _order(device: EdgeDevice, way: str, chosen: Mapping[str, Order]) -> EvidenceOrder | None:
    if way == NEAREST:
        return None
    if way == SHIPPED:
        return device.orders.by("controller")
    return FixedOrder(device.store, tuple(f"p{int(place)}" for place in chosen[way]))


def summary(rows: Sequence[Row], seed: int, ways: Sequence[str] = WAYS) -> tuple[str, dict[str, object]]:
    """Tables of means and of paired differences in F1 of some ways, with their figures."""
    pairs = [pair for pair in PAIRS if set(pair) <= set(ways)]
    means, gains = [], []
    kept: dict[str, object] = {}
    for dataset in (*DATASETS, "all"):
        own = [row for row in rows if dataset in (row.dataset, "all")]
        by_way = {
            way: sorted((r for r in own if r.way == way), key=lambda r: (r.dataset, r.question_id)) for way in ways
        }
        if not own:
            continue
        figures = {way: {k: _mean(found, k) for k in ("f1", "em", "acc", "gold_read")} for way, found in by_way.items()}
        count = str(len(by_way[ways[0]]))
        for way, found in by_way.items():
            cells = [f"{value:.1f}" for value in figures[way].values()]
            means.append([dataset, count, way, *cells, f"{np.mean([row.calls for row in found]):.2f}"])
        values = {way: np.array([100 * row.f1 for row in found]) for way, found in by_way.items()}
        gained = {f"{a} - {b}": difference(values[a], values[b], seed) for a, b in pairs}
        gains.append([dataset, count, *(shown(gain) for gain in gained.values())])
        kept[dataset] = {"questions": int(count), "means": figures, "f1": {k: asdict(v) for k, v in gained.items()}}
    columns = ["dataset", "questions", "evidence from", "F1", "EM", "ACC", "gold paragraphs read", "LLM calls"]
    told = table(["F1", "questions", *(f"{a} - {b}" for a, b in pairs)], gains)
    return f"{table(columns, means)}\n\n{told}", kept


def _mean(rows: Sequence[Row], name: str) -> float:
    return 100.0 * float(np.mean([getattr(row, name) for row in rows]))


def kept_answers(home: Path, split: str, generator_id: str, seed: int) -> RowFile:
    """Answers by one generator over paragraphs in the order of controllers that were fitted with one seed."""
    path = home / "benchmarks" / f"controller-answers-{split}-{generator_id.replace('@', '-')}.jsonl"
    return RowFile(path, this_code(generator_id, f"seed={seed}"))


def main() -> None:
    """Answer what was not answered yet, print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--split", choices=("dev", "train"), default="dev")
    parser.add_argument("--limit", type=int, default=25, help="questions of each set")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="which to answer and compare")
    parser.add_argument("--generator", default=DEFAULT_GENERATOR)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=out_folder, default=None)
    options = parser.parse_args()
    data, home = find_data(options.data), fedrag_home()
    config = {
        "models.generator": options.generator,
        "inference.abstain-below": -1.0,
        "inference.free-answers": True,
        "inference.least-units": 4,
        "inference.second-look": 10,
        "memory.tokens-per-kilotoken": 0,
    }
    bench = Bench.of(Settings.from_config(config), home, memories=False)
    kept = kept_answers(home, options.split, bench.toolbox.generator_id, options.seed)
    rows = {(row.question_id, row.way): row for row in (Row(**one) for one in kept.rows())}
    held_out = options.split == "train"
    limit = min(options.limit, TRAIN) if held_out else options.limit
    splits = {
        name: Split(
            ranked_questions(data, name, "train", TRAIN),
            [] if held_out else ranked_questions(data, name, "dev", limit),
            options.seed,
        )
        for name in DATASETS
    }
    chosen = orders(splits, held_out=held_out)
    asked = [
        (dataset, number, fields)
        for dataset, file in DATASETS.items()
        for number, fields in enumerate(rows_of(data / f"{file}.jsonl.gz", options.split, limit))
    ]
    for done, (dataset, _, fields) in enumerate(sorted(asked, key=lambda one: one[1]), 1):
        missing = [way for way in options.ways if (fields["id"], way) not in rows]
        for row in answered(bench, dataset, fields, chosen[fields["id"]], missing) if missing else []:
            rows[row.question_id, row.way] = row
            kept.add(asdict(row))
        if done % 10 == 0:
            print(f"{done} of {len(asked)}", flush=True)
    wanted = {fields["id"] for *_, fields in asked}
    text, figures = summary([row for row in rows.values() if row.question_id in wanted], options.seed, options.ways)
    print(text)
    if options.out is not None:
        part = "" if options.split == "dev" else f"_{options.split}"
        part += "" if options.generator == DEFAULT_GENERATOR else f"_{options.generator}"
        (options.out / f"controller_answers{part}.json").write_text(
            json.dumps(figures, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
