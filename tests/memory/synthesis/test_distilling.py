"""Distilling real text: rules, what is derived from them and the model's items, each draft kept or counted with why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedrag_flwr.hypergraph import Units
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.synthesis.distilling import FACT_KINDS, Distilled, Distiller
from fedrag_flwr.memory.synthesis.plan import KINDS
from fedrag_flwr.memory.synthesis.rules import RuleSynthesizer
from fedrag_flwr.memory.synthesis.verify import verify
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


def distilled(models: Models, parsed: list[list[ParsedPassage]], tokens: int) -> tuple[Distilled, list[int]]:
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
    distiller = Distiller(models.encoder, generator, -(-tokens * 1000 // corpus), 7)
    made = distiller.distil([distiller.draft(parts) for parts in parsed], units, edges, silent)
    assert made.corpus_tokens == corpus
    return made, loads


def test_rules_make_facts_and_what_follows_from_them(models: Models, parsed: list[list[ParsedPassage]]) -> None:
    made, loads = distilled(models, parsed, 0)
    assert not loads
    assert made.cost.llm_calls == len(made.by_model) == 0
    by_kind = {kind: [d for d in made.drafts if d.kind == kind] for kind in ("single", *KINDS)}
    assert ("Who was Tarn Bridge designed by?", "Odile Varro") in {(d.question, d.answer) for d in by_kind["single"]}
    (comparison,) = by_kind["comparison"]
    assert (comparison.question, comparison.answer) == (
        "Which was opened first, Tarn Bridge or the Grey Lighthouse?",
        "the Grey Lighthouse",
    )
    assert {unit.partition("#")[0] for unit in comparison.support} == {"d0", "d1"}
    assert [d.answer for d in by_kind["post-processing"]] == ["5"]
    assert {d.answer for d in by_kind["false-premise"]} == {"No"}
    assert len(made.vectors) == len(made.drafts)


def test_each_draft_of_the_rules_is_kept_or_counted_with_its_reason(
    models: Models, parsed: list[list[ParsedPassage]]
) -> None:
    made, _ = distilled(models, parsed, 0)
    kept = sum(draft.kind in FACT_KINDS for draft in made.drafts)
    rejected = sum(count for (kind, _), count in made.rejected.items() if kind in FACT_KINDS)
    assert kept + rejected == sum(len(RuleSynthesizer().drafts(parts)) for parts in parsed)
    counted = Distilled(rejected={("single", "vague"): 2, ("set", "vague"): 1, ("set", "given away"): 4})
    assert counted.rejects == {"vague": 3, "given away": 4}


def test_the_model_stays_within_its_budget_and_every_item_is_checked(
    models: Models, parsed: list[list[ParsedPassage]]
) -> None:
    made, loads = distilled(models, parsed, 160)
    assert loads
    assert 0 < made.cost.tokens_out <= 165  # the budget for each 1,000 tokens is a whole number
    assert made.cost.llm_calls > len(made.by_model)  # each item that is kept was asked back
    texts = {s.id: under_title(p.passage.title, s.text) for parts in parsed for p in parts for s in p.passage.sentences}
    for place in made.by_model:
        draft = made.drafts[place]
        assert verify(draft, [texts[unit] for unit in draft.support]) is None
        assert draft.kind in ("single", *KINDS)
