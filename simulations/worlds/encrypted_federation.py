"""One federation asked in the open and encrypted: the same devices, the same answers?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from client_app.app import app
from fedrag_flwr.demo import QUESTIONS
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.records import Question
from fedrag_flwr.settings import Plain, Settings
from simulations.worlds.local_grid import LocalGrid
from strategies import ServerTools, SummaryRouting

_DEVICES = 5


def compare_federation(home: Path) -> Mapping[str, float]:
    """Ask all questions of the demo's training half, each leaving home, and compare the two exchanges.

    Devices hold no overview in either, so that the gate and its drafts are alike; generations are kept, so that equal
    prompts give equal answers at once.
    """
    asked = [Question(one.question_id, one.text, one.home) for one in read_gold(QUESTIONS) if one.split == "train"]
    opened, private = (run(home, asked, exchange=name) for name in ("plain", "encrypted"))
    routed = [one.id for one in asked if one.id in opened.routes and one.id in private.routes]
    same = [name for name in routed if opened.routes[name] == private.routes[name]]
    equal = [name for name in same if opened.answers[name].text == private.answers[name].text]
    phases = private.outcome().traffic.by_phase
    sent = sum(phases[name].bytes_up + phases[name].bytes_down for name in ("query.encrypt", "query.route"))
    return {
        "questions": len(asked),
        "routed": len(routed),
        "summaries": opened.counts["summaries"],
        "same devices, %": 100 * len(same) / max(1, len(routed)),
        "equal answers where they are, %": 100 * len(equal) / max(1, len(same)),
        "server ms a question": private.counts["scoring-ms"] / max(1, private.counts["scored"]),
        "KB a question, encrypted vectors and scores, keys included": sent / 1000 / max(1, len(routed)),
    }


def run(home: Path, asked: list[Question], **changes: Plain) -> SummaryRouting:
    """One strategy over the demo's devices, which are built once."""
    settings = Settings.from_config(
        {
            "strategy": "summary-routing",
            "home": str(home),
            "models.generator": "smollm2-135m",
            "models.context-tokens": 2048,
            "inference.max-answer-tokens": 8,
            "gate.candidates": 1,
            "gate.threshold": 1.0,
            "routing.overview": 0,
            "routing.quota": 1_000_000,
            "federation.poll-seconds": 0.01,
            **changes,
        }
    )
    tools = ServerTools(settings)
    strategy = SummaryRouting(settings, asked, tools)
    nodes: list[dict[str, Plain]] = [{"partition-id": n, "num-partitions": _DEVICES} for n in range(_DEVICES)]
    strategy.run(LocalGrid(app, nodes, settings.flat()), "1")
    tools.close()
    return strategy
