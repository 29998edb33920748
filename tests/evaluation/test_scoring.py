"""What counts as right, and how questions are averaged."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import NotFoundError, SettingError, StoreError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.evaluation.manifest import Manifest
from fedrag_flwr.evaluation.measures import COST, QUALITY, leaders
from fedrag_flwr.evaluation.metrics import judge
from fedrag_flwr.evaluation.report import render_report
from fedrag_flwr.evaluation.rows import answer_rows
from fedrag_flwr.evaluation.scoring import score_system
from fedrag_flwr.evaluation.summary import summarise
from fedrag_flwr.evaluation.traffic import PhaseTraffic, Traffic
from fedrag_flwr.records import Answer, AnswerPath, Cost
from fedrag_flwr.records.isolate import isolated
from tests.evaluation.made_up_run import SYSTEMS, make_answers, make_gold, make_run


def gold(
    number: int = 0, answer: str = "Titan", *, aliases: tuple[str, ...] = (), kind: str = "single", home: str = "a"
) -> GoldQuestion:
    return GoldQuestion(f"q{number}", "Which moon?", answer, aliases, kind, (), home, "test")


def said(text: str, path: AnswerPath = "memorizer", *, number: int = 0, cost: Cost | None = None) -> Answer:
    return Answer(f"q{number}", text, path, 0.9, cost=cost or Cost(1.0, 1, 100, 10))


UNANSWERABLE = gold(answer="", kind="unanswerable")


@pytest.mark.parametrize(
    ("question", "answer", "acc", "token_f1", "em"),
    [
        (gold(), said("Titan"), 1, 1, 1),
        (gold(), said("the moon Titan"), 1, 2 / 3, 0),
        (gold(), said("Rhea"), 0, 0, 0),
        (gold(), said("", "abstained"), 0, 0, 0),
        (gold(), said("Titan", "abstained"), 0, 0, 0),
        (gold(), None, 0, 0, 0),
        (gold(aliases=("Saturn VI",)), said("Saturn VI"), 1, 1, 1),
        (gold(answer="yes"), said("Yes, it is."), 1, 0, 0),
        (gold(answer="the"), said("", "abstained"), 0, 0, 0),
        (UNANSWERABLE, said("", "abstained"), 1, 1, 1),
        (replace(UNANSWERABLE, kind=""), said("", "abstained"), 1, 1, 1),
        (UNANSWERABLE, said("I do not know", "abstained"), 1, 1, 1),
        (UNANSWERABLE, said("", "cognizer"), 0, 0, 0),
        (UNANSWERABLE, said("Titan"), 0, 0, 0),
        (UNANSWERABLE, None, 0, 0, 0),
    ],
)
def test_judge(question: GoldQuestion, answer: Answer | None, acc: float, token_f1: float, em: float) -> None:
    verdict = judge(question, answer)
    assert (verdict.acc, verdict.f1, verdict.em) == pytest.approx((acc, token_f1, em))
    assert verdict.right == bool(acc)


def test_metrics_are_averaged_over_devices() -> None:
    questions = [gold(0, home="a"), gold(1, home="a"), gold(2, home="a"), gold(3, home="b")]
    answers = [
        said("Titan", number=0),
        said("Titan", "cognizer", number=1),
        said("", "abstained", number=2),
        said("Rhea", "cache", number=3, cost=Cost(3.0, 3, 300, 30)),
    ]
    result = score_system(questions, answers, Traffic(), peak_rss_mb={"a": 900.0, "b": 1200.0})
    assert result.acc == pytest.approx((2 / 3 + 0) / 2)
    assert result.abstained == pytest.approx((1 / 3 + 0) / 2)
    assert result.llm_calls == pytest.approx((1 + 3) / 2)
    assert (result.tokens_in, result.tokens_out) == pytest.approx((200, 20))
    assert result.latency_s.mean == pytest.approx((1 + 3) / 2)
    assert result.latency_s.p50 == pytest.approx(1.0)
    assert result.paths == pytest.approx(
        {"memorizer": 1 / 6, "cognizer": 1 / 6, "remote": 0, "cache": 1 / 2, "abstained": 1 / 6}
    )
    assert result.peak_rss_mb == 1200
    assert result.devices["a"].acc == pytest.approx(2 / 3)
    assert (result.answerable_abstained, result.unanswerable_abstained) == (0.25, None)
    assert (result.by_path["cognizer"].n, result.by_path["cognizer"].acc) == (1, 1)


def test_kinds_and_abstention_by_answerability() -> None:
    questions = [gold(0), gold(1, answer="", kind="unanswerable"), gold(2, answer="", kind="unanswerable")]
    answers = [said("Titan", number=0), said("", "abstained", number=1), said("Rhea", number=2)]
    result = score_system(questions, answers, Traffic())
    assert (result.answerable_abstained, result.unanswerable_abstained) == (0.0, 0.5)
    assert {kind: (group.n, group.acc) for kind, group in result.kinds.items()} == {
        "single": (1, 1.0),
        "unanswerable": (2, 0.5),
    }


def test_replayed_generations_are_no_latency() -> None:
    fast, slow = Cost(0.01, 1, 100, 10, replayed=True), Cost(2.0, 1, 100, 10)
    result = score_system(
        [gold(0), gold(1)], [said("Titan", number=0, cost=fast), said("Titan", number=1, cost=slow)], Traffic()
    )
    assert (result.latency_s.mean, result.latency_s.p50, result.replayed) == (2.0, 2.0, 0.5)
    assert result.llm_calls == 1
    only = score_system([gold(0)], [said("Titan", number=0, cost=fast)], Traffic())
    assert (only.latency_s.mean, only.latency_s.p95, only.replayed) == (None, None, 1.0)


def test_a_dead_device_is_missing_and_wrong() -> None:
    traffic = Traffic().lose("b", "no reply").lose("b", "again")
    result = score_system([gold(0, home="a"), gold(1, home="b")], [said("Titan", number=0)], traffic)
    assert (result.acc, result.missing, result.abstained) == (0.5, 0.5, 0)
    assert result.llm_calls == 1  # the mean of the devices that answered
    assert result.missing_devices == {"b": "no reply"}
    assert sum(result.paths.values()) + result.missing == pytest.approx(1)


@pytest.mark.parametrize("question", [gold(), UNANSWERABLE])
def test_what_failed_is_missing_and_wrong_and_says_why(question: GoldQuestion) -> None:
    fault = isolated("q0", lambda: _fail("torn"))
    verdict = judge(question, fault)
    assert (verdict.answer, verdict.right, verdict.abstained) == (None, False, False)
    [row] = answer_rows({"a": [fault]}, [question], ["a"])
    assert (row.answer, row.path, row.explanation) == (None, "missing", "failed: StoreError")


def test_a_question_that_met_a_writer_is_asked_again() -> None:
    gone = iter([True, True, False, True, True, True])

    def met() -> Answer:
        if next(gone):
            raise NotFoundError("no such sentence")
        return said("Titan")

    assert [isolated("q0", met).explanation for _ in range(2)] == ["", "failed: NotFoundError"]


def _fail(why: str) -> Answer:
    raise StoreError(why)


def test_failures_cost_nothing_and_win_nothing() -> None:
    questions = [gold(0), gold(1)]
    failure = [isolated(f"q{number}", lambda: _fail("torn")) for number in range(2)]
    answers = {
        "whole": [said("Titan", number=n) for n in range(2)],
        "half": [said("Titan"), failure[1]],
        "none": failure,
    }
    summary = summarise(
        Manifest({}, 0),
        {name: score_system(questions, given, Traffic()) for name, given in answers.items()},
        answers,
        questions,
        [],
        rng=np.random.default_rng(0),
    )
    whole, half, none = summary.systems.values()
    assert (half.latency_s, half.llm_calls, half.tokens_in) == (whole.latency_s, whole.llm_calls, whole.tokens_in)
    assert (half.acc, half.missing, half.abstained) == (0.5, 0.5, 0.0)
    assert half.intervals["Mean latency"].value == 1.0
    assert (none.latency_s.mean, none.missing, "Mean latency" in none.intervals) == (None, 1.0, False)
    values = {one.heading: one.value(none) for one in (*QUALITY, *COST)}
    assert {name for name, value in values.items() if value is None} == {
        *("Mean latency", "p50", "p95", "LLM calls", "Tokens in", "Tokens out", "Peak memory")
    }
    for one in (*QUALITY, *COST):
        assert "none" not in leaders(
            summary.systems, [one.value(each) for each in (whole, half, none)], one.higher_is_better
        )
    assert "none" in render_report(summary, list(answer_rows(answers, questions, answers)))


def test_the_first_of_two_answers_counts_and_strays_are_counted() -> None:
    answers = [said("Titan", number=0), said("Rhea", number=0), said("Rhea", number=99)]
    result = score_system([gold(0)], answers, Traffic())
    assert (result.acc, result.ignored) == (1.0, 2)


@pytest.mark.parametrize("questions", [[], [gold(0), gold(0)]])
def test_gold_must_be_there_and_distinct(questions: list[GoldQuestion]) -> None:
    with pytest.raises(SettingError):
        score_system(questions, [], Traffic())


@given(st.randoms(use_true_random=False), st.sampled_from([1, 7, 30]))
def test_order_does_not_matter(shuffle: random.Random, count: int) -> None:
    run = make_run(count)
    for system in SYSTEMS:
        answers, questions = list(run.answers[system.name]), list(run.gold)
        shuffle.shuffle(answers)
        shuffle.shuffle(questions)
        memory = {name: device.peak_rss_mb for name, device in run.systems[system.name].devices.items()}
        shuffled = score_system(questions, answers, system.traffic, peak_rss_mb=memory)
        expected = score_system(run.gold, run.answers[system.name], system.traffic, peak_rss_mb=memory)
        assert shuffled.acc == pytest.approx(expected.acc)
        assert shuffled.paths == pytest.approx(expected.paths)
        assert shuffled.latency_s.p95 == pytest.approx(expected.latency_s.p95)
        assert list(shuffled.kinds) == list(expected.kinds)


@given(st.integers(1, 60), st.integers(0, 1000))
def test_shares_are_shares(count: int, seed: int) -> None:
    questions = make_gold(count)
    for system in SYSTEMS:
        result = score_system(questions, make_answers(system, questions, np.random.default_rng(seed)), system.traffic)
        assert 0 <= result.em <= result.acc <= 1
        assert 0 <= result.f1 <= 1
        assert sum(result.paths.values()) + result.missing == pytest.approx(1)
        assert sum(group.n for group in result.kinds.values()) == count


def test_traffic_adds_up() -> None:
    first = Traffic().add("build", messages=2, bytes_up=5, bytes_down=7).add("build", bytes_up=1)
    both = first + Traffic().add("share", messages=4, bytes_down=3).lose("c", "died")
    assert first.by_phase == {"build": PhaseTraffic(3, 6, 7)}
    assert (both.messages, both.bytes_up, both.bytes_down) == (7, 6, 10)
    assert both.by_phase["share"] == PhaseTraffic(4, 0, 3)
    waited = both.waited("share", 1.5).waited("share", 0.5)
    assert waited.by_phase["share"] == PhaseTraffic(4, 0, 3, 2.0)
    assert (waited.messages, waited.missing) == (both.messages, both.missing)
    assert both.missing == {"c": "died"}
    assert Traffic() == Traffic()


def test_what_came_since_an_earlier_state_and_that_state_make_the_later_one() -> None:
    before = Traffic().add("share", messages=4, bytes_up=10, bytes_down=20).add("answer").lose("a", "away")
    later = before.add("answer", messages=2, bytes_up=5).waited("answer", 1.5).lose("b", "torn")
    came = later.since(before)
    assert came.by_phase == {"answer": PhaseTraffic(2, 5, 0, 1.5)}  # nothing was shared since
    assert (came.messages, came.bytes_up, came.bytes_down, came.missing) == (2, 5, 0, {"b": "torn"})
    assert before + came == later
