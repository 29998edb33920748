"""What evidence holds of an answer, and the answers that a question lists itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.text.options import with_options, without_options
from fedrag_flwr.text.support import coverage, forms, is_supported

TEXT = "Tarn Bridge was designed by the engineer Odile Varro."


@pytest.mark.parametrize(
    ("answer", "texts", "supported"),
    [
        ("Odile Varro", [TEXT], True),
        ("the engineer Odile Varro", [TEXT], True),
        ("odile varro", [TEXT.upper()], True),
        ("Varro Odile", [TEXT], False),
        ("Odile", ["Odilean wines"], False),
        ("Tarn Varro", [TEXT], False),
        ("Odile Varro", ["Odile", "Varro"], False),
        ("yes", ["anything"], True),
        ("No.", [], True),
        ("", [TEXT], False),
        ("?!", [TEXT], False),
        ("2,144 metres", ["It is 2144 metres high."], True),
        ("640 clocks", ["The museum shows 640 clocks in two halls."], True),
        ("clock", ["It shows clocks of copper."], True),
    ],
)
def test_support(answer: str, texts: list[str], supported: bool) -> None:
    assert is_supported(answer, texts) is supported


VOCABULARY = (
    *("clocks", "Varro's", "metres", "1924", "2,144", "Bridge's", "of", "berries", "Ossel", "foxes", "Ærø", "Café"),
)
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)


@given(WORDS, WORDS, WORDS)
def test_a_passage_supports_its_own_words(before: list[str], answer: list[str], after: list[str]) -> None:
    held = " ".join([*before, *answer, *after])
    assert is_supported(" ".join(answer), [held])
    assert coverage([" ".join(answer)], [held]) == 1.0
    assert not is_supported(" ".join(answer), [])
    assert not is_supported(" ".join([*answer, "absent"]), [held])


@given(st.text())
def test_only_yes_and_no_need_no_evidence(answer: str) -> None:
    assert is_supported(answer, []) == (forms(answer) in (["yes"], ["no"]))


@pytest.mark.parametrize(
    ("anchors", "texts", "share"),
    [((), [], 1.0), (("tarn bridge",), [TEXT], 1.0), (("tarn bridge", "ossel"), [TEXT], 0.5), (("x",), [], 0.0)],
)
def test_coverage(anchors: tuple[str, ...], texts: list[str], share: float) -> None:
    assert coverage(anchors, texts) == share


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("What is mined? Options: salt; copper; tin ore.", ("salt", "copper", "tin ore")),
        ("What is mined? Options: salt;; Salt ;copper", ("salt", "Salt", "copper")),
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
