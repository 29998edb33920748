"""What a run sent, between two states of it."""

from __future__ import annotations

from fedrag_flwr.evaluation.traffic import PhaseTraffic, Traffic


def test_what_came_since_an_earlier_state_and_that_state_make_the_later_one() -> None:
    before = Traffic().add("share", messages=4, bytes_up=10, bytes_down=20).add("answer").lose("a", "away")
    later = before.add("answer", messages=2, bytes_up=5).waited("answer", 1.5).lose("b", "torn")
    came = later.since(before)
    assert came.by_phase == {"answer": PhaseTraffic(2, 5, 0, 1.5)}  # nothing was shared since
    assert (came.messages, came.bytes_up, came.bytes_down, came.missing) == (2, 5, 0, {"b": "torn"})
    assert before + came == later
