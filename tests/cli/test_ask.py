"""What `fedrag ask` shows people: words, and the passage that bears the answer; numbers where they are asked for."""

import io
import re
from collections.abc import Sequence

import pytest
from rich.console import Console

from fedrag_flwr.cli.ask import as_it_comes, show
from fedrag_flwr.device.views import TraceLine
from fedrag_flwr.records import Answer, Citation, Cost, Decision, because, declined
from fedrag_flwr.service.answers import GivenAnswer, given

DEPOSIT = TraceLine(
    "desk", "lease#1", passage="lease#1", document="lease", title="Lease › Deposit", text="The deposit is 900 euros."
)
KEYS = TraceLine("desk", "keys#0", passage="keys#0", document="keys", title="Keys", text="Ada Morrow keeps the keys.")
READ = because("model", "read in 2 passages: likely", 0.62)
TOO_LOW = because("confidence", "confidence 0.21 < 0.30", 0.21, 0.3)
LONG = (
    Citation("The deposit is 900 euros and is paid when the lease is signed.", "desk/lease#1"),
    Citation("Ada Morrow keeps the keys until then.", "desk/keys#0"),
    Citation("The house is insured by somebody else.", "museums/x17"),
)


def answered(answer: Answer, *trace: TraceLine, waiting: bool = False) -> GivenAnswer:
    return given("q1", "What is the deposit?", answer, list(trace), 1.0, waiting=waiting)


def shown(answer: GivenAnswer, *, verbose: bool = False) -> str:
    file = io.StringIO()
    show(Console(file=file, width=100), answer, verbose=verbose)
    return file.getvalue()


def read(text: str, score: float, decisions: Sequence[Decision] = (READ,)) -> Answer:
    return Answer(
        "q1",
        text,
        "cognizer" if text else "abstained",
        score,
        ("desk/lease#1", "desk/keys#0"),
        Cost(1.2, 2),
        decisions=tuple(decisions),
    )


RECALLED = Answer("q1", "900 euros", "memorizer", 0.9, ("desk/m1",), recalled="How high is the deposit?")
CASES = [
    (answered(RECALLED, KEYS, DEPOSIT), ["900 euros", "From memory: How high is the deposit? (sure)"]),
    (answered(read("900 euros", 0.62), DEPOSIT, KEYS), ["900 euros", "Read in Lease › Deposit (likely)"]),
    (answered(read("900 euros", 0.31), DEPOSIT), ["900 euros", "Read in Lease › Deposit (unsure)"]),
    (
        answered(read("", 0.0, (because("model", "the model found no answer in 2 passages"),)), DEPOSIT),
        ["I do not know.", "The passages do not bear an answer."],
    ),
    (answered(read("", 0.21, (READ, TOO_LOW)), DEPOSIT), ["I do not know.", "Nothing sure enough was found."]),
    (answered(declined("q1", "nobody could help")), ["I do not know.", "Nobody could help."]),
]


@pytest.mark.parametrize(("answer", "lines"), CASES, ids=[lines[1] for _, lines in CASES])
def test_the_answer_and_where_it_comes_from_or_why_there_is_none(answer: GivenAnswer, lines: list[str]) -> None:
    said = shown(answer)
    assert said.splitlines()[:2] == lines
    assert not re.search(r"0\.\d|\d ms|score|memorizer|cognizer|abstain", said)


def test_the_passage_that_bears_the_answer_comes_first() -> None:
    for answer in (CASES[0][0], CASES[1][0]):
        short = shown(answer)
        assert "Ada" not in short
        assert "--verbose shows 1 more" in short
        said = shown(answer, verbose=True)
        assert said.index("Lease › Deposit (lease)\n  The deposit is 900 euros.") < said.index("Keys (keys)\n  Ada")


def test_the_answer_is_marked_in_the_passage_that_bears_it() -> None:
    file = io.StringIO()
    show(Console(file=file, width=100, force_terminal=True, color_system="standard"), CASES[1][0])
    assert "The deposit is \x1b[1;7m900 euros\x1b[0m." in file.getvalue()


def test_each_sentence_of_a_long_answer_has_its_passage() -> None:
    text = " ".join(one.sentence for one in LONG)
    answer = Answer("q1", text, "remote", 0.8, tuple(one.source for one in LONG), decisions=(READ,), citations=LONG)
    said = shown(answered(answer, DEPOSIT, KEYS, TraceLine("museums", "x17")))
    words = " ".join(said.split())
    assert f"{LONG[0].sentence} [1] {LONG[1].sentence} [2] {LONG[2].sentence} [3]" in words
    assert "[1] Lease › Deposit [2] Keys [3] a passage of museums" in words


def test_numbers_are_shown_where_they_are_asked_for() -> None:
    said = shown(answered(read("", 0.21, (READ, TOO_LOW)), DEPOSIT), verbose=True)
    for told in ("confidence 0.21", "1200 ms, 2 calls of the model", "0.21 < 0.30", "inference.abstain-below"):
        assert told in said
    assert "inference.abstain-below" not in shown(CASES[1][0], verbose=True)
    assert "lease" in said  # what came nearest


def test_a_question_that_waits_is_named() -> None:
    assert "It waits for help as q1" in shown(answered(declined("q1", "unsure"), waiting=True))


def test_texts_with_markup_are_texts() -> None:
    odd = "The sign [/] and [bold]900 euros[/bold] stand there."
    line = TraceLine("desk", "o#0", passage="o#0", document="odd", title="[red]Odd[/]", text=odd)
    said = shown(answered(read("900 euros", 0.8), line))
    assert odd in said
    assert "Read in [red]Odd[/] (sure)" in said


def test_the_answer_shows_while_it_is_written_on_a_terminal_alone() -> None:
    file = io.StringIO()
    terminal = Console(file=file, width=80, force_terminal=True)
    with as_it_comes(terminal, aloud=True) as heard:
        assert heard is not None
        heard("The deposit")
        heard("The deposit is [bold]900")
    assert "The deposit is [bold]900" in file.getvalue()
    assert file.getvalue().endswith("\x1b[1A\x1b[2K")  # and is taken away again
    for console, aloud in ((terminal, False), (Console(file=io.StringIO()), True)):
        with as_it_comes(console, aloud=aloud) as heard:
            assert heard is None
