"""Questions that differ in what they turn on are different statements, however near they come."""

from itertools import combinations, product

import pytest

from fedrag_flwr.memory.fusion.merge import FUSION, FusionRules, owners
from fedrag_flwr.memory.fusion.statement_key import names_of, statement_key
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.lexicon import KIN, OPPOSED
from tests.memory.fusion.test_merge import words_of
from tests.memory.fusion.whole import merge
from tests.strategies.federation import small_models

APART = [
    ("Was Tarn Bridge opened in 1923?", "Was Tarn Bridge opened in 1924?", "No"),
    ("Was Ann Lee born before 1950?", "Was Ann Lee born after 1950?", "Yes"),
    ("Is the Rhine longer than the Danube?", "Is the Danube longer than the Rhine?", "Yes"),
    ("Did [PERSON] sell Tarn Bridge to Lund?", "Did Lund sell Tarn Bridge to [PERSON]?", "No"),
    ("Is [PERSON] older than Ann Lee?", "Is Ann Lee older than [PERSON]?", "Yes"),
    ("Did Tarn Bridge open in 1924?", "Did Tarn Bridge not open in 1924?", "No"),
    ("Was Tarn Bridge open in 1924?", "Wasn't Tarn Bridge open in 1924?", "No"),
    ("Is 5 more than 3?", "Is 3 more than 5?", "Yes"),
    ("Did the champion defeat Germany?", "Did Germany defeat the champion?", "Yes"),
    ("Who defeated Germany in the final?", "Who was defeated by Germany in the final?", "Brazil"),
    ("Who defeated Germany?", "Who did Germany defeat?", "Brazil"),
    ("Who beat Germany and lost to Brazil?", "Who beat Brazil and lost to Germany?", "Italy"),
    ("Who led the army from Lund to Madrid?", "Who led the army from Madrid to Lund?", "Jonas Keel"),
    (
        "Which drug increases blood pressure in patients with asthma?",
        "Which drug decreases blood pressure in patients with asthma?",
        "Salbutamol",
    ),
    ("Who won the men's singles at Wimbledon in 2006?", "Who won the men's singles at Wimbledon in 2007?", "Federer"),
    ("How did it feel in Lund at -5 degrees?", "How did it feel in Lund at 5 degrees?", "mild"),
    ("Which river flows into Lake Foo?", "Which river flows out of Lake Foo?", "Ossel"),
]
SAME = [
    ("Was Tarn Bridge opened in 1923?", "Was the Tarn Bridge opened in 1923?", "No"),
    ("Did Tarn Bridge open in 1923?", "Was Tarn Bridge opened in 1923?", "No"),
    ("Was it in 1931 that Tarn Bridge opened?", "Did Tarn Bridge open in 1931?", "No"),
    ("In what year was Tarn Bridge opened?", "In which year was Tarn Bridge opened?", "1924"),
    ("When was Tarn Bridge opened?", "When did Tarn Bridge open?", "1924"),
    ("Who designed Tarn Bridge?", "Who designed the Tarn Bridge?", "Odile Varro"),
    ("What was the name of the Tufts paper?", "What name was given to the Tufts paper?", "Observer"),
    ("Who portrayed Ann Lee in the series?", "Who was Ann Lee portrayed by in the series?", "Rosa Dain"),
    ("Who built the Grey Tower?", "By whom was the Grey Tower built?", "Odile Varro"),
    ("Which is longer, the Rhine or the Danube?", "Which is longer, the Danube or the Rhine?", "the Rhine"),
    ("Who painted the [ORG] building in Lund?", "Who has painted the [ORG] buildings in Lund?", "Jonas Keel"),
    (
        "Which drug increases blood pressure in patients with asthma?",
        "Which drug increased blood pressure in a patient with asthma?",
        "Salbutamol",
    ),
    (
        "Who won the men's singles at Wimbledon in 2006?",
        "Who was the winner of the men's singles at Wimbledon in 2006?",
        "Federer",
    ),
]


def merged(one: str, other: str, answer: str) -> tuple[MemoryItem, ...]:
    """What fusion makes of the two questions, of one device each, with the same answer."""
    vectors = small_models().encoder.encode([one, other])
    assert float(vectors[0] @ vectors[1]) >= FusionRules().near
    items = [
        MemoryItem(origin, question, answer, "single", "", (f"e{origin}",), (), vector, origin)
        for origin, question, vector in zip("ab", (one, other), vectors, strict=True)
    ]
    return merge(items, FusionRules(), words_of()).items


@pytest.mark.parametrize(("one", "other", "answer"), APART)
def test_near_questions_about_something_else_are_not_told_by_two(one: str, other: str, answer: str) -> None:
    assert [owners(item) for item in merged(one, other, answer)] == [{"a"}, {"b"}]


@pytest.mark.parametrize(("one", "other", "answer"), SAME)
def test_paraphrases_are_one_statement(one: str, other: str, answer: str) -> None:
    [both] = merged(one, other, answer)
    assert both.origin == FUSION
    assert owners(both) == {"a", "b"}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who led [PERSON] from Lund to Port Ferren?", ["person", "lund", "port ferren"]),
        ("Tarn Bridge was drawn by whom?", ["tarn bridge"]),
        ("In Odile Varro's time, who ruled Vessland?", ["odile varro", "vessland"]),
        ("who rang?", []),
    ],
)
def test_names_are_found_in_their_order(question: str, names: list[str]) -> None:
    assert names_of(question) == names


def test_questions_of_opposites_and_of_different_kin_have_different_keys() -> None:
    pairs = [pair for one, other in (*OPPOSED, *combinations(KIN, 2)) for pair in product(one.split(), other.split())]
    keys = [[statement_key(f"Who heard of {word} in Lund?", "Ada") for word in pair] for pair in pairs]
    assert [pair for pair, (one, other) in zip(pairs, keys, strict=True) if one == other] == []


@pytest.mark.parametrize(
    "forms",
    ["deny denies denied denying", "marry married marrying marriage", "resign resigned resigns", "die died dying dies"],
)
def test_a_word_is_one_in_all_its_forms(forms: str) -> None:
    assert len({statement_key(f"Who would have {form} in Lund?", "Ada") for form in forms.split()}) == 1


def test_a_key_tells_answer_and_question_apart() -> None:
    keys = {
        statement_key(f"Was it {asked}?", answer) for asked in ("5", "no 5", "not") for answer in ("5", "no", "no 5")
    }
    assert len(keys) == 9
