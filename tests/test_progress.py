"""Progress lines: what is told can be read back, and the seconds left follow the pace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.progress import Pace, Step, read_step

WORDS = st.text("abcdefghijklmnopqrstuvwxyz.-", min_size=1)


@given(WORDS, WORDS, st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from(["?", "0", "31536000"]), st.text())
def test_a_step_is_read_out_of_any_line(system: str, phase: str, done: int, total: int, left: str, before: str) -> None:
    step = Step(system, phase, done, total, left)
    assert read_step(f"{before} {step}") == step


@pytest.mark.parametrize(
    "line",
    ["", "INFO: 5 devices", "progress: memory-fusion", "progress: a b 1/x 3 s left", "progress: a b 1 of 2 3 s left"],
)
def test_other_lines_are_no_steps(line: str) -> None:
    assert read_step(line) is None


def test_the_seconds_left_follow_the_pace() -> None:
    now = [100.0]
    told: list[Step] = []
    pace = Pace("fusion", told.append, lambda: now[0])
    for phase, done, time in [
        ("build", 0, 100.0),
        ("build", 1, 110.0),
        ("build", 4, 120.0),
        ("answer", 0, 120.0),
        ("answer", 2, 121.0),
        ("build", 5, 125.0),
        ("build", 0, 200.0),  # a second system's build starts its own clock
        ("build", 5, 210.0),
    ]:
        now[0] = time
        pace(phase, done, 10 if phase == "build" else 4)
    assert [(step.phase, step.done, step.left) for step in told] == [
        ("build", 0, "?"),
        ("build", 1, "90"),
        ("build", 4, "30"),
        ("answer", 0, "?"),
        ("answer", 2, "1"),
        ("build", 5, "25"),
        ("build", 0, "?"),
        ("build", 5, "10"),
    ]
    assert {step.system for step in told} == {"fusion"}


def test_a_phase_that_never_began_has_no_time_behind_it() -> None:
    told: list[Step] = []
    Pace("x", told.append, lambda: 5.0)("late", 3, 9)
    assert told[0].left == "0"
