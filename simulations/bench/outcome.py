"""From rows to results: each set's summary, answers and report, and frames of all answers and preparations."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from pandas import DataFrame

from fedrag_flwr.evaluation.bootstrap import Interval, mean_interval, paired_difference
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.manifest import collect_manifest
from fedrag_flwr.evaluation.metrics import judge, judge_all
from fedrag_flwr.evaluation.results import write_results
from fedrag_flwr.evaluation.scoring import score_system
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer, Cost
from simulations.bench.fixture import Fixture
from simulations.bench.plan import BenchPlan
from simulations.bench.rows import Row, Rows
from simulations.bench.systems import changes_of

MEMORIZER, COGNIZER, ORACLE = "fd-rag-memorizer", "fd-rag-cognizer", "oracle-router"
_SEED = 0  # of the bootstrap


def write_outcome(plan: BenchPlan, fixture: Fixture, rows: Rows, out: Path, seconds: float = 0.0) -> None:
    """Write ``summary.json``, ``answers.jsonl`` and ``report.html`` of a plan into a folder."""
    answers = answers_of(plan.systems, fixture, rows)
    traffic = {name: sum((row.traffic for row in rows.of(name)), Traffic()) for name in answers}
    scored = {name: score_system(fixture.gold, given, traffic[name]) for name, given in answers.items()}
    systems = {name: replace(result, upper_bound=name == ORACLE) for name, result in scored.items()}
    builds = [list(row.builds) for name in plan.systems for row in rows.of(name) if not row.question_id]
    own = {name: dict(changed) for name in plan.systems if (changed := changes_of(name))}
    told = {f"bench.{key}": value for key, value in {**plan.told, "own-settings": own}.items()}
    models = fixture.models
    ids = {"encoder": models.encoder.id, "generator": models.generator_id, "pipeline": models.pipeline.id}
    manifest = collect_manifest({**plan.base().flat(), **told}, seed=plan.seed, models=ids, seconds=seconds)
    build = next((made for made in builds if any(one.corpus_tokens for one in made)), [])
    write_results(out.parent, out.name, manifest, systems, answers, fixture.gold, build, with_evidence=True)


def answers_of(systems: Iterable[str], fixture: Fixture, rows: Rows) -> dict[str, list[Answer]]:
    """The answers by system; with both paths of FD-RAG alone, an oracle that picks the better is added."""
    found = {name: [row.answer for row in rows.of(name) if row.answer is not None] for name in systems}
    if MEMORIZER in found and COGNIZER in found:
        found[ORACLE] = oracle(fixture.gold, found[MEMORIZER], found[COGNIZER])
    return found


def oracle(gold: Sequence[GoldQuestion], memory: Sequence[Answer], model: Sequence[Answer]) -> list[Answer]:
    """A router that knows the gold answers: memory where it is right, else the model (FD-RAG table 2, upper bound)."""
    pairs = zip(judge_all(gold, memory), judge_all(gold, model), strict=True)
    chosen = (fast if fast.right and not fast.abstained else slow for fast, slow in pairs)
    return [verdict.answer for verdict in chosen if verdict.answer is not None]


def answer_frame(plan: BenchPlan, fixture: Fixture, rows: Rows) -> DataFrame:
    """A line for each question and system, without any text: right or wrong, by whom, in what time, at what cost."""
    found = []
    place = {one.id: device for device, own in fixture.partition.documents.items() for one in own}
    for system, answers in answers_of(plan.systems, fixture, rows).items():
        given = {answer.question_id: answer for answer in answers}
        for gold in fixture.gold:
            verdict = judge(gold, given.get(gold.question_id))
            cost = verdict.answer.cost if verdict.answer else Cost()
            row = rows.get((system, gold.question_id), Row(system))
            where = where_are({place[one] for one in gold.documents if one in place}, gold.home)
            found.append(
                {
                    "setting": plan.setting,
                    "set": fixture.name,
                    "devices": plan.devices,
                    "system": system,
                    "id": gold.question_id,
                    "home": gold.home,
                    "documents": where,
                    "right": int(verdict.right),
                    "declined": int(verdict.abstained),
                    "F1": round(verdict.f1, 4),
                    "EM": int(verdict.em),
                    "path": verdict.answer.path if verdict.answer else "missing",
                    "seconds": round(cost.seconds, 4),
                    "calls": cost.llm_calls,
                    "tokens in": cost.tokens_in,
                    "tokens out": cost.tokens_out,
                    "messages": row.traffic.messages,
                    "bytes": row.traffic.bytes_up + row.traffic.bytes_down,
                    "server s": round(row.server_seconds, 4),
                }
            )
    return DataFrame(found)


def where_are(devices: Collection[str], home: str) -> str:
    """Where a question's documents lie: at home, partly there, elsewhere, or nowhere."""
    if not devices:
        return "nowhere"
    return "elsewhere" if home not in devices else "partly at home" if len(devices) > 1 else "at home"


def prepared_frame(plan: BenchPlan, fixture: Fixture, rows: Rows) -> DataFrame:
    """What systems did before their first question, summed over devices.

    A store that an earlier run or system built costs nothing again, and what devices and server told each other for an
    earlier one is not sent again: of systems that exchange the same, the first has the bytes.
    """
    found = []
    for system in plan.systems:
        if (system, "") not in rows:
            continue
        row = rows[system, ""]
        total = sum((report.cost for report in row.builds), Cost())
        found.append(
            {
                "setting": plan.setting,
                "set": fixture.name,
                "devices": plan.devices,
                "system": system,
                "seconds": round(total.seconds, 1),
                "calls": total.llm_calls,
                "tokens out": total.tokens_out,
                "messages": row.traffic.messages,
                "bytes up": row.traffic.bytes_up,
                "bytes down": row.traffic.bytes_down,
                "server s": round(row.server_seconds, 1),
                # else they were there
                "memories": sum(report.items for report in row.builds if report.corpus_tokens),
            }
        )
    return DataFrame(found)


def groups(frame: DataFrame, *keys: str) -> Iterator[tuple[tuple[str, ...], DataFrame]]:
    """The lines of a frame by the values of some columns, in the order of their first lines."""
    for values, own in frame.groupby(list(keys), sort=False):
        yield tuple(map(str, values)), own


def accuracy_of(answers: DataFrame) -> Interval:
    """ACC in per cent with its 95 % interval: the mean over devices, questions drawn anew within each."""
    return _percent(mean_interval(answers["right"], rng=np.random.default_rng(_SEED), groups=list(answers["home"])))


def difference_of(answers: DataFrame, reference: DataFrame) -> Interval:
    """How many points of ACC a system is above another over the same questions, with the paired 95 % interval."""
    keys = ["set", "devices", "id"]
    both = answers.merge(reference[[*keys, "right"]], on=keys, suffixes=("", " there"))
    rng, homes = np.random.default_rng(_SEED), list(both["home"])
    return _percent(paired_difference(both["right"], both["right there"], rng=rng, groups=homes))


def _percent(found: Interval) -> Interval:
    """Scaled afterwards, for of zeros and ones the bounds are wider than the bootstrap's."""
    return Interval(100 * found.value, 100 * found.low, 100 * found.high)
