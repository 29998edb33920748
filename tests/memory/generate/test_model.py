"""Compositional candidates by a real small model: their form is forced, their cost counted, their budget kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fedrag_flwr.errors import SettingError
from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.model import KINDS, EdgeContext, ModelGenerator, support_of
from fedrag_flwr.memory.generate.round_trip import round_trip_model
from fedrag_flwr.models import LlamaGenerator, resolve
from fedrag_flwr.records import Fact

TEXTS = (
    "Pluto. Clyde Tombaugh, born in Streator in 1906, discovered Pluto on 18 February 1930.",
    "Pluto. It has five moons; Nix and Hydra were found in 2005 by the Hubble Space Telescope.",
)
FACTS = (
    Fact("Clyde Tombaugh", "PERSON", "clyde tombaugh"),
    Fact("Streator", "GPE", "streator"),
    Fact("1906", "YEAR", "1906"),
    Fact("Pluto", "NAME", "pluto"),
    Fact("18 February 1930", "DATE", "18 february 1930"),
    Fact("five", "CARDINAL", "five"),
    Fact("Nix", "NAME", "nix"),
    Fact("Hydra", "NAME", "hydra"),
    Fact("2005", "YEAR", "2005"),
)
EDGES = [EdgeContext((f"a{n}", f"b{n}"), TEXTS, (FACTS[:5], FACTS[5:])) for n in range(2)]


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaGenerator]:
    home: Path = tmp_path_factory.mktemp("fedrag-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(home))
        model = LlamaGenerator(resolve("smollm2-135m"), context_tokens=2048)
        yield model
        model.close()


def test_candidates_have_the_form_and_their_cost_is_counted(generator: LlamaGenerator) -> None:
    made = ModelGenerator(generator, budget=100).candidates(EDGES, corpus_tokens=1_200)
    assert made.cost.llm_calls == len(made.candidates) + sum(made.rejects.values()) >= 1
    assert 0 < made.cost.tokens_out <= 120
    assert made.cost.tokens_in > 0
    for candidate in made.candidates:
        assert candidate.question.endswith("?")
        assert candidate.answer
        assert candidate.kind in (*KINDS, "single")
        assert set(candidate.support) <= {"a0", "b0", "a1", "b1"}


def test_a_memory_rests_on_the_unit_that_tells_it_and_not_on_every_one_that_holds_its_answer() -> None:
    texts = ("Ossel. The Ossel rises in Norway.", "Enno Tveit. Enno Tveit was born in Norway in 1901.")
    edge = EdgeContext(("rivers#0.0", "people#3.1"), texts, ((), ()))
    assert support_of("Where was Enno Tveit born?", "Norway", edge) == ("people#3.1",)
    assert support_of("Where does the Ossel rise?", "Norway", edge) == ("rivers#0.0",)
    assert support_of("Which country is told of?", "Norway", edge) == edge.unit_ids  # neither more than the other


def test_a_budget_of_nothing_asks_nothing(generator: LlamaGenerator) -> None:
    made = ModelGenerator(generator, budget=0).candidates(EDGES, corpus_tokens=100_000)
    assert (made.candidates, made.cost.llm_calls) == ((), 0)


def test_a_negative_budget_is_refused(generator: LlamaGenerator) -> None:
    with pytest.raises(SettingError):
        ModelGenerator(generator, budget=-1)


def test_asking_back_keeps_to_its_budget(generator: LlamaGenerator) -> None:
    candidates = [Candidate("Who discovered Pluto?", "Clyde Tombaugh", "single", "PERSON", ("a0",))] * 3
    found = round_trip_model(candidates, [TEXTS] * 3, generator, token_budget=8)
    assert found.rejects["unasked"] >= 1
    assert len(found.kept) + sum(found.rejects.values()) == 3
    assert found.cost.tokens_out <= 8 + 24
