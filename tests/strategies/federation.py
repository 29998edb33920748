"""Five tiny devices with made-up documents, and the federation that they form within this process."""

from __future__ import annotations

import functools
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from flwr.app import Message

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.records import Question
from fedrag_flwr.settings import Plain, Settings
from server_app.run import run_systems
from strategies import FederatedRag, ServerTools, SummaryRouting

Tamper = Callable[[Message], Message | None]
Kind = TypeVar("Kind", bound=FederatedRag)

# Nothing here exists; all names are this project's own.
DOCUMENTS: Mapping[str, Mapping[str, str]] = {
    "bridges": {
        "tarn-bridge.md": "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924 "
        "and crosses the river Ossel. The bridge is 312 metres long.\n",
        "quill-viaduct.md": "# Quill Viaduct\n\nThe Quill Viaduct was built by the Halden Company between 1887 and "
        "1891. It carries the railway over the Marrow Valley.\n",
    },
    "harbours": {
        "port-ferren.md": "# Port Ferren\n\nPort Ferren is the largest harbour of Vessland. It was founded by Admiral "
        "Jonas Keel in 1702. The harbour exports salt and copper.\n",
        "grey-lighthouse.md": "# Grey Lighthouse\n\nThe Grey Lighthouse stands at the mouth of the river Ossel. Its "
        "lamp was lit for the first time in 1856. The tower is 47 metres high.\n",
    },
    "museums": {
        "copper-hall.md": "# Copper Hall\n\nCopper Hall is a museum in the town of Lindmoor. It was opened by the "
        "collector Berta Solveig in 1931. The museum shows 640 clocks.\n",
        "salt-archive.md": "# Salt Archive\n\nThe Salt Archive keeps the letters of Jonas Keel. It lies in Port Ferren "
        "and was founded in 1899.\n",
    },
    "people": {
        "odile-varro.md": "# Odile Varro\n\nOdile Varro was an engineer. She was born in Lindmoor in 1881. Varro "
        "studied at the Academy of Norrhall and received the Iron Medal in 1926.\n",
        "jonas-keel.md": "# Jonas Keel\n\nJonas Keel was an admiral. He was born in Brackwater in 1660 and commanded "
        "the frigate Windhover.\n",
        "berta-solveig.md": "# Berta Solveig\n\nBerta Solveig was a collector of clocks. She was born in Norrhall in "
        "1890.\n",
    },
    "rivers": {
        "ossel.md": "# Ossel\n\nThe Ossel is a river of Vessland. It rises on Mount Cairl and is 410 kilometres long. "
        "The river flows into the Bay of Herons.\n",
        "mount-cairl.md": "# Mount Cairl\n\nMount Cairl is the highest mountain of Vessland. It is 2,144 metres high. "
        "Its summit was reached by the climber Enno Tveit in 1868.\n",
    },
}
FederatedRag.pause = 0.01  # what is lost comes again at once
DEVICES = tuple(DOCUMENTS)
NODES = dict(zip(DEVICES, range(100, 100 + len(DEVICES)), strict=True))
SMALL_GRAPHS: Mapping[str, Plain] = {"strategy": "summary-routing", "graph__community_most": 8, "routing__summaries": 2}
PUBLIC_NAMES = ("Odile Varro", "Varro", "Jonas Keel", "Keel", "Berta Solveig")  # Enno Tveit is not public

# (id, question, answer, kind, home, documents)
QUESTIONS: tuple[tuple[str, str, str, str, str, list[str]], ...] = (
    ("f1", "Who designed Tarn Bridge?", "Odile Varro", "single", "bridges", ["tarn-bridge"]),
    ("f2", "In which year was Port Ferren founded?", "1702", "single", "harbours", ["port-ferren"]),
    ("f3", "How many clocks does Copper Hall show?", "640", "single", "museums", ["copper-hall"]),
    ("f4", "Where was Odile Varro born?", "Lindmoor", "single", "people", ["odile-varro"]),
    ("f5", "Where does the Ossel rise?", "Mount Cairl", "single", "rivers", ["ossel"]),
    (
        "f6",
        "Where was the designer of Tarn Bridge born?",
        "Lindmoor",
        "multi-hop",
        "bridges",
        ["tarn-bridge", "odile-varro"],
    ),
    ("f7", "How high is Mount Cairl?", "2,144 metres", "single", "bridges", ["mount-cairl"]),
    ("f8", "Which frigate did Jonas Keel command?", "Windhover", "single", "harbours", ["jonas-keel"]),
    ("f9", "What did the Duke of Pell eat at his wedding?", "", "unanswerable", "museums", []),
)


