"""One device uploads false memories for questions that others know: what do a quota and a quorum bring?

    python simulations/poisoning.py [--attack crowd] [--home DIR] [--out docs/benchmarks]

Over the demo's devices as a run of the demo left them. Attacked are the questions of the training half that memory
answers rightly. For each the attacker uploads five near copies with one false answer of the right type. Known to one
device: nobody else can outvote the attacker. Known to three: two more honest devices hold the same memories.

With `--attack crowd` it also uploads twelve memories around each question, which say nothing of use: with vectors
nearer to it than other wordings come, and far enough from each other to stay within the quota, they take the places of
those that contradict it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, get_args

import numpy as np

from fedrag_flwr.answering.recall import Recall
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.metrics import is_unanswerable, judge
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.memory.fusion.merge import FusionRules, Words, merge
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.nodes import store_root
from fedrag_flwr.records import Answer, Match, MemoryItem
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.text.asking import item_anchors
from server_app.run import questions_of
from simulations.fixtures.liar import Credulous
from simulations.reporting.folders import out_folder

ATTACKER, ASKER = "attacker", "asker"
WORDINGS = ("{}", "So, {}", "Tell me: {}", "{} Please answer.", "Well, {}")
Outcome = Literal["wrong", "right", "other", "silent"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
DEFENCES = {"none": (False, False), "quota": (True, False), "quorum": (False, True), "both": (True, True)}
TOP = 5
CROWD = 12  # further memories of the attacker around a question
NEAR = 0.97  # their cosine to it; to each other its square


@dataclass(frozen=True, slots=True)
class Row:
    """What became of the attacked questions under one defence; shares of them."""

    known_to: int
    defence: str
    questions: int
    attacker_of_top: float  # the attacker's share of the five best matches
    wrong: float  # memory gives the attacker's answer
    right: float
    other: float  # memory gives a wrong answer of an honest device
    silent: float  # memory leaves the question to the evidence


def honest(settings: Settings, models: Models) -> list[MemoryItem]:
    """The memories of the demo's devices, with their origins."""
    items: list[MemoryItem] = []
    for name in sorted(path.name for path in CORPUS.iterdir() if path.is_dir()):
        with EdgeDevice(name, None, store_root(settings, name), settings, models) as device:
            items += [replace(item, support=()) for item in device.store.items(origin=name)]
    return items


def poison(
    targets: Sequence[tuple[GoldQuestion, Match]], items: Sequence[MemoryItem], models: Models, seed: int
) -> list[MemoryItem]:
    """Five near copies of each question, with one false answer of the type of the true one."""
    rng = np.random.default_rng(seed)
    made: list[tuple[str, str, str]] = []
    for question, match in targets:
        others = sorted({i.answer for i in items if i.answer_type == match.item.answer_type} - {match.item.answer})
        false = others[int(rng.integers(len(others)))]
        made += [(wording.format(question.text), false, match.item.answer_type) for wording in WORDINGS]
    texts = [text for text, _, _ in made]
    return [
        MemoryItem(
            f"{ATTACKER}-{number}", text, answer, "single", kind, ("e",), item_anchors(analysis, kind), vector, ATTACKER
        )
        for number, ((text, answer, kind), vector, analysis) in enumerate(
            zip(made, models.encoder.encode(texts), models.pipeline.questions(texts), strict=True)
        )
    ]


def crowd(
    targets: Sequence[tuple[GoldQuestion, Match]], items: Sequence[MemoryItem], models: Models, seed: int
) -> list[MemoryItem]:
    """Twelve memories around each question, under its anchors and others' words, with vectors made up."""
    rng = np.random.default_rng(seed)
    texts = [question.text for question, _ in targets]
    made: list[MemoryItem] = []
    for vector, analysis in zip(models.encoder.encode(texts), models.pipeline.questions(texts), strict=True):
        across = np.linalg.qr(np.vstack([vector, rng.standard_normal((CROWD, len(vector)))]).T)[0].T[1:]
        for way in across:
            other = items[int(rng.integers(len(items)))]
            made.append(
                replace(
                    other,
                    id=f"{ATTACKER}-beside-{len(made)}",
                    hyperedges=("e",),
                    anchors=item_anchors(analysis, analysis.answer_type),
                    embedding=np.asarray(NEAR * vector + np.sqrt(1 - NEAR**2) * way, dtype=np.float32),
                    origin=ATTACKER,
                )
            )
    return made


