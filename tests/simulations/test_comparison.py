"""Runs side by side: what is not the same is neither paired nor shown as one, and a run alone keeps all it holds."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fedrag_flwr.errors import SettingError, StoreError
from fedrag_flwr.evaluation import read_summary, render_report, score_system, write_results
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.results import write_page
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Answer
from simulations.bench.comparison import compared, run_names
from tests.evaluation.made_up_run import DEVICES, Run, make_run

SYSTEM = "no-rag"
Change = Callable[[GoldQuestion], GoldQuestion]


def written(folder: Path, run: Run) -> Path:
    return write_results(folder.parent, folder.name, run.manifest, run.systems, run.answers, run.gold, run.builds)


def small_run(change: Change) -> Run:
    """A run of one system that answers every question with its gold, after a change to all questions."""
    run = make_run(10)
    gold = [change(question) for question in run.gold]
    given = [Answer(question.question_id, question.answer, "cognizer", 0.9) for question in gold]
    return Run(run.manifest, {SYSTEM: score_system(gold, given, Traffic())}, {SYSTEM: given}, gold, [])


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (lambda question: question, 10),
        (lambda question: replace(question, home=f"other {question.home}"), 20),
        (lambda question: replace(question, text=f"Tell me: {question.text}"), 20),
        (lambda question: replace(question, answer=f"another {question.answer}"), 20),
    ],
    ids=["all the same", "home", "question", "gold"],
)
def test_what_is_the_same_is_paired_and_stands_in_one_line(change: Change, lines: int, tmp_path: Path) -> None:
    runs = [written(tmp_path / "one", small_run(lambda question: question))]
    runs.append(written(tmp_path / "two", small_run(change)))
    summary, rows = compared(runs)
    paired = [{f"two/{SYSTEM}"}, {f"one/{SYSTEM}"}] if lines == 10 else [set(), set()]
    assert [set(result.versus) for result in summary.systems.values()] == paired
    page = render_report(summary, rows)
    assert (page.count('class="question"'), page.count('class="answer"')) == (lines, 20)


def test_nothing_is_best_where_systems_were_asked_other_questions(tmp_path: Path) -> None:
    runs = [written(tmp_path / str(count), make_run(count)) for count in (20, 30)]
    alone, together = (render_report(*compared(some)) for some in (runs[:1], runs))
    best = ("vs memory-fusion", "*</td>", "on the dashed line")
    assert [told for told in best if told not in alone] == []
    assert [told for told in best if told in together] == []
    why = "Not all systems were asked the same questions"
    assert (alone.count(why), together.count(why)) == (0, 1)


def test_a_run_alone_is_told_as_it_told_itself_with_its_devices_and_what_they_built(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", make_run(20))
    summary, rows = compared([folder])
    assert summary == read_summary(folder)
    page = render_report(summary, rows)
    assert f"{len(DEVICES)} devices" in page
    assert "memory cost to build" in page
    assert "ACC by device" in page


def test_runs_side_by_side_say_nothing_of_devices(tmp_path: Path) -> None:
    summary, rows = compared([written(tmp_path / name, make_run(20)) for name in ("one", "two")])
    page = render_report(summary, rows)
    assert "ACC by device" not in page
    assert "memory cost to build" not in page


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["results/bench"], ["bench"]),
        (["one", "two"], ["one", "two"]),
        (["a/hotpotqa", "b/hotpotqa"], ["a/hotpotqa", "b/hotpotqa"]),
        (["a/hotpotqa", "b/hotpotqa", "b/musique"], ["a/hotpotqa", "b/hotpotqa", "musique"]),
        (["x/a/run", "y/a/run", "x/b/run"], ["x/a/run", "y/a/run", "b/run"]),
        (["/run", "/a/run"], ["/run", "a/run"]),
    ],
)
def test_runs_are_named_by_the_shortest_tail_that_is_no_others(paths: list[str], names: list[str]) -> None:
    assert run_names([Path(path) for path in paths]) == names


def test_runs_of_one_name_stand_side_by_side(tmp_path: Path) -> None:
    runs = [written(tmp_path / name / "run", small_run(lambda question: question)) for name in ("a", "b")]
    assert list(compared(runs)[0].systems) == [f"a/run/{SYSTEM}", f"b/run/{SYSTEM}"]


@pytest.mark.parametrize(
    "runs", [[], ["bench", "bench"], ["bench", "./bench"], ["bench", os.path.join("a", "..", "bench")]]
)
def test_a_run_is_named_once(runs: list[str]) -> None:
    with pytest.raises(SettingError, match="each run once"):
        run_names([Path(run) for run in runs])


def test_a_page_makes_its_folder_and_says_where_it_cannot_be(tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    write_page(page, "one")
    assert page.read_text() == "one"
    with pytest.raises(StoreError, match="page cannot be written"):
        write_page(page / "beside.html", "two")
    assert page.read_text() == "one"
