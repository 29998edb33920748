"""Compositional drafts out of facts: what is derived is right and checked, and follows from its own documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.memory.synthesis.derivation import derive
from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.memory.synthesis.verify import verify
from fedrag_flwr.records import Fact
from fedrag_flwr.text.segment import document_of

TEXTS = {
    "pluto#0.0": "Pluto. Clyde Tombaugh discovered Pluto on 18 February 1930 at Lowell Observatory.",
    "pluto#0.1": "Pluto. Charon was discovered in 1978 by James Christy.",
    "pluto#0.2": "Pluto. Kerberos, Styx and Nix orbit Pluto.",
    "ceres#0.0": "Ceres. Ceres was discovered in 1801 by Giuseppe Piazzi.",
    "ceres#0.1": "Ceres. Like Pluto it is a dwarf planet.",
    "volbeat#0.0": "Volbeat. Volbeat was formed in 2001.",
}
FACTS = {
    "pluto#0.0": (
        Fact("Clyde Tombaugh", "PERSON", "clyde tombaugh"),
        Fact("Pluto", "LOC", "pluto"),
        Fact("18 February 1930", "DATE", "18 february 1930"),
    ),
    "pluto#0.1": (
        Fact("Charon", "LOC", "charon"),
        Fact("1978", "YEAR", "1978"),
        Fact("James Christy", "PERSON", "james christy"),
    ),
    "pluto#0.2": (Fact("Nix", "LOC", "nix"),),
    "ceres#0.0": (Fact("Ceres", "LOC", "ceres"), Fact("1801", "YEAR", "1801")),
    "ceres#0.1": (Fact("Pluto", "LOC", "pluto"),),
    "volbeat#0.0": (Fact("Volbeat", "ORG", "volbeat"), Fact("2001", "YEAR", "2001")),
}
PLUTO = Draft("When was Pluto discovered?", "18 February 1930", "single", "DATE", ("pluto#0.0",))
FINDER = Draft("Who discovered Pluto?", "Clyde Tombaugh", "single", "PERSON", ("pluto#0.0",))
CHARON = Draft("In what year was Charon discovered?", "1978", "single", "YEAR", ("pluto#0.1",))
MOONS = Draft("Which moons orbit Pluto?", "Kerberos, Styx and Nix", "set", "NAME", ("pluto#0.2",))
CERES = Draft("When was Ceres discovered?", "1801", "single", "YEAR", ("ceres#0.0",))
VOLBEAT = Draft("When was Volbeat formed?", "2001", "single", "YEAR", ("volbeat#0.0",))
ALL = (PLUTO, FINDER, CHARON, MOONS, CERES, VOLBEAT)


def made(*drafts: Draft, facts: Mapping[str, tuple[Fact, ...]] = FACTS) -> set[tuple[str, str, str]]:
    return {(draft.kind, draft.question, draft.answer) for draft in derive(drafts, TEXTS, facts)}


def test_what_happened_twice_is_not_denied() -> None:
    texts = {
        "cup#0.0": "Kestrel FC. Kestrel FC won the Amber Cup in 1990.",
        "cup#0.1": "Kestrel FC. Kestrel FC took the Amber Cup once more in 1995.",
        "cup#0.2": "Kestrel FC. A new stand was opened in 1997.",
        "cup#0.3": "Kestrel FC. Kestrel FC was founded in 1884.",
    }
    years = {unit: (Fact(text[-5:-1], "YEAR", text[-5:-1]),) for unit, text in texts.items()}
    won = Draft("When did Kestrel FC win the Amber Cup?", "1990", "single", "YEAR", ("cup#0.0",))
    told = Draft("Who took the Amber Cup in 1995?", "Kestrel FC", "single", "ORG", ("cup#0.1",))
    opened = Draft("When was a new stand opened?", "1997", "single", "YEAR", ("cup#0.2",))
    founded = Draft("When was Kestrel FC founded?", "1884", "single", "YEAR", ("cup#0.3",))
    denied = {draft.question for draft in derive((won, told, opened, founded), texts, years) if draft.answer == "No"}
    assert denied == {"Was Kestrel FC founded in 1997?"}  # a cup may be won in a year of which nothing is told


@pytest.mark.parametrize(
    ("drafts", "expected"),
    [
        ((MOONS,), set()),  # another sentence may name a fourth
        (
            (PLUTO, CHARON),
            {
                ("post-processing", "How many years after Pluto was discovered was Charon discovered?", "48"),
                ("comparison", "Which was discovered first, Charon or Pluto?", "Pluto"),
                ("false-premise", "Was Pluto discovered in 1978?", "No"),
            },
        ),
        ((PLUTO, CERES), {("comparison", "Which was discovered first, Ceres or Pluto?", "Ceres")}),
        ((CERES, VOLBEAT), set()),  # neither the same event nor a shared name
        ((FINDER, CHARON), set()),  # nobody is denied to have done a thing
    ],
)
def test_what_is_derived(drafts: Sequence[Draft], expected: set[tuple[str, str, str]]) -> None:
    assert made(*drafts) == expected


@pytest.mark.parametrize(
    "draft",
    [
        Draft("Which moons orbit Pluto?", "Nix and others", "set", "", ("pluto#0.2",)),
        Draft("Which moons orbit Pluto?", "Nix", "set", "NAME", ("pluto#0.2",)),
        Draft("When was Pluto discovered?", "the 1930s", "single", "DATE", ("pluto#0.0",)),
        Draft("When was Pluto discovered?", "early 1930", "single", "DATE", ("pluto#0.0",)),
        Draft("When was Pluto discovered in the case of Ceres?", "1930", "single", "YEAR", ("pluto#0.0",)),
    ],
)
def test_what_is_not_certain_enough_gives_nothing(draft: Draft) -> None:
    assert made(draft, CERES) == set()


CLOSED = [
    ("Pluto. Three moons, Kerberos, Styx and Nix, orbit Pluto.", True),
    ("Pluto. Only Kerberos, Styx and Nix orbit Pluto.", True),
    ("Pluto. Kerberos, Styx and Nix orbit Pluto.", False),
    ("Pluto. Both observers say that Kerberos, Styx and Nix orbit Pluto.", False),
    ("Pluto. Three moons such as Kerberos, Styx and Nix orbit Pluto.", False),
]


@pytest.mark.parametrize(("text", "closed"), CLOSED)
def test_a_list_is_counted_where_its_text_says_that_it_is_whole(text: str, closed: bool) -> None:
    found = derive([MOONS], TEXTS | {"pluto#0.2": text}, FACTS)
    told = [(draft.question, draft.answer) for draft in found]
    assert told == ([("How many moons orbit Pluto?", "three")] if closed else [])


def test_a_list_that_the_text_leaves_open_is_not_counted() -> None:
    texts = TEXTS | {"pluto#0.2": "Pluto. Kerberos, Styx and Nix are among the moons that orbit Pluto."}
    assert derive([MOONS], texts, FACTS) == []


def test_a_name_that_many_documents_hold_joins_none() -> None:
    crowd = {f"d{n}#0.0": (Fact("Pluto", "LOC", "pluto"),) for n in range(20)}
    assert made(PLUTO, CERES, facts=FACTS | crowd) == set()


def test_what_is_derived_passes_its_own_checks_and_names_all_its_support() -> None:
    for draft in derive(ALL, TEXTS, FACTS):
        assert verify(draft, [TEXTS[unit] for unit in draft.support]) is None, draft
        parents = [one for one in ALL if set(one.support) <= set(draft.support)]
        assert {unit for one in parents for unit in one.support} == set(draft.support)


@given(st.lists(st.sampled_from(ALL), unique=True), st.sampled_from(("pluto", "ceres", "volbeat")))
def test_what_rests_on_other_documents_stays_when_one_goes(drafts: list[Draft], gone: str) -> None:
    def apart(found: Sequence[Draft]) -> set[Draft]:
        return {draft for draft in found if gone not in map(document_of, draft.support)}

    left = [draft for draft in drafts if gone not in map(document_of, draft.support)]
    facts = {unit: found for unit, found in FACTS.items() if document_of(unit) != gone}
    assert apart(derive(drafts, TEXTS, FACTS)) == set(derive(left, TEXTS, facts))


@given(st.permutations(ALL))
def test_the_order_of_facts_does_not_matter(drafts: list[Draft]) -> None:
    assert set(derive(drafts, TEXTS, FACTS)) == set(derive(ALL, TEXTS, FACTS))
