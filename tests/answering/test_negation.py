"""A question and its opposite come near to each other in wording: one memory does not answer both."""

from __future__ import annotations

import pytest

from fedrag_flwr.answering.recall import Recall
from fedrag_flwr.memory.matcher import Matcher
from fedrag_flwr.memory.quorum import Quorum
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.negation import content, misses
from tests.memory.store.samples import unit_vector

TURNED: list[tuple[str, str, str]] = [  # a question, a memory's question, part of the reason ("" where it fits)
    ("When did Ann Lee die?", "When was Ann Lee born?", "it tells of "),
    ("When was Ann Lee born?", "When did Ann Lee die?", "it tells of "),
    ("When was the birth of Ann Lee?", "When was Ann Lee born?", ""),
    ("What was the year of Ann Lee's death?", "When did Ann Lee die?", ""),
    ("When did Ann Lee, born in Foo, die?", "When was Ann Lee born?", "it tells of "),
    ("When was Ann Lee, who died in Foo, born?", "When did Ann Lee die?", "it tells of "),
    ("When did Ann Lee die?", "In which year was Ann Lee killed?", ""),
    ("Where was Ann Lee born?", "What is the birthplace of Ann Lee?", ""),
    ("When did the Foo mission begin?", "When was the Foo mission launched?", ""),
    ("How close did Foo come to Bar?", "How near was Foo to Bar?", ""),
    ("When was Warfarin stopped?", "When was Warfarin started?", "it tells of "),
    ("When was Warfarin discontinued?", "When was Warfarin begun?", "it tells of "),
    ("When did Warfarin begin?", "In what year was Warfarin started?", ""),
    ("When was Warfarin ended?", "When was Warfarin stopped?", ""),
    ("When did they give Warfarin?", "When was Warfarin started?", ""),
    ("When did Tarn Bridge close?", "When did Tarn Bridge open?", "it tells of "),
    ("When did the Open Hall open?", "When did the Open Hall close?", "it tells of "),
    ("When did the Hall close?", "When did the Open Hall close?", ""),
    ("When was Mr Jones discharged?", "When was Mr Jones admitted?", "it tells of "),
    ("When did Mr Jones leave Lund?", "When did Mr Jones enter Lund?", "it tells of "),
    ("When did the Windhover leave Lund?", "When was the Windhover launched at Lund?", ""),
    ("When was the Foo Club dissolved?", "When was the Foo Club founded?", "it tells of "),
    ("When was the Foo Club established?", "When was the Foo Club founded?", ""),
    ("When was the Foo Club founded?", "When did Ann Lee found the Foo Club?", ""),
    ("When did Ann Lee dissolve the Foo Club?", "When did Ann Lee found the Foo Club?", "it tells of "),
    ("When was the body found in Lund?", "When did they find the body in Lund?", ""),
    ("Who was the last mayor of Lund?", "Who was the first mayor of Lund?", "it tells of "),
    ("When was the last fair in Lund?", "When is the next fair in Lund?", "it tells of "),
    ("When is the upcoming fair in Lund?", "When is the next fair in Lund?", ""),
    ("Who was the mayor of Lund first?", "Who was the first mayor of Lund?", ""),
    ("Who ruled Lund before Bo?", "Who ruled Lund after Bo?", "it tells of "),
    ("After whom is the Lee Hall named?", "Who is the Lee Hall named after?", ""),
    ("Which moon of Foo is smallest?", "Which is the largest moon of Foo?", "it tells of "),
    ("Which moon of Foo is biggest?", "Which is the largest moon of Foo?", ""),
    ("What decreased in Lund?", "What increased in Lund?", "it tells of "),
    ("Who lost the Foo Cup?", "Who won the Foo Cup?", "it tells of "),
    ("Who was the winner of the Foo Cup?", "Who won the Foo Cup?", ""),
    ("Who bought Tarn Hall?", "Who sold Tarn Hall?", "it tells of "),
    ("What prevents Foo fever?", "What causes Foo fever?", "it tells of "),
    ("What treats Foo fever?", "Which drug is the treatment of Foo fever?", ""),
    ("Who was the first woman in Lund?", "Who was the first man in Lund?", "it tells of "),
    ("When was the right knee seen?", "When was the left knee seen?", "it tells of "),
    ("Who left Lund?", "Who arrived in Lund?", "it tells of "),
    ("Which tumour was benign?", "Which tumour was malignant?", "it tells of "),
    ("Who did not sign the treaty of Foo?", "Who signed the treaty of Foo?", "denial is asked for"),
    ("Who didn't sign the treaty of Foo?", "Who signed the treaty of Foo?", "denial is asked for"),
    ("Who never signed the treaty of Foo?", "Who signed the treaty of Foo?", "denial is asked for"),
    ("Who signed the treaty of Foo?", "Who did not sign the treaty of Foo?", "denial is asked for"),
    ("Who never signed the treaty of Foo?", "Who didn’t sign the treaty of Foo?", ""),
    ("Who not only wrote but signed the treaty of Foo?", "Who signed the treaty of Foo?", ""),
    ("Who wrote No Way to Lund?", "Who is the author of the novel No Way to Lund?", ""),
    ('Who wrote "No Way to Lund"?', "Who is the author of the novel Way to Lund?", ""),
    ("What is the room no. of Bo?", "Which room number does Bo have?", ""),
    ("Who wrote the Foo sonata no. 5?", "Who composed the fifth Foo sonata?", ""),
    ("When did Mr Jones have a stroke?", "When did the mother of Mr Jones have a stroke?", "kin: mother"),
    ("When did Mr Jones's mother have a stroke?", "When did Mr Jones have a stroke?", "kin: mother"),
    ("When did his sister have a stroke?", "When did Mr Jones' brother have a stroke?", "kin: sister and brother"),
    ("When did his mum have a stroke?", "When did the mother of Mr Jones have a stroke?", ""),
    ("When did both wives of Mr Jones die?", "When did Mr Jones' wife die?", ""),
    ("Who was the husband of Ann Lee?", "Who was Ann Lee married to?", ""),
    ("When was Teresa of Foo born?", "When was Mother Teresa of Foo born?", ""),
    ("When was mother Teresa of Foo born?", "When was Mother Teresa of Foo born?", ""),
    ("WHEN DID ANN LEE DIE?", "When was Ann Lee born?", "it tells of "),
]


