"""Answers that differ in a sign, or in the order of their words or numbers, are different answers."""

import pytest

from fedrag_flwr.memory.fusion.statement_key import answer_key, holds
from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.verify import grounded
from fedrag_flwr.text.support import is_supported
from fedrag_flwr.text.words import spell_signs


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("-5 degrees", "minus5 degrees"),
        ("fell to −40 (–40 °F)", "fell to minus40 (minus40 °F)"),
        ("group A+", "group Aplus"),
        ("AB-, then O−.", "ABminus, then Ominus."),
        ("1939-1945", "1939-1945"),
        ("1939–1945", "1939–1945"),
        ("A-level results, C++ and F-16", "A-level results, C++ and F-16"),
        ("a - 5", "a - 5"),
        ("Soyuz-FG", "Soyuz-FG"),
        ("hepatitis B- or C-infected", "hepatitis B- or C-infected"),
        ("K- and C-rich", "K- and C-rich"),
        ("in- and outdoor", "in- and outdoor"),
        ("(1914 –1918)", "(1914 –1918)"),
        ("groups A- and B-", "groups Aminus and Bminus"),
    ],
)
def test_signs_are_spelt_where_they_are_signs(text: str, spelt: str) -> None:
    assert spell_signs(text) == spelt
    assert spell_signs(spelt) == spelt


APART = [
    ("A+", "A-"),
    ("-5 degrees", "5 degrees"),
    ("2-1", "1-2"),
    ("03/04/1999", "04/03/1999"),
    ("-5 to 10", "10 to -5"),
    ("Lund beat Madrid", "Madrid beat Lund"),
    ("Lund beat Oslo and Madrid", "Madrid and Lund beat Oslo"),
    ("Lund beat Madrid", "Madrid, beat, Lund"),
    ("from Lund to Madrid", "from Madrid to Lund"),
    ("Grace Kelly", "Kelly, Grace"),
]


MORE = [  # the first holds the second
    ("Monday 12 May 1990, 8 pm", "12 May 1990"),
    ("It opened on 12 May 1990.", "May 12, 1990"),
    ("1990, 1995 and 1998", "1990 and 1995"),
    ("Eve, Ada Varro and Odile", "Odile and Ada"),
    ("group A+", "A+"),
]
SAME = [
    ("the Bay of Herons", "Bay of Herons"),
    ("1,025", "1025"),
    ("A+", "A+."),
    ("12 May 1990", "May 12, 1990"),
    ("Eve and Ada Varro", "Ada Varro and Eve"),
    ("copper, tin and zinc", "zinc, copper and tin"),
]


@pytest.mark.parametrize(
    ("one", "other", "known"), [(*pair, known) for known, pairs in enumerate((APART, MORE, SAME)) for pair in pairs]
)
def test_answers_vouch_for_what_they_hold_alone(one: str, other: str, known: int) -> None:
    assert (answer_key(one) == answer_key(other)) == (known == 2)
    assert (holds(one, other), holds(other, one)) == (known > 0, known == 2)


@pytest.mark.parametrize(
    ("answer", "text", "supported"),
    [
        ("A+", "The result is A-.", False),
        ("A+", "The result is A+.", True),
        ("-5 degrees", "It was 5 degrees.", False),
        ("5 degrees", "It was -5 degrees.", False),
        ("−5 degrees", "It was -5 degrees.", True),
        ("1945", "The war of 1939–1945.", True),
    ],
)
def test_evidence_with_another_sign_supports_nothing(answer: str, text: str, supported: bool) -> None:
    assert is_supported(answer, [text]) == supported
    assert grounded(Candidate("What is it?", answer, "single", "", ("u",)), [text]) == supported