class Asker:
    """A device without documents of its own, over one bank; without a quorum it believes the best that knows."""

    def __init__(self, items: Sequence[MemoryItem], settings: Settings, models: Models, *, quorum: bool) -> None:
        memory = settings.memory
        believes = (Quorum if quorum else Credulous)(ASKER)
        matcher = Matcher(items, memory.alpha)
        self._recall = Recall(matcher, models.encoder, memory.delta, memory.told, believes, lambda _: ())
        self._models = models

    def ask(self, text: str) -> tuple[list[Match], Match | None]:
        """The best matches, and the one that answers."""
        vector, analysis = self._models.encoder.encode([text])[0], self._models.pipeline.question(text)
        known = self._recall.known(text, vector, analysis)
        return self._recall.top(vector, analysis, TOP), None if known is None else known.match


def attacked(gold: Sequence[GoldQuestion], asker: Asker) -> list[tuple[GoldQuestion, Match]]:
    """The questions that memory answers rightly before the attack."""
    found = [(question, asker.ask(question.text)[1]) for question in gold]
    return [(question, match) for question, match in found if match is not None and _right(question, match)]


def measure(
    targets: Sequence[tuple[GoldQuestion, Match]], bank: Sequence[MemoryItem], false: Sequence[MemoryItem],
    known_to: int, defence: str, settings: Settings, models: Models,
) -> Row:  # fmt: skip
    """Ask the attacked questions of a bank with the attacker's memories."""
    quota, quorum = DEFENCES[defence]
    memory = settings.memory
    rules = FusionRules(memory.fusion_near, memory.fusion_quota if quota else len(false) + len(bank))
    words = Words(models.encoder.encode, models.pipeline.questions)
    asker = Asker(merge([*bank, *false], rules, words).items, settings, models, quorum=quorum)
    of_top, met = 0.0, Counter[Outcome]()
    for question, _ in targets:
        matches, known = asker.ask(question.text)
        of_top += sum(match.item.origin == ATTACKER for match in matches) / TOP
        met[outcome(question, known)] += 1
    count = max(len(targets), 1)
    shares: dict[str, float] = {what: met[what] / count for what in OUTCOMES}
    return Row(known_to, defence, len(targets), of_top / count, **shares)


def outcome(question: GoldQuestion, known: Match | None) -> Outcome:
    """What memory does with a question: the attacker's answer is wrong whatever it says, an honest one may be."""
    if known is None:
        return "silent"
    if known.item.origin == ATTACKER:
        return "wrong"
    return "right" if _right(question, known) else "other"


def _right(question: GoldQuestion, match: Match) -> bool:
    return bool(judge(question, Answer(question.question_id, match.item.answer, "memorizer", match.score)).acc)


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, in per cent."""
    lines = [
        "| known to | defence | attacker's share of the top five | wrong | right | other | left to the evidence |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        shares = (row.attacker_of_top, row.wrong, row.right, row.other, row.silent)
        lines.append(
            f"| {row.known_to} | {row.defence} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Attack, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", default="", help="where models and the demo's devices are kept")
    parser.add_argument("--attack", choices=("copies", "crowd"), default="copies", help="what the attacker uploads")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks", help="where the result is written")
    arguments = parser.parse_args()
    settings = Settings.from_config({"home": arguments.home, "data.split": "train", "data.limit": 0})
    models = load_models(settings.models, fedrag_home(settings.home))
    items = honest(settings, models)
    gold = [question for question in questions_of(settings) if not is_unanswerable(question)]
    targets = attacked(gold, Asker(items, settings, models, quorum=True))
    false = poison(targets, items, models, settings.seed)
    if arguments.attack == "crowd":
        false += crowd(targets, items, models, settings.seed)
    rows = []
    for known_to in (1, 3):
        copies = [replace(i, id=f"{n}-{i.id}", origin=f"{i.origin}-{n}") for n in range(known_to) for i in items]
        for defence in DEFENCES:
            rows.append(measure(targets, copies, false, known_to, defence, settings, models))
            print(rows[-1], flush=True)
    name = "poisoning" if arguments.attack == "copies" else f"poisoning_{arguments.attack}"
    (arguments.out / f"{name}.json").write_text(json.dumps([asdict(r) for r in rows], indent=1) + "\n", "utf-8")
    (arguments.out / f"{name}.md").write_text(table(rows), "utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
