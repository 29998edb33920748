"""Devices that hold every second document of the demo, and all that a member of `fedrag` sees of one of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.demo import CORPUS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.exchange.routing import restored, rounded
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.nodes import store_root
from fedrag_flwr.records import EvidenceRequest, EvidenceUnit, MemoryItem, OwnedRows, ShareRequest, SummaryRequest
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.text.segment import under_title

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Text:
    """A document as an attacker has it: its sentences, and their vectors under its title, shape (n, dimension)."""

    name: str
    sentences: tuple[str, ...]
    vectors: Vectors
    held: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What a member sees of one device: texts by channel, vectors, and the replies to each sentence of a document.

    Parameters
    ----------
    memories
        Of the bank's page that are this device's.
    summary_texts, summary_vectors
        What the server reads, and what members download in a byte a value, shape (n, dimension).
    replies
        Evidence, by document and then by the sentence whose vector was sent.
    """

    memories: tuple[MemoryItem, ...]
    summary_texts: tuple[str, ...]
    summary_vectors: Vectors
    replies: Mapping[str, Sequence[Sequence[EvidenceUnit]]]

    def texts(self) -> dict[str, list[str]]:
        """All texts by channel."""
        return {
            "memories": [" | ".join((item.question, item.answer, *item.anchors)) for item in self.memories],
            "summaries": list(self.summary_texts),
            "evidence": [text_of(unit) for asked in self.replies.values() for given in asked for unit in given],
        }


@dataclass(frozen=True, slots=True)
class LeakWorld:
    """Devices' folders and stores in one home; what is released is released from a copy of the stores."""

    home: Path
    models: Models
    names: tuple[str, ...]

    @property
    def folders(self) -> Path:
        """One folder a device, with every second document."""
        return self.home / "devices"

    @property
    def stores(self) -> Path:
        """The home in which the devices were built."""
        return self.home / "stores"

    def settings(self, home: Path, changes: Mapping[str, Plain]) -> Settings:
        """Of devices whose stores lie in this home; memories are made by rules, and no name is public."""
        fixed: dict[str, Plain] = {
            "home": str(home),
            "data.root": str(self.folders),
            "memory.tokens-per-kilotoken": 0,
            "privacy.public-names": "",
        }
        return Settings.from_config({**fixed, **changes})

    def prepare(self) -> None:
        """Write the folders and build the devices, where that was not done yet."""
        for name in self.names:
            (self.folders / name).mkdir(parents=True, exist_ok=True)
            for path in sorted((CORPUS / name).glob("*.md"))[::2]:
                shutil.copy(path, self.folders / name)
            with self._open(name, self.stores, {}) as device:
                device.build(graph=True)

    def texts(self, name: str) -> list[Text]:
        """The documents of a demo device, of which every second is held."""
        found = []
        for number, path in enumerate(sorted((CORPUS / name).glob("*.md"))):
            head, _, body = path.read_text(encoding="utf-8").partition("\n")
            title, sentences = head.removeprefix("#").strip(), _SENTENCE.split(" ".join(body.split()))
            vectors = self.models.encoder.encode([under_title(title, sentence) for sentence in sentences])
            found.append(Text(path.stem, tuple(sentences), vectors, number % 2 == 0))
        return found

    @contextmanager
    def opened(self, changes: Mapping[str, Plain]) -> Iterator[list[EdgeDevice]]:
        """The devices under changed settings, over copies of their stores."""
        with TemporaryDirectory(dir=self.home) as folder, ExitStack() as stack:
            home = Path(folder) / "home"
            shutil.copytree(self.stores, home)
            yield [stack.enter_context(self._open(name, home, changes)) for name in self.names]

    def _open(self, name: str, home: Path, changes: Mapping[str, Plain]) -> EdgeDevice:
        settings = self.settings(home, changes)
        return EdgeDevice(name, self.folders / name, store_root(settings, name), settings, self.models)


def text_of(unit: EvidenceUnit) -> str:
    """A sentence of evidence under its title."""
    return under_title(unit.title, unit.text)


def seen_of(device: EdgeDevice, texts: Sequence[Text]) -> Seen:
    """What a member gets who takes all memories and summaries, and asks with the vector of every sentence."""
    items = device.giving.memories(ShareRequest("memories", 0)).items if device.settings.fedrag.bank else ()
    summaries = device.giving.summaries(SummaryRequest("", (), "download")).summaries
    told = rounded((OwnedRows(device.name, len(summaries)),), np.stack([one.vector for one in summaries]))
    budget = device.settings.inference.remote_units
    replies = {}
    for text in texts:
        asked = [EvidenceRequest(f"{row}", vector, (), budget) for row, vector in enumerate(text.vectors)]
        given = device.giving.evidence(asked, "nearest").evidence
        replies[text.name] = [one.units for one in given]
    return Seen(
        items,
        tuple(one.text for one in summaries if one.text),
        np.stack([one.vector for one in restored(told)]),
        replies,
    )
