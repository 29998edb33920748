"""What goes into a message together, and what stays out."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from strategies.help import fitting


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), max_size=12), st.integers(0, 200))
def test_as_many_as_fit_are_kept_and_the_largest_stay_out(sizes: list[int], room: int) -> None:
    kept, out = fitting(sizes, room)
    assert sorted([*kept, *out]) == list(range(len(sizes)))
    assert kept == sorted(kept)
    assert sum(sizes[place] for place in kept) <= room
    assert all(sizes[place] <= sizes[other] for place in kept for other in out)
    if out:
        assert sum(sizes[place] for place in kept) + min(sizes[place] for place in out) > room


def test_who_sends_much_takes_no_other_s_room() -> None:
    assert fitting([30, 1_000, 20, 40], 100) == ([0, 2, 3], [1])
