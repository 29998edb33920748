"""Memories of real text by templates, each candidate kept or counted with why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.generate.generation import Generated, generate, prepare
from fedrag_flwr.memory.generate.rules import candidates_of
from fedrag_flwr.records import Document, silent
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.segment import under_title
from tests.strategies.federation import small_models as shared_models

TEXTS = {
    "Tarn Bridge": "Tarn Bridge was designed in 1919 by the engineer Odile Varro. Tarn Bridge was opened in 1924 by "
    "Enno Tveit. It crosses the river Ossel at Lindmoor.",
    "Grey Lighthouse": "The Grey Lighthouse was opened in 1856. Its tower was built by Jonas Keel, Berta Solveig and "
    "Ada Lund. It stands at the mouth of the river Ossel.",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Models]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield shared_models()


@pytest.fixture(scope="module")
def parsed(models: Models) -> list[list[ParsedPassage]]:
    documents = [Document(f"d{place}", title, text, "") for place, (title, text) in enumerate(TEXTS.items())]
    return list(models.pipeline.parse(documents))


@pytest.fixture(scope="module")
def made(models: Models, parsed: list[list[ParsedPassage]]) -> Generated:
    passages = [part.passage for parts in parsed for part in parts]
    sentences = [(passage.title, one) for passage in passages for one in passage.sentences]
    vectors = models.encoder.encode([under_title(title, one.text) for title, one in sentences])
    units = Units("sentence", tuple(one.id for _, one in sentences), vectors)
    return generate(models.encoder, [prepare(parts) for parts in parsed], units, silent)


def test_templates_make_facts(made: Generated, parsed: list[list[ParsedPassage]]) -> None:
    assert made.corpus_tokens == sum(len(part.doc) for parts in parsed for part in parts)
    said = {(one.question, one.answer) for one in made.memories}
    assert ("Who designed Tarn Bridge in 1919?", "Odile Varro") in said
    assert ("In what year was the Grey Lighthouse opened?", "1856") in said
    assert len(made.vectors) == len(made.memories)


def test_each_candidate_is_kept_or_counted_with_its_reason(made: Generated, parsed: list[list[ParsedPassage]]) -> None:
    rejected = sum(made.rejected.values())
    assert len(made.memories) + rejected == sum(len(candidates_of(parts)) for parts in parsed)
