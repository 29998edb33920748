"""Dual inference on HotpotQA's distractor rows: all ten paragraphs of a question lie on the asking device.

    python simulations/bench_cognizer.py --data FOLDER --limit 150 [--generator NAME_OR_PATH] [--split dev]
        [--threads 1] [--plain] [--shipped] [--memorizer] [--least 2] [--most 4] [--again 0]
        [--order similarity] [--out docs/benchmarks/cognizer-NAME.json]

Each question has a device of its own with its ten paragraphs, built before the clock runs and kept under
``$FEDRAG_HOME/benchmarks``; a second run goes on where the first stopped. The clock runs from the question to its
answer; models are loaded and the prompt's fixed prefix is evaluated before, and the generation cache is off. The model
writes freely and nothing is too far to be answered; with `--shipped` it chooses among typed facts, and what is too far
is declined. `--memorizer` builds memories by rule and lets them answer first, as in the system; without it
every question goes to the Cognizer. With `--plain` the generator is asked without the adapter that was fitted for it;
`--least`, `--most`, `--again`, `--sure` and `--order` are `inference.least-units`, `inference.evidence-units`,
`inference.second-look`, `inference.read-above` and `retrieval.order`.
Paths: `memorizer`, `read` (the Cognizer without the model), `cognizer` (with it),
`abstained`. Rows hold figures and ids, no text.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SourceError
from fedrag_flwr.evaluation.metrics import accuracy, exact_match, f1
from fedrag_flwr.inference.prompts import evidence_prompt
from fedrag_flwr.inference.reader import SURE
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from fedrag_flwr.records import EvidenceUnit, Question
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text.segment import under_title
from fedrag_flwr.toolbox import Toolbox, load_toolbox
from simulations.corpora.reader_corpus import gold_spans, is_gold, rows_of
from simulations.reporting.row_file import RowFile, this_code

FILE = "hotpotqa.jsonl.gz"
SHIPPED = Settings.from_config({})
MOST = SHIPPED.inference.evidence_units
ORDER = SHIPPED.retrieval.order
CLOSED = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Row:
    """One question: how right its answer is, what it cost, and what its evidence held. Shares lie in [0, 1]."""

    question_id: str
    kind: str
    path: str
    calls: int
    f1: float
    em: float
    acc: float
    seconds: float
    tokens_read: int  # without the fixed prefix, whose state is kept
    tokens_out: int
    units: int
    gold_recall: float
    answer_held: bool | None  # None where the answer is yes or no
    load: float  # of the machine in the last minute: tasks that ran or waited for a core


@dataclass(frozen=True, slots=True)
class Bench:
    """Devices of one question each, and the models that they share; `prefix` counts the prompt's fixed tokens."""

    settings: Settings
    toolbox: Toolbox
    home: Path
    memories: bool
    prefix: int

    @classmethod
    def of(cls, settings: Settings, home: Path, *, memories: bool) -> Bench:
        """Load the models and evaluate the prompt's fixed prefix."""
        toolbox = load_toolbox(settings.models, home)
        toolbox.encoder.encode(["ready"])
        toolbox.pipeline.question("Who is ready?")
        generator, prompt = toolbox.generator(), evidence_prompt("Who is ready?", ())
        [ready] = generator.complete(prompt, max_tokens=1)
        return cls(settings, toolbox, home, memories, ready.tokens_in - generator.count_tokens(prompt.user))

    def device(self, fields: Mapping[str, Any]) -> EdgeDevice:
        """A device of a question's own paragraphs, as documents ``p0``, ``p1``, ...; not built yet, or as it was."""
        kind = "memories" if self.memories else "units"
        folder = self.home / "benchmarks" / "cognizer" / kind / fields["id"].replace("#", "-")
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps({"id": f"p{i}", "title": one["title"] or "", "text": one["text"]}, ensure_ascii=False)
            for i, one in enumerate(fields["paragraphs"])
        ]
        documents = folder / "documents"
        documents.mkdir(exist_ok=True)
        (documents / "0.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return EdgeDevice("home", documents, folder / "store", self.settings, self.toolbox)

    def ask(self, fields: Mapping[str, Any]) -> Row:
        """Build a question's device, or open it where it was built before, and ask."""
        with self.device(fields) as device:
            device.build(memories=self.memories)
            device.engine.shelf.nearest_sentences(self.toolbox.encoder.encode(["ready"])[0], 1)
            answer = device.ask_at_home(Question(fields["id"], fields["question"].strip(), "home"))
        golds = [fields["answer"], *fields["aliases"]]
        texts = [under_title(unit.title, unit.text).casefold() for unit in answer.evidence]
        closed = fields["answer"].casefold() in CLOSED
        return Row(
            question_id=fields["id"],
            kind=f"{fields['type']}, yes or no" if closed else fields["type"],
            path=answer.path if answer.path != "cognizer" or answer.cost.llm_calls else "read",
            calls=answer.cost.llm_calls,
            f1=f1(answer.text, golds),
            em=exact_match(answer.text, golds),
            acc=accuracy(answer.text, golds),
            seconds=round(answer.cost.seconds, 4),
            tokens_read=max(answer.cost.tokens_in - answer.cost.llm_calls * self.prefix, 0),
            tokens_out=answer.cost.tokens_out,
            units=len(answer.evidence),
            gold_recall=recall(fields, answer.evidence),
            answer_held=None if closed else any(gold.casefold() in text for gold in golds for text in texts),
            load=os.getloadavg()[0],
        )


def recall(fields: Mapping[str, Any], evidence: Sequence[EvidenceUnit]) -> float:
    """Share of a question's gold sentences that lie, for more than half of a unit, in its evidence."""
    wanted = found = 0
    for paragraph, spans in zip(fields["paragraphs"], gold_spans(fields), strict=True):
        own = [unit.text for unit in evidence if unit.title == (paragraph["title"] or "")]
        wanted += len(spans)
        found += sum(any(is_gold(paragraph["text"], text, [span]) for text in own) for span in spans)
    return found / max(wanted, 1)


def asked(bench: Bench, path: Path, split: str, limit: int, kept: RowFile) -> list[Row]:
    """Ask the first rows of a split, those of an earlier run excepted."""
    rows = {row.question_id: row for row in (Row(**one) for one in kept.rows())}
    found = []
    for number, fields in enumerate(rows_of(path, split, limit), 1):
        row = rows.get(fields["id"]) or bench.ask(fields)
        found.append(row)
        if row.question_id not in rows:
            kept.add(asdict(row))
        if number % 10 == 0:
            print(f"{number}: F1 {100 * _mean([row.f1 for row in found]):.1f}", flush=True)
    return found


def summary(rows: Sequence[Row]) -> dict[str, float | None]:
    """Means over some questions; per cent for shares, and None where no question has any."""
    seconds = [row.seconds for row in rows]
    held = [row.answer_held for row in rows if row.answer_held is not None]
    return {
        "questions": len(rows),
        "f1": round(100 * _mean([row.f1 for row in rows]), 1),
        "em": round(100 * _mean([row.em for row in rows]), 1),
        "acc": round(100 * _mean([row.acc for row in rows]), 1),
        "mean_s": round(_mean(seconds), 3),
        "p50_s": round(float(np.percentile(seconds, 50)), 3),
        "p95_s": round(float(np.percentile(seconds, 95)), 3),
        "calls": round(_mean([row.calls for row in rows]), 2),
        "tokens_read": round(_mean([row.tokens_read for row in rows]), 1),
        "tokens_out": round(_mean([row.tokens_out for row in rows]), 1),
        "sentences": round(_mean([row.units for row in rows]), 2),
        "gold_recall": round(100 * _mean([row.gold_recall for row in rows]), 1),
        "answer_held": round(100 * _mean([float(one) for one in held]), 1) if held else None,
        "load": round(_mean([row.load for row in rows]), 1),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def table(groups: Mapping[str, Mapping[str, float | None]]) -> str:
    """A Markdown table, a group of questions to each line."""
    columns = list(next(iter(groups.values())))
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, group in groups.items():
        cells = ["-" if group[key] is None else f"{group[key]:g}" for key in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Ask, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the dataset")
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--split", choices=("dev", "train"), default="dev")
    parser.add_argument("--generator", default=DEFAULT_GENERATOR)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memorizer", action="store_true", help="let memories answer first")
    parser.add_argument("--plain", action="store_true", help="ask the model without its adapter")
    parser.add_argument("--shipped", action="store_true", help="constrain answers and decline as shipped")
    parser.add_argument("--least", type=int, default=2, help="sentences that are read at the least")
    parser.add_argument("--most", type=int, default=MOST, help="sentences that are read at the most")
    parser.add_argument("--again", type=int, default=0, help="sentences of a second look")
    parser.add_argument("--sure", type=float, default=SURE, help="log-odds from which a span is the answer")
    parser.add_argument("--order", default=ORDER, help="whose sentences are read")
    parser.add_argument("--run", default="", help="a name that keeps this run's rows apart from others'")
    parser.add_argument("--out", type=Path, help="where the summary is written")
    arguments = parser.parse_args()
    if arguments.data is None:
        raise SourceError("there is no data", where="--data", fix=f"name the folder that holds {FILE}")
    settings = Settings.from_config(
        {
            "models.generator": arguments.generator,
            "models.threads": arguments.threads,
            "models.generation-cache": False,
            "models.adapters": not arguments.plain,
            "memory.tokens-per-kilotoken": 0,
            "inference.abstain-below": SHIPPED.inference.abstain_below if arguments.shipped else -1.0,
            "inference.free-answers": SHIPPED.inference.free_answers if arguments.shipped else True,
            "inference.least-units": arguments.least,
            "inference.evidence-units": arguments.most,
            "inference.second-look": arguments.again,
            "inference.read-above": arguments.sure,
            "retrieval.order": arguments.order,
        }
    )
    home = fedrag_home()
    bench = Bench.of(settings, home, memories=arguments.memorizer)
    weights = bench.toolbox.generator_id.replace("@", "-")
    name = f"{weights}-{arguments.split}-{arguments.threads}-{arguments.least}-{arguments.again}"
    name += f"-most-{arguments.most}" if arguments.most != MOST else ""
    name += f"-{arguments.sure:g}" if arguments.sure != SURE else ""
    name += f"-{arguments.order}" if arguments.order != "similarity" else ""
    name += "-shipped" * arguments.shipped + "-memorizer" * arguments.memorizer
    kept = home / "benchmarks" / f"cognizer-{name}{arguments.run and '-' + arguments.run}.jsonl"
    made_by = this_code(bench.toolbox.generator_id)
    rows = asked(bench, arguments.data / FILE, arguments.split, arguments.limit, RowFile(kept, made_by))
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
        by_kind[f"path: {row.path}"].append(row)
    groups = {"all": summary(rows)} | {kind: summary(own) for kind, own in sorted(by_kind.items())}
    print(table(groups))
    if arguments.out:
        head = {"generator": bench.toolbox.generator_id, "split": arguments.split, "threads": arguments.threads}
        head |= {
            "memorizer": arguments.memorizer,
            "shipped": arguments.shipped,
            "least": arguments.least,
            "most": arguments.most,
            "again": arguments.again,
            "sure": arguments.sure,
            "order": arguments.order,
        }
        report = head | {"groups": groups, "rows": [asdict(row) for row in rows]}
        arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
