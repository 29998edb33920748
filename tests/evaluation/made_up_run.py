"""A made-up run of three systems over five devices, shaped like real ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import cast

import numpy as np

from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.manifest import Manifest, collect_manifest
from fedrag_flwr.evaluation.scoring import SystemResult, score_system
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer, AnswerPath, BuildReport, Cost, because

UPPER_BOUND = "all-knowing"
DEVICES = ("clinic", "archive", "harbour", "observatory", "school")
FACTS = (
    ("Which moon of Saturn did the Huygens probe land on?", "Titan", (), "single"),
    ("In which year did Voyager 2 pass Neptune?", "1989", (), "single"),
    ("Which planet has the moons Phobos and Deimos?", "Mars", ("the planet Mars",), "single"),
    ("Who wrote the Principia Mathematica of 1687?", "Isaac Newton", ("Newton", "Sir Isaac Newton"), "single"),
    ("When did Apollo 11 land on the Moon?", "20 July 1969", ("July 20, 1969", "1969-07-20"), "single"),
    ("Which city is the capital of the country where the Nile meets the sea?", "Cairo", (), "multi-hop"),
    ("Who discovered the planet that Voyager 2 passed in 1986?", "William Herschel", ("Herschel",), "multi-hop"),
    ("Is Mercury smaller than Ganymede?", "yes", (), "comparison"),
    ("Did Venera 7 land on Mars?", "no", (), "comparison"),
    ("How many astronauts walked on the Moon?", "12", ("twelve",), "aggregation"),
    ("Which two probes left the solar system first?", "Voyager 1 and Voyager 2", (), "set"),
    ("What did the lighthouse keeper of Alexandria eat on Mondays?", "", (), "unanswerable"),
)


@dataclass(frozen=True)
class System:
    """How a made-up system behaves: its paths with their shares, chance to be right and typical seconds."""

    name: str
    paths: tuple[tuple[str, float, float, float], ...]
    traffic: Traffic


SYSTEMS = (
    System(
        "memory-fusion",
        (
            ("memorizer", 0.55, 0.8, 0.012),
            ("cognizer", 0.27, 0.5, 1.6),
            ("remote", 0.1, 0.55, 2.4),
            ("abstained", 0.08, 0, 0.4),
        ),
        Traffic()
        .add("query.describe", messages=10, bytes_up=2_310, bytes_down=1_240)
        .add("train.build", messages=10, bytes_up=6_120, bytes_down=1_430)
        .add("query.share", messages=10, bytes_up=412_000, bytes_down=1_210)
        .add("query.import", messages=10, bytes_up=1_900, bytes_down=1_630_000)
        .add("query.answer", messages=10, bytes_up=48_300, bytes_down=11_400)
        .add("query.retrieve", messages=10, bytes_up=30_200, bytes_down=26_700),
    ),
    System(
        "local-rag",
        (("cognizer", 0.92, 0.42, 2.1), ("abstained", 0.08, 0, 0.05)),
        Traffic()
        .add("query.describe", messages=10, bytes_up=2_310, bytes_down=1_240)
        .add("train.build", messages=10, bytes_up=6_120, bytes_down=1_430)
        .add("query.answer", messages=10, bytes_up=49_100, bytes_down=11_400),
    ),
    System(
        "no-rag",
        (("cognizer", 1.0, 0.2, 0.7),),
        Traffic()
        .add("query.answer", messages=10, bytes_up=31_000, bytes_down=11_400)
        .lose("school", "no reply in 60 s"),
    ),
)


@dataclass(frozen=True)
class Run:
    """Everything that `write_results` takes."""

    manifest: Manifest
    systems: dict[str, SystemResult]
    answers: dict[str, list[Answer]]
    gold: list[GoldQuestion]
    builds: list[BuildReport]


def make_gold(count: int) -> list[GoldQuestion]:
    """Make gold questions by going round the facts and the devices."""
    return [
        GoldQuestion(
            question_id=f"q{number:03d}",
            text=text,
            answer=answer,
            aliases=aliases,
            kind=kind,
            documents=(f"doc-{number % 17}",),
            home=DEVICES[number % len(DEVICES)],
            split="test",
        )
        for number in range(count)
        for text, answer, aliases, kind in [FACTS[number % len(FACTS)]]
    ]


def make_answers(system: System, gold: Sequence[GoldQuestion], rng: np.random.Generator) -> list[Answer]:
    """Draw a system's answers; a device that its traffic lost gives none."""
    wrong = ("Pioneer 10", "the Moon", "1977", "no", "Galileo Galilei")
    answers = []
    for question in gold:
        if question.home in system.traffic.missing:
            continue
        shares = [share for _, share, _, _ in system.paths]
        path, _, chance, typical = system.paths[rng.choice(len(shares), p=shares)]
        abstained = path == "abstained"
        right = rng.random() < chance
        calls = 0 if path == "memorizer" or abstained else 1
        text = "" if abstained else question.answer if right else str(rng.choice(wrong))
        score = float(np.clip(rng.normal(0.88 if path == "memorizer" else 0.6, 0.06), 0, 1))
        answers.append(
            Answer(
                question.question_id,
                text,
                cast(AnswerPath, path),
                score,
                tuple(f"{question.home}/m{rng.integers(1000, 9999)}" for _ in range(0 if abstained else 2)),
                Cost(
                    float(typical * rng.lognormal(0, 0.4)),
                    calls,
                    int(calls * rng.integers(180, 420)),
                    int(calls * rng.integers(3, 24)),
                    replayed=system.name == "no-rag" and question.home == "clinic",
                ),
                decisions=(because("memory", f"{path}: best memory scored {score:.2f} against 0.80", score, 0.8),),
            )
        )
    return answers