@dataclass(frozen=True, slots=True)
class Federation:
    """A federation's files and settings.

    Parameters
    ----------
    root
        Holds ``data`` with one folder a device, ``home``, the questions and the public names.
    changes
        Settings beyond those of all tests.
    """

    root: Path
    changes: tuple[tuple[str, Plain], ...] = ()

    @property
    def config(self) -> dict[str, Plain]:
        return {
            "strategy": "memory-fusion",
            "baselines": "",
            "home": str(self.root / "home"),
            "models.generator": "smollm2-135m",
            "models.generation-cache": False,
            "models.context-tokens": 2048,
            "memory.tokens-per-kilotoken": 0,
            "memory.alpha": 0.7,  # what is fitted elsewhere decides nothing here
            "memory.delta": 0.8,
            "inference.abstain-below": 0.0,
            "inference.ask-below": 1.0,
            "inference.max-answer-tokens": 8,
            "inference.passages": 2,
            "privacy.public-names": str(self.root / "names.txt"),
            "data.root": str(self.root / "data"),
            "data.questions": str(self.root / "questions.jsonl"),
            **dict(self.changes),
        }

    @property
    def settings(self) -> Settings:
        return Settings.from_config(self.config)

    @property
    def questions(self) -> list[Question]:
        return [Question(question[0], question[1], question[4]) for question in QUESTIONS]

    def with_changes(self, **changes: Plain) -> Federation:
        """The same files under other settings; ``__`` stands for a dot, ``_`` for a dash."""
        named = {key.replace("__", ".").replace("_", "-"): value for key, value in changes.items()}
        return Federation(self.root, tuple({**dict(self.changes), **named}.items()))

    def grid(self, tamper: Tamper | None = None, nodes: Sequence[Mapping[str, Plain]] | None = None) -> LocalGrid:
        """A grid of one node a device."""
        return LocalGrid(app, nodes or self.nodes, self.config, tamper=tamper)

    @property
    def nodes(self) -> list[dict[str, Plain]]:
        count = len(list((self.root / "data").iterdir()))
        return [{"partition-id": number, "num-partitions": count} for number in range(count)]

    def write(self) -> Federation:
        """Write the documents, the questions and the public names."""
        for device, documents in DOCUMENTS.items():
            (self.root / "data" / device).mkdir(parents=True)
            for name, text in documents.items():
                (self.root / "data" / device / name).write_text(text, encoding="utf-8")
        keys = ("id", "question", "answer", "kind", "home", "documents")
        lines = [json.dumps({**dict(zip(keys, row, strict=True)), "split": "test"}) for row in QUESTIONS]
        (self.root / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (self.root / "names.txt").write_text("\n".join(PUBLIC_NAMES), encoding="utf-8")
        return self

    def copy_to(self, root: Path) -> Federation:
        """A copy with the same stores and shared memory, whose documents may change."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        names = str(self.config["privacy.public-names"])  # a store knows what its export filter was set to
        copied = Federation(root, self.changes).with_changes(privacy__public_names=names)
        for place in ("devices", "shared-memory", "fusion"):
            if (root / "home" / place / self.settings.data_key).exists():
                (root / "home" / place / self.settings.data_key).rename(
                    root / "home" / place / copied.settings.data_key
                )
        return copied

    def device(self, name: str) -> EdgeDevice:
        """Open one device's store as the ClientApp does."""
        settings = self.settings
        root = self.root / "home" / "devices" / settings.data_key / name
        return EdgeDevice(name, self.root / "data" / name, root, settings, small_models())


@functools.cache
def small_models() -> Models:
    """The tests' models: the default encoder and pipeline, and SmolLM2 without a cache of generations."""
    models = Settings.from_config(
        {"models.generator": "smollm2-135m", "models.generation-cache": False, "models.context-tokens": 2048}
    ).models
    return load_models(models, Path("unused"))


@contextmanager
def anew() -> Iterator[None]:
    """Let the shared models do all work again (tests/conftest.py): for what must not depend on what they did before."""
    generator, encoder = small_models().generator(), small_models().encoder
    assert isinstance(encoder, SentenceEncoder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator, "_cache", None)
        for model, keeps in ((generator, "score"), (encoder._loaded(), "encode")):
            if keeps in vars(model):  # else another model has taken the place of the one that keeps its work
                patch.delattr(model, keeps)
        yield


def server_tools(files: Federation) -> ServerTools:
    """The server's tools for a run, with the tests' models."""
    tools = ServerTools(files.settings)
    tools.__dict__["models"] = small_models()
    return tools


def run_strategy(
    kind: type[Kind], files: Federation, *questions: Question, tamper: Tamper | None = None
) -> tuple[Kind, list[bytes]]:
    """A strategy after its run over these questions, and every message in wire form."""
    tools = server_tools(files)
    strategy = kind(files.settings, questions, tools)
    grid = files.grid(tamper)
    strategy.run(grid, "1")
    tools.close()
    return strategy, grid.sent


def of(device: str, phase: str, change: Tamper) -> Tamper:
    """Change one device's replies of one phase on their way."""

    def tamper(reply: Message) -> Message | None:
        metadata = reply.metadata
        return change(reply) if (metadata.src_node_id, metadata.message_type) == (NODES[device], phase) else reply

    return tamper


def tampering(kind: type[object], change: Callable[..., object], device: str = "") -> Tamper:
    """Replace what devices say, or this one alone, in records of a kind; what becomes None is lost."""

    def tamper(reply: Message) -> Message | None:
        if wire.kind_of(reply.content) != kind.__name__:
            return reply
        said = wire.decode(reply.content, kind, run="1")
        if device and device not in (getattr(said, "device", ""), getattr(said, "name", "")):
            return reply
        if (changed := change(said)) is None:
            return None
        reply.content = wire.encode(changed, run="1")
        return reply

    return tamper


def shared_federation(factory: pytest.TempPathFactory) -> Federation:
    """The federation's documents, with no store yet; once a session."""
    return _written(factory.getbasetemp())


@dataclass(frozen=True, slots=True)
class FirstRun:
    """The first run of all systems over the federation: its files, its results, and every message in wire form."""

    files: Federation
    folder: Path
    sent: tuple[bytes, ...]
    seconds: float


def graphed(factory: pytest.TempPathFactory) -> Federation:
    """The federation with all knowledge graphs built and summaries shared; once a session."""
    return _graphed(factory.getbasetemp())


@functools.cache
def _graphed(base: Path) -> Federation:
    files = _written(base).copy_to(base / "graphed").with_changes(**SMALL_GRAPHS)
    tools = server_tools(files)
    SummaryRouting(files.settings, [Question(*QUESTIONS[0][:2], QUESTIONS[0][4])], tools).run(files.grid(), "1")
    tools.close()
    return files


def first_run(factory: pytest.TempPathFactory) -> FirstRun:
    """The federation's first run; once a session. Whoever changes its files takes a copy."""
    return _first_run(factory.getbasetemp())


@functools.cache
def _first_run(base: Path) -> FirstRun:
    files = _written(base).copy_to(base / "first-run").with_changes(baselines="local-rag, no-rag")
    grid = files.grid()
    start = time.perf_counter()
    folder = run_systems(grid, "1", files.settings)
    return FirstRun(files, folder, tuple(grid.sent), time.perf_counter() - start)


@functools.cache
def _written(base: Path) -> Federation:
    return Federation(base / "federation").write()
