"""Questions in parts: all of them, in order, and of no home or message more than fits."""

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from flwr.app import Message, RecordDict
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr import wire
from fedrag_flwr.records import Answer, Evidence, EvidenceUnit, FinishRequest, Question
from strategies import MemoryFusion, ServerTools, make_strategy
from strategies.base import _AT_ONCE, _OF_ONE_HOME, in_parts
from strategies.transport import Transport, fitting
from tests.strategies.federation import FirstRun

RUN = "1"


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 300)), max_size=40))
def test_parts_hold_every_question_once_and_no_more_of_a_home_than_it_answers(shares: list[tuple[str, int]]) -> None:
    homes = chain.from_iterable([home] * count for home, count in shares)
    questions = [Question(f"q{number}", "?", home) for number, home in enumerate(homes)]
    order = {question.id: place for place, question in enumerate(questions)}
    parts = in_parts(questions)
    assert sorted(chain.from_iterable(parts), key=lambda question: order[question.id]) == questions
    for part in parts:
        places = [order[question.id] for question in part]
        assert places == sorted(places)
        assert len(part) <= _AT_ONCE
        assert all(count <= _OF_ONE_HOME for count in Counter(question.home for question in part).values())
    of_home = Counter(question.home for question in questions)
    if len(questions) <= _AT_ONCE and max(of_home.values(), default=0) <= _OF_ONE_HOME:
        assert parts == [tuple(questions)]


def test_a_lost_part_costs_the_others_nothing(first: FirstRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategies.base._OF_ONE_HOME", 2)
    files = first.files.copy_to(tmp_path).with_changes(baselines="", strategy="no-rag")
    questions = [Question(f"q{number}", "Who designed Tarn Bridge?", "bridges") for number in range(5)]
    replies: list[Message] = []
    noted: list[set[str]] = []

    def lose_the_second(reply: Message) -> Message:
        if reply.metadata.message_type == "query.answer":
            replies.append(reply)
            if len(replies) == 2:
                reply.content = RecordDict()
        return reply

    def note(answers: object) -> None:
        noted.append({answer.question_id for answer in strategy.answers.values()})

    strategy = make_strategy("no-rag", files.settings, questions, ServerTools(files.settings))
    strategy.resume({}, note)
    strategy.run(files.grid(lose_the_second), RUN)
    assert len(replies) == 3
    assert set(strategy.answers) == {"q0", "q1", "q4"}
    assert noted[0] == {"q0", "q1"}
    assert noted[-1] == {"q0", "q1", "q4"}


def test_more_evidence_than_a_message_has_places_for_stays_out(first: FirstRun) -> None:
    settings = first.files.settings
    given_by = [Evidence(f"q{number}", (EvidenceUnit("u", "text", "rivers", 0.5),)) for number in range(10_001)]
    strategy = MemoryFusion(settings, [], ServerTools(settings))
    strategy._transport = Transport(first.files.grid(), RUN, 1.0)
    fitting = strategy._fitting(given_by)
    assert len(fitting) > 9_000
    wire.encode(FinishRequest((), fitting), run=RUN)


def test_evidence_without_units_that_stays_out_names_nobody(first: FirstRun) -> None:
    settings = first.files.settings
    strategy = MemoryFusion(settings, [], ServerTools(settings))
    strategy._transport = Transport(first.files.grid(), RUN, 1.0)
    fitting = strategy._fitting([Evidence(f"q{number}", ()) for number in range(10_001)])
    assert 9_000 < len(fitting) < 10_001


def test_an_answer_that_stands_is_not_asked_again(first: FirstRun) -> None:
    files = first.files.with_changes(baselines="", strategy="no-rag")
    strategy = make_strategy("no-rag", files.settings, files.questions[:1], ServerTools(files.settings))
    strategy.resume({"f1": Answer("f1", "Odile Varro", "cognizer", 1.0)}, lambda _: None)
    grid = files.grid()
    strategy.run(grid, RUN)
    assert not any(b"query.answer" in data for data in grid.sent)


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