@cache
def make_run(count: int = 120, *, seed: int = 7) -> Run:
    """Make a whole run of the three systems."""
    rng = np.random.default_rng(seed)
    gold = make_gold(count)
    answers = {system.name: make_answers(system, gold, rng) for system in SYSTEMS}
    memory = {device: 910.0 + 37 * number for number, device in enumerate(DEVICES)}
    results = {
        system.name: score_system(gold, answers[system.name], system.traffic, peak_rss_mb=memory) for system in SYSTEMS
    }
    manifest = collect_manifest(
        {"strategy": "memory-fusion", "baselines": ["local-rag", "no-rag"], "memory": {"delta": 0.8, "top-k": 5}},
        seed=seed,
        models={"encoder": "all-MiniLM-L6-v2@53aa51172d14", "generator": "qwen2.5-coder-0.5b-q4_k_m@1d9614638d18"},
        started=datetime(2026, 7, 1, 9, 30, tzinfo=UTC),
        seconds=312.5,
    )
    return Run(manifest, results, answers, gold, [make_build(device, number) for number, device in enumerate(DEVICES)])


def with_upper_bound(run: Run) -> Run:
    """Add to a run what is right always, at once and for nothing, as it knows the gold."""
    answers = [
        Answer(q.question_id, q.answer, "memorizer" if q.answer else "abstained", 1.0, cost=Cost(0.001))
        for q in run.gold
    ]
    result = replace(score_system(run.gold, answers, Traffic()), upper_bound=True)
    return replace(run, systems={**run.systems, UPPER_BOUND: result}, answers={**run.answers, UPPER_BOUND: answers})


def make_build(device: str, number: int = 0) -> BuildReport:
    """Make one device's build report."""
    return BuildReport(
        device=device,
        version=1,
        documents=24 + number,
        added=24 + number,
        changed=0,
        removed=0,
        passages=88 + 9 * number,
        sentences=410 + 31 * number,
        hyperedges=96 + 5 * number,
        orphans=3,
        items=280 + 22 * number,
        corpus_tokens=14_200 + 900 * number,
        failed=("document 3fa2",) if number == 2 else (),
        rejects=("not in evidence=31", "gives itself away=4"),
        cost=Cost(41.0 + 6 * number, 60 + number, 21_000, 760 + 40 * number),
        peak_rss_mb=980.0 + 25 * number,
    )


def with_text(answer: Answer, text: str) -> Answer:
    """Return the answer with other words."""
    return replace(answer, text=text)
