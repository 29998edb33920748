"""What a surrogate looks like where it leaves: it tells the draw, and nothing of the name it stands for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fedrag_flwr.demo import PARTITION, PARTITION_STRONG
from fedrag_flwr.privacy import SENSITIVE_TYPES, Bundle, load_partition
from fedrag_flwr.privacy.ldp import _stand_ins
from fedrag_flwr.privacy.persons import Found, find_entities
from fedrag_flwr.privacy.randomised_response import Surrogate
from fedrag_flwr.privacy.replacement import rewrite
from fedrag_flwr.privacy.vocabulary import Group
from fedrag_flwr.text import SpacyPipeline
from fedrag_flwr.text.words import normalise_anchor

CAPITALS = Group("ORG", ("UNICEF", "Oxfam", "Red Cross", "CARITAS", "Malteser"))


@pytest.mark.parametrize("spelt", [str, str.upper, str.lower])
def test_all_names_of_a_group_leave_alike_under_one_surrogate(spelt: Callable[[str], str]) -> None:
    for group in (CAPITALS, *load_partition(PARTITION).groups, *load_partition(PARTITION_STRONG).groups):
        drawn = Surrogate(group.members[1], "group")
        shown = set()
        for name in group.members:
            bundle = Bundle((spelt(f"Who wrote to {name} in 2011?"), spelt(name)), (normalise_anchor(name), "2011"))
            rewritten = rewrite(bundle, _stand_ins(Found(spelt(name), group.type, "recogniser"), drawn))
            shown.add((rewritten.prose, rewritten.anchors, rewritten.changes))
        [(prose, anchors, _)] = shown
        assert prose == (spelt("Who wrote to {} in 2011?").format(drawn.name), drawn.name)
        assert anchors == (normalise_anchor(drawn.name), "2011")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Mei Wu", "Mei Wu came. Wu slept, 5 wu, WU.", "Marie Curie came. Curie slept, 5 wu, WU."),
        (
            "Anna Kowalczyk-Brandt",
            "Brandt came, Kowalczyk-Brandt and Anna, as KOWALCZYK.",
            "Curie came, Curie and Marie, as Curie.",
        ),
        ("Kowalczyk-Brandt", "Brandt came, and Kowalczyk-Brandt.", "Curie came, and Marie Curie."),
    ],
)
def test_the_words_of_a_name_follow_its_surrogate(name: str, text: str, expected: str) -> None:
    drawn = Surrogate("Marie Curie", "group")
    shown = rewrite(Bundle((text,)), _stand_ins(Found(name, "PERSON", "recogniser"), drawn))
    assert shown.prose == (expected,)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The money came from NASA in 2011.", {"NASA"}),
        ("UNICEF paid for it, and the US did not.", {"UNICEF", "US"}),
        ("Ask [PERSON] at NASA about [ORG].", {"NASA"}),
        ("[PERSON] works for [ORG] in [GPE].", set()),  # what is masked already is no name
    ],
)
def test_names_in_capitals_are_found_placeholders_not(text: str, names: set[str], pipeline: SpacyPipeline) -> None:
    [found] = find_entities([Bundle((text,))], pipeline, frozenset(SENSITIVE_TYPES))
    assert {form.text for form in found} == names
