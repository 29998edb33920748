"""Five fictional devices whose documents hold private names, numbers and sentences that must not get out."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flwr.proto.message_pb2 import Message as MessageProto

from client_app.app import app
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.settings import Plain, Settings
from server_app.run import run_systems


@dataclass(frozen=True, slots=True)
class Canaries:
    """What one device must keep: words of private names, identifiers, and whole sentences."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]
    sentence: str

    @property
    def masked(self) -> tuple[str, ...]:
        """What the export filter's operators are to mask."""
        return (*self.names, *self.numbers)


@dataclass(frozen=True, slots=True)
class Silo:
    """A device's documents by file name, what they must keep, and questions about them."""

    documents: Mapping[str, str]
    canaries: Canaries
    questions: tuple[str, ...]
    unreadable: Mapping[str, bytes] = field(default_factory=dict)


SILOS: Mapping[str, Silo] = {
    "alder": Silo(
        {
            "lantern.txt": "The lantern house stands at Greyholm. Marta Quillfeather keeps the lantern house at "
            "Greyholm. Quillfeather's lamp was lit in 1987. The lamp burns whale oil and weighs 40 kilograms.",
            "visitors.txt": "Visitors of Greyholm may call +44 20 7946 0958 or write to m.quillfeather@greyholm.org. "
            "The phone number of Marta Quillfeather is +44 20 7946 0958. The boat to Greyholm leaves at noon.",
            "dance.txt": "A tale is told at Greyholm in winter. Seventeen marzipan herons waltzed beneath the plumbago "
            "staircase. The tale ends with a storm.",
        },
        Canaries(
            ("quillfeather",),
            ("+44 20 7946 0958", "m.quillfeather@greyholm.org"),
            "Seventeen marzipan herons waltzed beneath the plumbago staircase",
        ),
        (
            "Who keeps the lantern house at Greyholm?",
            "What is the phone number of the keeper of the lantern house at Greyholm?",
            "What waltzed beneath the plumbago staircase?",
            "How much does the lamp of the lantern house weigh?",
        ),
    ),
    "birch": Silo(
        {
            "ward.txt": "The hill clinic of Sorrel has 30 beds. Dr. Oswin Tarrowby founded the hill clinic of Sorrel "
            "in 1962. Dr. Tarrowby treated Lena Marchbanksy there. Dr. Tarrowby retired in 1999.",
            "record.txt": "The record of Lena Marchbanksy has MRN 7719-44182. The patient Lena Marchbanksy was "
            "admitted to the hill clinic of Sorrel in 1988. Her health insurance number is QX-5521907.",
            "wind.txt": "The weather at Sorrel is odd. Nine velvet anvils hummed while the rhubarb comet untied its "
            "shoelaces. The wind comes from the west.",
        },
        Canaries(
            ("tarrowby", "marchbanksy"),
            ("7719-44182", "QX-5521907"),
            "Nine velvet anvils hummed while the rhubarb comet untied its shoelaces",
        ),
        (
            "Who founded the hill clinic of Sorrel?",
            "What is the medical record number of the patient at the hill clinic of Sorrel?",
            "Who was admitted to the hill clinic of Sorrel in 1988?",
            "How many beds does the hill clinic of Sorrel have?",
        ),
        {
            "Tarrowby complaint.txt": b"Lena Marchbanksy complained about Tarrowby. \xff\xfe",
            "Lena Marchbanksy 7719-44182.jsonl": b'{"text": 12, "title": "Marchbanksy"}',
        },
    ),
    "cedar": Silo(
        {
            "bank.txt": "The harbour bank of Windle opened in 1911. Its director is Ms. Zofia Brandtmeierov. Zofia "
            "Brandtmeierov pays the harbour dues of Windle. Her account at the harbour bank of Windle is 88213409177.",
            "dues.txt": "The harbour dues of Windle are paid to IBAN DE89 3704 0044 0532 0130 00. Fishing boats pay "
            "with the card 4111 1111 1111 1111. The dues were raised in 1974.",
            "soup.txt": "The sailors of Windle cook on board. A clockwork turnip recited ballads to the bashful "
            "chandelier factory. The soup is served at six.",
        },
        Canaries(
            ("brandtmeierov",),
            ("88213409177", "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111"),
            "A clockwork turnip recited ballads to the bashful chandelier factory",
        ),
        (
            "Who is the director of the harbour bank of Windle?",
            "Which IBAN are the harbour dues of Windle paid to?",
            "What is the account of the director at the harbour bank of Windle?",
            "When did the harbour bank of Windle open?",
        ),
    ),
    "dogwood": Silo(
        {
            "press.txt": "The paper mill of Ostrey was built in 1874. Henrik Vossabelle runs the paper mill of Ostrey. "
            "H. Vossabelle lives beside the mill. The paper mill of Ostrey makes 12 tons of paper a day.",
            "union.txt": "The union of Ostrey meets on Mondays. HENRIK VOSSABELLE SIGNED THE CONTRACT IN 2003. Its "
            "members may write to henrik (at) ostrey-union (dot) net. The tax number of the union is 31/815/08155.",
            "night.txt": "The night shift of Ostrey sings. Three origami bishops buttered the thunder with a trombone "
            "of cinnamon. The shift ends at five.",
        },
        Canaries(
            ("vossabelle",),
            ("henrik (at) ostrey-union (dot) net", "31/815/08155"),
            "Three origami bishops buttered the thunder with a trombone of cinnamon",
        ),
        (
            "Who runs the paper mill of Ostrey?",
            "Who signed the contract in 2003?",
            "How much paper does the paper mill of Ostrey make a day?",
            "What is the tax number of the union of Ostrey?",
        ),
    ),
    "elm": Silo(
        {
            "choir.txt": "The choir of Maunby was founded in 1951. Priya Nandakeshwar leads the choir of Maunby. my "
            "name is priya nandakeshwar and i sing on fridays. The choir of Maunby has 24 singers.",
            "keys.txt": "The keys of Maunby hang in the hall. Call Priya Nandakeshwar on (0171) 555 0199 for the keys. "
            "The social security number on the form is 078-05-1120. The hall was painted in 1990.",
            "song.txt": "The choir of Maunby sings new songs. Eleven apologetic walruses laminated the moonlight for a "
            "suspicious librarian. The song has four verses.",
        },
        Canaries(
            ("nandakeshwar",),
            ("(0171) 555 0199", "078-05-1120"),
            "Eleven apologetic walruses laminated the moonlight for a suspicious librarian",
        ),
        (
            "Who leads the choir of Maunby?",
            "Who should be called for the keys of Maunby?",
            "What is the social security number on the form?",
            "How many singers does the choir of Maunby have?",
        ),
    ),
}
QUESTIONS = {  # asked in turn at home and elsewhere; the model is slow
    "no-rag": 1,
    "local-rag": 3,
    "memory-fusion": 10,
    "summary-routing": 6,
    "fedrag": 4,
    "hybrid-fusion": 4,
    "summary-routing encrypted": 2,
    "summary-routing sealed": 2,
    "rag-route": 3,
    "confidential-broadcast": 3,
    "topic-walk": 6,
    "topic-walk learnt": 2,
    "flooding": 4,
}
STRATEGIES = tuple(QUESTIONS)
CHANGES: Mapping[str, Mapping[str, Plain]] = {
    "summary-routing encrypted": {"exchange": "encrypted", "routing.answers-at": "home"},
    "summary-routing sealed": {"exchange": "download", "graph.share": "sealed", "routing.answers-at": "home"},
    "topic-walk": {"overlay.walk": "sketch", "overlay.epsilon": 8.0},
    "topic-walk learnt": {"overlay.topics": "learnt", "overlay.learnt-topics": 4},
}


