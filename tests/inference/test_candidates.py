"""The answers that evidence offers, and the grammar that lets the model say nothing else."""

from __future__ import annotations

import pytest
from fedrag_flwr.inference.candidates import MOST, candidates, choice_grammar, chosen, with_options, without_options
from fedrag_flwr.inference.prompts import UNKNOWN
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.records import Fact
from fedrag_flwr.text.anchors import normalise_anchor
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis


def fact(text: str, kind: str) -> Fact:
    return Fact(text, kind, normalise_anchor(text))


EVIDENCE = (
    fact("Odile Varro", "PERSON"),
    fact("Tarn Bridge", "FAC"),
    fact("1924", "YEAR"),
    fact("312 metres", "QUANTITY"),
    fact("odile varro", "PERSON"),
    fact("40 crowns", "MONEY"),
    fact("seven", "CARDINAL"),
    fact(" ", "NAME"),
)
OFFERED: list[tuple[str, str, tuple[Fact, ...], list[str]]] = [
    ("Who drew it?", "PERSON", (), ["Odile Varro", "Tarn Bridge"]),
    ("Who drew Tarn Bridge?", "PERSON", (fact("the Tarn Bridge", "FAC"),), ["Odile Varro"]),
    ("When did it open?", "DATE", (), ["1924", "312 metres"]),
    ("How long is it?", "QUANTITY", (), ["312 metres", "seven"]),
    ("What did it cost?", "MONEY", (), ["40 crowns"]),
    ("Is it long?", "YESNO", (), ["yes", "no"]),
    ("What is it?", "", (), ["Odile Varro", "Tarn Bridge", "1924", "312 metres", "40 crowns", "seven"]),
    ("Which is longer, Ossel or Marl?", "NAME", (fact("Ossel", "LOC"), fact("Marl", "NAME")), ["Ossel", "Marl"]),
    ("Is it more or less, Ossel?", "NAME", (fact("Ossel", "LOC"),), ["Odile Varro", "Tarn Bridge"]),
    ("Who of the oracle?", "PERSON", (fact("Odile Varro", "PERSON"), fact("Tarn Bridge", "FAC")), []),
]


@pytest.mark.parametrize(("question", "kind", "held", "offered"), OFFERED)
def test_what_is_offered(question: str, kind: str, held: tuple[Fact, ...], offered: list[str]) -> None:
    assert candidates(question, QuestionAnalysis(held, (), kind), EVIDENCE) == offered


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("What is mined? Options: salt; copper; tin ore.", ("salt", "copper", "tin ore")),
        ("What is mined? Options: salt;; Salt ;copper", ("salt", "copper")),
        ("What is mined? Options: salt.", ()),
        ("Which Options: page lists salt; copper?\nAnd where?", ()),
        ("Is it salt; or copper?", ()),
    ],
)
def test_options_are_those_that_a_question_lists(question: str, options: tuple[str, ...]) -> None:
    assert without_options(question) == ("What is mined?" if options else question, options)


def test_options_are_read_as_they_are_written() -> None:
    asked = "What is mined?", ("salt", "tin ore")
    assert without_options(with_options(*asked)) == asked
    assert with_options("What is mined?", ()) == "What is mined?"


def test_at_most_so_many_are_offered() -> None:
    many = [fact(f"Place {number}", "GPE") for number in range(200)]
    assert candidates("Where?", QuestionAnalysis((), (), "GPE"), many) == [f.text for f in many[:MOST]]


REAL: list[tuple[str, str, str]] = [  # asked of the pipeline itself
    ("Who designed Tarn Bridge?", "The engineer Odile Varro designed Tarn Bridge in 1924.", "Odile Varro"),
    ("When did Tarn Bridge open?", "Tarn Bridge opened in May 1924 in Lindmoor.", "May 1924"),
    ("Where was Odile Varro born?", "Odile Varro was born in Lisbon in 1881.", "Lisbon"),
]


@pytest.mark.parametrize(("question", "evidence", "answer"), REAL)
def test_the_answer_is_among_the_candidates(question: str, evidence: str, answer: str, pipeline: Pipeline) -> None:
    offered = candidates(question, pipeline.question(question), pipeline.facts([evidence])[0])
    assert answer in offered
    assert not any(name in offered for name in ("Tarn Bridge",) if name in question)


LONG = "Copper Hall in Lindmoor, the Salt Archive in Port Ferren and the Museum of Bridges in Norrhall"


@pytest.mark.parametrize(
    ("said", "choices", "meant"),
    [
        ("Lindmoor", ["Lindmoor", "Lindmoor Bay"], "Lindmoor"),
        (LONG[:30], [LONG, "Port Ferren"], LONG),
        ("Copper", [LONG, "Copper Bridge"], ""),
        ("St. Ives Inc", ["St. Ives Inc."], "St. Ives Inc"),
        ("two lines", ["two\nlines"], "two lines"),
        ("unk", ["Lindmoor"], ""),
        ("", ["Lindmoor"], ""),
    ],
)
def test_what_was_cut_is_the_only_choice_that_begins_so(said: str, choices: list[str], meant: str) -> None:
    assert chosen(said, choices) == meant


PROMPT = Prompt("", "What is in the harbour?")
HARD: list[list[str]] = [
    ["Grey Lighthouse", "Port Ferren"],
    ['the "Windhover"', "O'Keel's"],
    ["C:\\charts\\new", "a\\b"],
    ["Ærø", "Łódź", "東京", "Ωmega", "🚢 ship"],
    ["[PERSON]", "a | b", 'root ::= "x"', "(x)*", "{1,2}", "# no comment"],
    ["two\nlines", "tab\there", "  wide   gap  "],
    ["7,1 %", "$5", "-3", "..."],
]


@pytest.mark.parametrize("choices", HARD)
def test_the_model_can_say_nothing_but_a_choice(choices: list[str], generator: Generator) -> None:
    said = generator.complete(PROMPT, grammar=choice_grammar(choices), max_tokens=40, n=1)[0].text
    allowed = {" ".join(choice.split()) for choice in choices} | {UNKNOWN}
    assert said in allowed


@pytest.mark.parametrize("choices", HARD)
def test_each_choice_can_be_said(choices: list[str], generator: Generator) -> None:
    for choice in choices:
        plain = " ".join(choice.split())
        only = choice_grammar([choice]).removesuffix(f' | "{UNKNOWN}"')
        assert UNKNOWN not in only
        said = generator.complete(Prompt("", "Speak."), grammar=Grammar(only), max_tokens=40)[0].text
        assert said == plain


@given(st.lists(st.text(min_size=1), max_size=5))
def test_a_grammar_has_one_line_whatever_it_offers(choices: list[str]) -> None:
    assert len(choice_grammar(choices).splitlines()) == 1 or any("\x85" in c or "\u2028" in c for c in choices)