@pytest.mark.parametrize(("question", "told", "reason"), TURNED)
def test_a_memory_must_not_tell_the_opposite_or_of_kin(question: str, told: str, reason: str) -> None:
    said = misses(question, told)
    assert reason in said
    assert bool(said) == bool(reason)


UNTOLD: list[tuple[str, str]] = [  # a question, and a memory's question that is silent on what it asks
    ("When did Ann Lee die?", "When did Ann Lee sign the treaty?"),
    ("When did Ann Lee die?", "When was Ann Lee discharged?"),
    ("When did Mr Jones die of Foo fever?", "When did Mr Jones have Foo fever?"),
    ("When was Mr Jones discharged?", "When did Mr Jones have Foo fever?"),
]


@pytest.mark.parametrize(("question", "told"), UNTOLD)
def test_a_memory_must_tell_of_the_end_that_is_asked_for(question: str, told: str, encoder: Encoder) -> None:
    recall = Recall(Matcher([], 0.6), encoder, 0.5, 1.0, Quorum("home"), lambda item: ())
    item = MemoryItem("i", told, "1980", "single", "YEAR", ("e",), (), unit_vector("q"), "home")
    assert misses(question, told) or recall.relation(question, item) < recall.told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Who designed Tarn Bridge in 1924?", {"designed"}),
        ("How many clocks does Copper Hall show?", {"many", "clocks", "show"}),
        ("In which year was it?", set()),
        ("", set()),
    ],
)
def test_words_that_tell_something_of_what_is_named(text: str, words: set[str]) -> None:
    assert content(text) == words
