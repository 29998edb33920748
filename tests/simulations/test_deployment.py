"""Parts of deployments: processes end with all that they started, runs are compared."""

import sys
from pathlib import Path

import pytest

from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.records import Cost
from simulations.deployment.processes import Processes
from simulations.deployment.small_runs import differing

# Starts a child in a session of its own, as Flower does, which ignores being asked to stop.
PARENT = """
import signal, subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('child', flush=True); time.sleep(60)"
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
time.sleep(60)
"""


def interrupted(processes: Processes) -> None:
    """Start two processes, end one, and fail."""
    with processes:
        for name in ("one", "two"):
            processes.start(name, [sys.executable, "-c", PARENT], {})
            processes.wait_for(name, "child", seconds=20)
        assert len(processes.marked()) == 4
        assert len(processes.marked("one")) == 2
        processes.stop("one")
        assert len(processes.marked()) == 2
        raise KeyboardInterrupt


def test_nothing_is_left_after_a_failure(tmp_path: Path) -> None:
    processes = Processes(tmp_path / "logs")
    with pytest.raises(KeyboardInterrupt):
        interrupted(processes)
    assert processes.marked() == []


def test_a_word_that_is_not_said_is_not_waited_for_in_vain(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        processes.start("quick", [sys.executable, "-c", "print('ready')"], {})
        assert processes.wait_for("quick", "steady", "ready", seconds=20) == "ready"
        with pytest.raises(TimeoutError, match=r"quick has not said set"):
            processes.wait_for("quick", "set", seconds=0.3)


def row(question_id: str, answer: str, path: str) -> AnswerRow:
    return AnswerRow(
        *("memory-fusion", question_id, "single", "home", "?", "gold", (), answer, path, 1.0, True, 1.0, 1.0, ()),
        Cost(),
    )


def test_answers_are_compared_by_system_and_question() -> None:
    ours = [row("a", "x", "memorizer"), row("b", "y", "remote")]
    assert differing(ours, ours[::-1]) == []
    assert differing(ours, ours[:1]) == ["memory-fusion b"]
    assert differing(ours, [ours[0], row("b", "y", "cognizer")]) == ["memory-fusion b"]
    assert differing(ours, [row("a", "z", "memorizer"), ours[1]]) == ["memory-fusion a"]
