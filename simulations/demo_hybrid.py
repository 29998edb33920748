"""The demo of hybrid fusion: three devices, one over text, one over a database, one over a graph, on one subject.

    python -m simulations.demo_hybrid [--limit 24]        # or: make demo-hybrid

The demo's documents are dealt to three devices; those of the second are turned into an SQLite database and those of the
third into a Ladybug graph, under ``$FEDRAG_HOME/demo-hybrid``. Then `fedrag simulate` runs ``hybrid-fusion``, and a
second time, in which the caches answer, with ``local-rag`` beside it. Prints the tables, some answers with their
reports as they lie at a device, and what the caches hold.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from fedrag_flwr.cli.machine import stats
from fedrag_flwr.cli.simulate import simulate
from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.nodes import store_root
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.text import SpacyPipeline
from simulations.fixtures.demo_databases import demo_database, demo_graph

DEVICES = {"text": ("missions", "launchers"), "sql": ("observatories", "people"), "graph": ("worlds",)}
_SHOWN = 3


def prepare(root: Path) -> Settings:
    """Write the devices' data and the questions with their new homes; gives the settings of a run over them."""
    shutil.rmtree(root, ignore_errors=True)
    folders = {device: _dealt(silos, root / "texts" / device) for device, silos in DEVICES.items()}
    data = root / "devices"
    for device in DEVICES:
        (data / device).mkdir(parents=True)
    shutil.copytree(folders["text"], data / "text", dirs_exist_ok=True)
    demo_database(folders["sql"], data / "sql" / "articles.db")
    demo_graph(folders["graph"], data / "graph" / "worlds.lbug", SpacyPipeline())
    home_of = {silo: device for device, silos in DEVICES.items() for silo in silos}
    lines = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    moved = [json.dumps(line | {"home": home_of[line["home"]]}, ensure_ascii=False) for line in lines]
    (root / "questions.jsonl").write_text("\n".join(moved) + "\n", encoding="utf-8")
    flat: dict[str, Plain] = {
        "strategy": "hybrid-fusion",
        "privacy.operators": "presidio",
        "federation.devices": len(DEVICES),
        "data.root": str(data),
        "data.questions": str(root / "questions.jsonl"),
    }
    return Settings.from_config(flat)


def _dealt(silos: tuple[str, ...], folder: Path) -> Path:
    """A copy of some silos' documents in one folder."""
    for silo in silos:
        shutil.copytree(CORPUS / silo, folder, dirs_exist_ok=True)
    return folder


def run(settings: Settings, limit: int, baselines: str, results: Path) -> None:
    """One run as `fedrag simulate` gives it."""
    changed = {key: value for key, value in settings.flat().items() if value != Settings().flat()[key]}
    changed |= {"data.limit": limit, "baselines": baselines}
    simulate(changes=[f"{key}={json.dumps(value)}" for key, value in changed.items()], results=results)


def show(settings: Settings) -> None:
    """Print some answers with their reports, as the people at a device find them."""
    models = load_models(settings.models, fedrag_home())
    documents = Path(settings.data.root) / "text"
    questions = {line["id"]: line["question"] for line in map(json.loads, _lines(Path(settings.data.questions)))}
    with EdgeDevice("text", documents, store_root(settings, "text"), settings, models) as device:
        received = [answer for answer in device.delivered.all().values() if answer.text]
        for answer in received[:_SHOWN]:
            print(f"\n{questions[answer.question_id]}\n  {answer.text}\n  {answer.explanation}")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def main() -> None:
    """Prepare, run twice, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=24, help="questions that are asked")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    settings = prepare(fedrag_home() / "demo-hybrid")
    run(settings, given.limit, "", given.results)
    show(settings)
    print(
        "\nThe same questions again, and then at home:"
    )  # what an export filter learns from other answers voids its summaries
    run(settings, given.limit, "local-rag", given.results)
    stats()


if __name__ == "__main__":
    main()
