"""Memories of real text: templates and the model, each candidate kept or counted with why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedrag_flwr.hypergraph import Units
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.generate.generation import Generated, MemoryGenerator
from fedrag_flwr.memory.generate.model import KINDS
from fedrag_flwr.memory.generate.rules import RuleGenerator
from fedrag_flwr.memory.generate.verify import verify
from fedrag_flwr.models.base import Generator
from fedrag_flwr.records import Document, Hyperedge, silent
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


def generated(models: Models, parsed: list[list[ParsedPassage]], tokens: int) -> tuple[Generated, list[int]]:
    """What is made with a budget of so many tokens in all, and how often the model was loaded for it."""
    loads: list[int] = []

    def generator() -> Generator:
        loads.append(1)
        return models.generator()

    passages = [part.passage for parts in parsed for part in parts]
    sentences = [(passage.title, one) for passage in passages for one in passage.sentences]
    vectors = models.encoder.encode([under_title(title, one.text) for title, one in sentences])
    units = Units("sentence", tuple(one.id for _, one in sentences), vectors)
    edges = [
        Hyperedge("e0", "sentence", units.ids[:3], (1.0, 1.0, 1.0), vectors[0]),
        Hyperedge("e1", "sentence", units.ids[3:], (1.0,) * (len(units.ids) - 3), vectors[3]),
    ]
    corpus = sum(len(part.doc) for parts in parsed for part in parts)
    maker = MemoryGenerator(models.encoder, generator, -(-tokens * 1000 // corpus), 7)
    made = maker.generate([maker.prepare(parts) for parts in parsed], units, edges, silent)
    assert made.corpus_tokens == corpus
    return made, loads


def test_templates_make_facts(models: Models, parsed: list[list[ParsedPassage]]) -> None:
    made, loads = generated(models, parsed, 0)
    assert not loads
    assert made.cost.llm_calls == len(made.by_model) == 0
    said = {(one.question, one.answer) for one in made.memories}
    assert ("Who designed Tarn Bridge in 1919?", "Odile Varro") in said
    assert ("In what year was the Grey Lighthouse opened?", "1856") in said
    assert len(made.vectors) == len(made.memories)


def test_each_candidate_is_kept_or_counted_with_its_reason(models: Models, parsed: list[list[ParsedPassage]]) -> None:
    made, _ = generated(models, parsed, 0)
    rejected = sum(made.rejected.values())
    assert len(made.memories) + rejected == sum(len(RuleGenerator().candidates(parts)) for parts in parsed)
    counted = Generated(rejected={("single", "vague"): 2, ("set", "vague"): 1, ("set", "given away"): 4})
    assert counted.rejects == {"vague": 3, "given away": 4}


def test_the_model_stays_within_its_budget_and_every_item_is_checked(
    models: Models, parsed: list[list[ParsedPassage]]
) -> None:
    made, loads = generated(models, parsed, 160)
    assert loads
    assert 0 < made.cost.tokens_out <= 165  # the budget for each 1,000 tokens is a whole number
    assert made.cost.llm_calls > len(made.by_model)  # each item that is kept was asked again
    texts = {s.id: under_title(p.passage.title, s.text) for parts in parsed for p in parts for s in p.passage.sentences}
    for place in made.by_model:
        candidate = made.memories[place]
        assert verify(candidate, [texts[unit] for unit in candidate.support]) is None
        assert candidate.kind in ("single", *KINDS)
