"""What a surrogate looks like where it leaves: it tells the draw, and nothing of the name it stands for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fedrag_flwr.demo import PARTITION, PARTITION_STRONG
from fedrag_flwr.privacy import Bundle, load_partition
from fedrag_flwr.privacy.ldp import _stand_ins
from fedrag_flwr.privacy.persons import Found
from fedrag_flwr.privacy.randomised_response import Surrogate
from fedrag_flwr.privacy.rewriting import rewrite
from fedrag_flwr.privacy.vocabulary import Group
from fedrag_flwr.text.anchors import normalise_anchor

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
