"""What query-focused erasure costs and saves: answers kept against names that leave, for several shares of sentences.

    python simulations/bench_erasure.py --data FOLDER [--split dev] [--questions 60] [--model 30] [--out FOLDER]

For each HotpotQA question the four passages whose vectors come nearest pass the operators alone, as if they left a
device. *Answer kept*: of the questions whose answer stood in those passages, those where it still does. *Names left*:
of the typed spans of persons, places, organisations and the like that neither the question nor the answer nor a
supporting sentence holds, those that still stand. With ``--model`` the generator answers that many questions from what
left, but for the curve. `keep` was chosen with ``--split train``. Writes ``erasure.json`` and prints Markdown; counts
only, never a text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from fedrag_flwr.answering.read import Reader
from fedrag_flwr.evaluation.metrics import accuracy, normalise_answer
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.privacy import Bundle, PresidioMasking, TypeMasking
from fedrag_flwr.privacy.erasure import QueryFocusedErasure
from fedrag_flwr.privacy.model_masking import ModelSummary
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Operator
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.text.segment import under_title
from simulations.corpora.sentences import find_data, rows_of
from simulations.reporting.folders import out_folder
from simulations.reporting.privacy_table import markdown

KEEPS = (0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PASSAGES = 4
CHOSEN = "erasure as in use"
NAMES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "EVENT", "PRODUCT", "WORK_OF_ART"})
_LEAST = 3  # characters of a name that is looked for


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its answer, the nearest passages as (title, text), and the names that it does not need."""

    question: str
    answer: str
    passages: tuple[tuple[str, str], ...]
    idle: tuple[str, ...]


@dataclass(slots=True)
class Point:
    """One point of the curve."""

    operators: str
    questions: int = 0
    answers: int = 0
    kept: int = 0
    names: int = 0
    left: int = 0
    characters: int = 0
    characters_left: int = 0
    asked: int = 0
    right: int = 0
    removed: dict[str, int] = field(default_factory=dict)


def read(data: Path, split: str, limit: int, tools: Models) -> list[Asked]:
    """The questions of a split with their four nearest passages."""
    found = []
    for row in rows_of(data / "hotpotqa.jsonl.gz", split, limit):
        texts = [(clean(one["title"]), clean(one["text"])) for one in row["paragraphs"]]
        [asked] = tools.encoder.encode([row["question"]])
        near = tools.encoder.encode([under_title(*text) for text in texts]) @ asked
        chosen = sorted(range(len(texts)), key=lambda index: -near[index])[:PASSAGES]
        needed = [*_supporting(row), row["question"], row["answer"], *(texts[index][0] for index in chosen)]
        names = {
            fact.text
            for facts in tools.pipeline.facts([texts[index][1] for index in chosen])
            for fact in facts
            if fact.type in NAMES and len(fact.text) >= _LEAST
        }
        idle = tuple(sorted(name for name in names if not any(_holds(text, name) for text in needed)))
        found.append(Asked(row["question"], row["answer"], tuple(texts[index] for index in chosen), idle))
    return found


def _supporting(row: dict[str, object]) -> Iterable[str]:
    paragraphs = {one["title"]: one for one in row["paragraphs"]}  # type: ignore[attr-defined]
    for title, index in row["supporting_facts"]:  # type: ignore[attr-defined]
        if title in paragraphs:
            bounds = list(pairwise([*paragraphs[title]["sent_starts"], len(paragraphs[title]["text"])]))
            if index < len(bounds):
                yield paragraphs[title]["text"][slice(*bounds[index])]


def _holds(text: str, name: str) -> bool:
    return accuracy(text, [name]) > 0


def measure(name: str, questions: Sequence[Asked], operators: Sequence[Operator], tools: Models, model: int) -> Point:
    """Let what was found for each question pass a chain of operators."""
    point = Point(name)
    settings = Settings()
    reader = Reader(tools.generator, settings.inference.max_answer_tokens, settings.seed)
    for number, one in enumerate(questions):
        bundles = [Bundle(passage, question=one.question) for passage in one.passages]
        for operator in operators:
            bundles = operator.operate(bundles)
        before = " ".join(" ".join(passage) for passage in one.passages)
        after = " ".join(" ".join(bundle.prose) for bundle in bundles)
        point.questions += 1
        if normalise_answer(one.answer) not in ("yes", "no") and _holds(before, one.answer):
            point.answers += 1
            point.kept += _holds(after, one.answer)
        point.names += len(one.idle)
        point.left += sum(_holds(after, idle) for idle in one.idle)
        point.characters += len(before)
        point.characters_left += len(after)
        for bundle in bundles:
            for change in bundle.changes:
                point.removed[change.type] = point.removed.get(change.type, 0) + 1
        if number < model:
            units = [EvidenceUnit(str(i), b.prose[-1], "device", 0.5, b.prose[0]) for i, b in enumerate(bundles)]
            point.asked += 1
            point.right += _holds(reader.read(one.question, units).text, one.answer)
    return point


def table(points: Sequence[Point]) -> str:
    """The curve as Markdown, in per cent."""
    rows = [
        [
            point.operators,
            _share(point.kept, point.answers),
            _share(point.left, point.names),
            _share(point.characters_left, point.characters),
            _share(point.right, point.asked),
        ]
        for point in points
    ]
    heads = ("operators", "answer kept", "names left", "characters left", "model right")
    return "\n".join(markdown(heads, rows))


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} of {of}" if of else "-"


def main() -> None:
    """Draw the curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--split", default="dev", choices=("train", "dev"))
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--model", type=int, default=0, help="questions that the generator answers at each point")
    parser.add_argument("--keeps", type=float, nargs="+", default=KEEPS, help="points of the curve")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    tools = load_models(Settings().models, fedrag_home())
    questions = read(find_data(arguments.data), arguments.split, arguments.questions, tools)
    pipeline, encoder = tools.pipeline, tools.encoder
    masking: list[Operator] = [PresidioMasking(pipeline), TypeMasking(pipeline)]
    chosen = QueryFocusedErasure(pipeline, encoder, Settings().privacy.erasure_keep)
    chains: dict[str, list[Operator]] = {
        "none": [],
        **{
            f"{what}, keep {keep}": [QueryFocusedErasure(pipeline, encoder, keep, spans=what == "erasure")]
            for what in ("erasure", "whole sentences")
            for keep in arguments.keeps
        },
        **({CHOSEN: [chosen]} if arguments.model else {}),
        "type masking": [TypeMasking(pipeline)],
        "presidio": [PresidioMasking(pipeline)],
        "presidio and type masking": masking,
        "erasure, presidio and type masking": [chosen, *masking],
    }
    if arguments.model:
        chains["the same and a model's summary"] = [chosen, *masking, ModelSummary(tools.generator)]
    points = []
    for name, operators in chains.items():
        model = 0 if name[:7] in ("erasure", "whole s") and "keep" in name else arguments.model
        points.append(measure(name, questions, operators, tools, model))
        print(table(points[-1:]).splitlines()[-1], flush=True)
    name = "erasure.json" if arguments.split == "dev" else f"erasure_{arguments.split}.json"
    (arguments.out / name).write_text(json.dumps([asdict(point) for point in points], indent=1) + "\n")
    print(table(points))


if __name__ == "__main__":
    main()