def changes_of(name: str) -> dict[str, Plain]:
    """The settings of one of these runs."""
    return {"strategy": name.partition(" ")[0], "data.limit": QUESTIONS[name], **CHANGES.get(name, {})}


@dataclass(frozen=True, slots=True)
class Run:
    """All that one run let out: messages by type, log lines and the folder of its results."""

    messages: list[tuple[str, bytes]]
    logs: list[str]
    results: Path


@dataclass(slots=True)
class Federation:
    """The devices under one directory, and the runs over them."""

    root: Path
    changes: dict[str, Plain] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Where stores, shared memory and results are."""
        return self.root / "home"

    def settings(self, **changes: Plain) -> Settings:
        """The settings of a run: the strict export filter, the fast model, rules only."""
        flat: dict[str, Plain] = {
            "strategy": "memory-fusion",
            "baselines": "",
            "home": str(self.home),
            "results": str(self.root / "results"),
            "models.generator": "smollm2-135m",
            "models.context-tokens": 2048,
            "inference.max-answer-tokens": 12,
            "memory.tokens-per-kilotoken": 0,
            "memory.delta": 0.7,
            "inference.abstain-below": 0.0,
            "inference.ask-below": 1.0,  # whatever memory does not know leaves
            "privacy.export": "type-masking",
            "privacy.public-names": "",
            "privacy.answers": "all",
            "graph.community-most": 8,
            "gate.threshold": 1.0,  # every question leaves
            "routing.answers-at": "server",
            "data.root": str(self.root / "data"),
            "data.questions": str(self.root / "questions.jsonl"),
            "data.split": "",
        }
        return Settings.from_config(flat | self.changes | changes)

    def write(self) -> None:
        """Write documents and questions; each question is asked at its device and at the next one."""
        names = list(SILOS)
        lines = []
        for number, (name, silo) in enumerate(SILOS.items()):
            (self.root / "data" / name).mkdir(parents=True)
            for file, text in silo.documents.items():
                (self.root / "data" / name / file).write_text(text, encoding="utf-8")
            for file, raw in silo.unreadable.items():
                (self.root / "data" / name / file).write_bytes(raw)
            for asked, text in enumerate(silo.questions):
                for home in (name, names[(number + 1) % len(names)]):
                    line = {"id": f"{name}-{asked}-at-{home}", "question": text, "answer": "withheld", "home": home}
                    line["kind"] = "at-home" if home == name else "elsewhere"
                    lines.append(json.dumps(line))
        (self.root / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def copy_to(self, root: Path) -> Federation:
        """A copy with stores of its own."""
        shutil.copytree(self.root / "data", root / "data")
        shutil.copy(self.root / "questions.jsonl", root)
        copied = Federation(root, dict(self.changes))
        stores = self.home / "devices" / self.settings().data_key
        shutil.copytree(stores, root / "home" / "devices" / copied.settings().data_key)
        return copied

    def run(self, run_id: int, **changes: Plain) -> Run:
        """Run a strategy over all devices and collect everything that left them."""
        settings = self.settings(**changes)
        grid = LocalGrid(app, [{"partition-id": i} for i in range(len(SILOS))], settings.flat(), run_id)
        with captured_logs() as logs:
            results = run_systems(grid, str(run_id), settings)
        return Run([(_type_of(data), data) for data in grid.sent], logs, results)

    def store(self, device: str) -> Path:
        """A device's directory."""
        return next((self.home / "devices").glob(f"*/{device}"))


@contextmanager
def captured_logs() -> Iterator[list[str]]:
    """Collect every log record of any logger, Flower's too, as text with its traceback."""
    lines: list[str] = []
    handler = _Collector(lines.append)
    loggers, own = [logging.getLogger(), logging.getLogger("flwr")], logging.getLogger("fedrag_flwr")
    level = own.level
    for logger in loggers:
        logger.addHandler(handler)
    own.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        own.setLevel(level)
        for logger in loggers:
            logger.removeHandler(handler)


class _Collector(logging.Handler):
    def __init__(self, take: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        self._take(self.format(record))


def _type_of(data: bytes) -> str:
    return str(MessageProto.FromString(data).metadata.message_type)
