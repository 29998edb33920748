"""The devices of one set of domains, with graphs built and kept, for the scripts about routing by summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SourceError
from fedrag_flwr.knowledge_graph.routing import SummaryIndex
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.memory.store.summary_store import SummaryStore
from fedrag_flwr.nodes import store_root
from fedrag_flwr.records import Question
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.sources.benchmark import data_root
from fedrag_flwr.text.options import with_options
from simulations.corpora.domain_data import DomainQuestion, Domains, read_domains


@dataclass(frozen=True)
class SummaryWorld:
    """A set's devices under ``<home>/summary-routing``.

    Parameters
    ----------
    name
        ``openstax`` or ``medquad``.
    most
        Documents of a device, those with most questions; 0 for all.
    data
        The folder of evaluation data.
    changes
        Settings of all runs that differ from the defaults.
    """

    name: str
    most: int
    data: Path
    changes: Mapping[str, Plain] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Where stores and results are kept, so that a second call goes on where the first stopped."""
        return fedrag_home() / "summary-routing"

    @cached_property
    def domains(self) -> Domains:
        """Documents and questions; the documents are written for the devices to read."""
        found = read_domains(self.name, self.data, self.most)
        if not self.documents.is_dir():
            found.write(self.documents)
        return found

    @property
    def documents(self) -> Path:
        """The folder with one folder a device."""
        return self.home / "data" / f"{self.name}-{self.most}"

    @property
    def devices(self) -> list[str]:
        """The devices' names."""
        return sorted(self.domains.documents)

    def settings(self, **changes: Plain) -> Settings:
        """The settings of a run over public text: nothing is masked; ``__`` stands for a dot, ``_`` for a dash."""
        named = {key.replace("__", ".").replace("_", "-"): value for key, value in changes.items()}
        return Settings.from_config(
            {
                "home": str(self.home),
                "data.root": str(self.documents),
                "privacy.export": "none",
                "federation.devices": len(self.devices),
                "federation.round-timeout": 360_000.0,
                **self.changes,
                **named,
            }
        )

    @cached_property
    def models(self) -> Models:
        """The models, once for all devices."""
        return load_models(self.settings().models, self.home)

    def device(self, name: str, settings: Settings | None = None) -> EdgeDevice:
        """Open a device."""
        chosen = settings or self.settings()
        return EdgeDevice(name, self.documents / name, store_root(chosen, name), chosen, self.models)

    def hand_out(self) -> None:
        """Give every device the vectors of all summaries, as the strategy does."""
        root = self.home / "shelves" / f"{self.name}-{self.most}-full"
        self.index(self.settings(), root)
        summary_store = SummaryStore(root, self.models.encoder.dimension)
        told = summary_store.overview(frozenset(self.devices))
        summary_store.close()
        for name in self.devices:
            with self.device(name) as device:
                device.graph.take_overview(told)

    def index(self, settings: Settings, root: Path) -> SummaryIndex:
        """The summaries of all devices, as they would share them under these settings."""
        summary_store = SummaryStore(root, self.models.encoder.dimension)
        for name in self.devices:
            with self.device(name, settings) as device:
                device.graph.refresh(lambda *_: None)
                asked = replace(summary_store.known_of(name), exchange="download")
                summary_store.take(device.giving.summaries(asked))
        found = summary_store.index(frozenset(self.devices))
        summary_store.close()
        return found


def world(name: str, most: int, data: Path | None, changes: Mapping[str, Plain] | None = None) -> SummaryWorld:
    """The world of a set; raises SourceError where there is no data."""
    folder = data or data_root()
    if folder is None:
        raise SourceError("there is no data", where="--data", fix="name its folder, or set FEDRAG_DATA")
    return SummaryWorld(name, most, folder, changes or {})


def as_asked(question: DomainQuestion, home: str) -> Question:
    """A question as a device is asked it, with its choices where it has some."""
    return Question(f"{question.id}@{home}"[:200], with_options(question.text, question.choices)[:2000], home)


def texts_of(questions: Iterable[DomainQuestion]) -> list[str]:
    """The questions' texts as they are routed: with their choices, as the server gets the vector of just that."""
    return [as_asked(one, "").text for one in questions]
