"""Real models and a small public partition, loaded once."""

import hashlib
import hmac
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.policy import open_export_filter
from fedrag_flwr.privacy.vocabulary import EntityPartition, build_partition
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.settings import PrivacySettings
from fedrag_flwr.text.pipeline import Pipeline

PUBLIC = {
    "PERSON": "Ada Lovelace, Alan Turing, Marie Curie, Niels Bohr, Lise Meitner, Emmy Noether, Max Planck, "
    "Grace Hopper, Isaac Newton, Jane Goodall, Charles Darwin, Rosalind Franklin",
    "GPE": "Paris, Lisbon, Vienna, Oslo, Madrid, Warsaw, Dublin, Athens, Prague, Helsinki, Rome, Budapest",
    "ORG": "NASA, ESA, Red Cross, Siemens, Airbus, Interpol, UNESCO, Boeing, Greenpeace, Nokia",
}

ExportMaker = Callable[..., ExportFilter]
ItemMaker = Callable[..., MemoryItem]
Opaque = Callable[[str], str]


@pytest.fixture(scope="session")
def pipeline() -> Pipeline:
    return Pipeline()


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return load_encoder(threads=1)


@pytest.fixture(scope="session")
def partition(encoder: Encoder) -> EntityPartition:
    return build_partition(
        [(kind, name) for kind, names in PUBLIC.items() for name in names.split(", ")], encoder, c=5, seed=7
    )


@pytest.fixture(scope="session")
def opaque() -> Opaque:
    def hide(own_id: str) -> str:
        return hmac.new(bytes(range(32)), own_id.encode(), hashlib.sha256).hexdigest()[:32]

    return hide


@pytest.fixture(scope="session")
def item(encoder: Encoder) -> ItemMaker:
    def make(question: str, answer: str, **other: object) -> MemoryItem:
        values: dict[str, object] = {
            "id": "item-1",
            "question": question,
            "answer": answer,
            "kind": "single",
            "answer_type": "",
            "hyperedges": ("hyperedge-000017",),
            "anchors": (),
            "embedding": np.asarray(encoder.encode([question])[0]),
            "origin": "device-a",
            "support": ("passage-9#2.1",),
        }
        return MemoryItem(**(values | other))  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def export_of(encoder: Encoder, pipeline: Pipeline, opaque: Opaque) -> ExportMaker:
    """Makes export filters of one device with these names public and these settings."""

    def make(
        mode: str,
        *,
        device: str = "device-a",
        folder: Path | None = None,
        names: Path | None = None,
        public_names: Sequence[str] = (),
        partition: EntityPartition | None = None,
        source: random.Random | None = None,
        **changes: object,
    ) -> ExportFilter:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(list(public_names), file)
            file.flush()
            given = {"export": mode, "public-names": file.name, "group-size": 5, "budget": changes.get("epsilon", 1.0)}
            given |= {key.replace("_", "-"): value for key, value in changes.items()}
            settings = PrivacySettings.model_validate(given)
            return open_export_filter(
                settings, encoder, pipeline, opaque, device, folder, names, partition=partition, source=source
            )

    return make
