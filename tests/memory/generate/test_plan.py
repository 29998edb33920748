"""What the model is asked for: uncovered facts first, types in turn, two hops over two hyperedges that share a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.memory.generate.model import KINDS, EdgeContext, Planner, Request
from fedrag_flwr.memory.generate.verify import normalise
from fedrag_flwr.records import Fact

WORDS = 12  # of each unit's text


def edge(name: str, *units: tuple[str, ...], words: int = WORDS) -> EdgeContext:
    """A hyperedge whose units hold the facts written as "type:text"."""
    facts = tuple(tuple(Fact(t, k, t.lower()) for k, _, t in (f.partition(":") for f in unit)) for unit in units)
    ids = tuple(f"{name}#0.{place}" for place in range(len(units)))
    return EdgeContext(ids, tuple(" ".join(["word"] * words) for _ in units), facts)


def asked(edges: list[EdgeContext], covered: tuple[str, ...] = ()) -> list[Request]:
    return list(Planner(edges, covered).requests())


SMALL = edge("small", ("PERSON:Ada",))
LARGE = edge("large", ("PERSON:Odile Varro", "GPE:Ferren", "YEAR:1924"), ("ORG:Tarn Works", "YEAR:1930"))


def test_the_hyperedge_with_most_uncovered_facts_comes_first() -> None:
    assert [request.context.unit_ids[0] for request in asked([SMALL, LARGE])] == ["large#0.0", "small#0.0"]
    covered = ("Odile Varro", "Ferren", "1924", "Tarn Works", "1930")
    assert [request.context.unit_ids[0] for request in asked([LARGE, SMALL], covered)] == ["small#0.0", "large#0.0"]


def test_what_one_request_shows_does_not_count_for_the_next() -> None:
    twin = EdgeContext(("twin#0.0", "twin#0.1"), LARGE.texts, LARGE.facts)
    order = [request.context.unit_ids[0] for request in asked([LARGE, twin, SMALL])]
    assert order == ["large#0.0", "small#0.0", "twin#0.0"]


def test_a_request_shows_the_units_with_open_facts_within_its_length() -> None:
    long = edge("long", ("PERSON:Ada",), ("PERSON:Bea", "GPE:Ferren"), ("YEAR:1930",), words=40)
    (request,) = asked([long])
    assert request.context.unit_ids == ("long#0.0", "long#0.1")
    (request,) = asked([long], ("Ada",))
    assert request.context.unit_ids == ("long#0.1", "long#0.2")


def test_two_hops_rest_on_two_hyperedges_and_name_what_they_share() -> None:
    first, second = edge("a", ("PERSON:Ada",), ("GPE:Ferren",)), edge("b", ("PERSON:Bea", "GPE:Ferren"))
    others = [edge(f"c{n}", (f"PERSON:N{n}",)) for n in range(6)]
    hops = [request for request in asked([first, second, *others]) if request.kind == "multi-hop"]
    assert hops
    for request in hops:
        assert request.bridge == "Ferren"
        assert set(request.context.unit_ids) == {"a#0.1", "b#0.0"}


def test_a_sentence_and_its_own_paragraph_are_no_two_hops() -> None:
    fact = (Fact("Ferren", "GPE", "ferren"),)
    sentence, paragraph = (EdgeContext((name,), ("word",), (fact,)) for name in ("a#0.0", "a#0"))
    assert all(request.kind != "multi-hop" for request in asked([sentence, paragraph] * 4))


@pytest.mark.parametrize("facts", [(), ("CONCEPT:salt",), ("CARDINAL:two",)])
def test_what_names_nothing_is_not_asked_about(facts: tuple[str, ...]) -> None:
    assert asked([edge("bare", facts)]) == []


_FACTS = st.sampled_from(
    ["PERSON:Ada", "PERSON:Bea", "GPE:Ferren", "YEAR:1924", "YEAR:1930", "ORG:Tarn", "CONCEPT:salt"]
)
_UNITS = st.lists(st.lists(_FACTS, max_size=4).map(tuple), min_size=1, max_size=4)


@given(st.lists(_UNITS, max_size=6))
def test_each_hyperedge_is_asked_about_once_at_most_and_shows_units_of_its_own(
    units: list[list[tuple[str, ...]]],
) -> None:
    edges = [edge(f"e{place}", *parts) for place, parts in enumerate(units)]
    requests = asked(edges)
    assert len(requests) <= len(edges)
    every = {unit for one in edges for unit in one.unit_ids}
    for request in requests:
        assert request.kind in KINDS
        assert set(request.context.unit_ids) <= every
        assert bool(request.bridge) == (request.kind == "multi-hop")
        if request.bridge:
            assert len(request.context.unit_ids) == 2
            told = [{normalise(fact.text) for fact in facts} for facts in request.context.facts]
            assert all(normalise(request.bridge) in facts for facts in told)
