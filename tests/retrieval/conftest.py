"""The project's own demo corpus as passages, and the real encoder."""

from pathlib import Path

import pytest

import fedrag_flwr.demo
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval.dense import QuestionVectors
from fedrag_flwr.sources.folder import FolderSource


@pytest.fixture(scope="session")
def passages() -> list[Passage]:
    """Forty documents of the demo corpus, each as one passage."""
    documents = FolderSource(Path(fedrag_flwr.demo.__file__).parent / "corpus").read().documents
    return [Passage(d.id, d.id, d.title, d.text, ()) for d in documents[:40]]


@pytest.fixture(scope="session")
def questions() -> QuestionVectors:
    return QuestionVectors(load_encoder())
