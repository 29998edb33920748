"""What several devices say alike becomes one memory with all its owners; what one device floods is cut."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.memory.fusion.merge import (
    FUSION,
    FusionRules,
    Words,
    owners,
    references,
)
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import MemoryItem, Vector
from fedrag_flwr.text.asking import item_anchors
from tests.memory.fusion.whole import Merging, merge, within_quota
from tests.memory.store.samples import unit_vector
from tests.strategies.federation import small_models

RULES = FusionRules(near=0.95, quota=2)


def item(number: int, origin: str, question: str = "Who rang?", answer: str = "Ada", near: str = "rang") -> MemoryItem:
    vector = unit_vector(near)
    return MemoryItem(f"{origin}{number:03}", question, answer, "single", "PERSON", (f"e{number}",), (), vector, origin)


def words_of(encoder: Encoder | None = None) -> Words:
    """What questions say, as one encoder has it."""
    models = small_models()
    return Words((encoder or models.encoder).encode, models.pipeline.questions)


def fused(items: Sequence[MemoryItem], rules: FusionRules) -> Merging:
    """What is made of memories whose vectors are those of their questions."""
    vectors = {one.question: one.embedding for one in reversed(items)}
    words = Words(lambda asked: np.stack([vectors[question] for question in asked]), small_models().pipeline.questions)
    return merge(items, rules, words)


def turned(vector: Vector, cosine: float) -> Vector:
    """A unit vector at a cosine to another."""
    other = unit_vector("another way", len(vector))
    across = other - (other @ vector) * vector
    across /= np.linalg.norm(across)
    return np.asarray(cosine * vector + np.sqrt(1 - cosine**2) * across, dtype=np.float32)


def test_equal_statements_of_two_devices_become_one_with_both_owners() -> None:
    [one] = fused([item(1, "a"), item(2, "b")], RULES).items
    assert (one.origin, one.question, one.answer) == (FUSION, "Who rang?", "Ada")
    assert one.hyperedges == ("a/e1", "b/e2")
    assert owners(one) == {"a", "b"}


def test_another_wording_of_the_same_statement_is_merged_and_a_far_one_is_not() -> None:
    asked = item(2, "b", question="Who rang it?")
    near, far = (replace(asked, embedding=turned(unit_vector("rang"), cosine)) for cosine in (0.96, 0.94))
    assert len(fused([item(1, "a"), near], RULES).items) == 1
    assert len(fused([item(1, "a"), far], RULES).items) == 2


def test_contradictions_stay_apart_with_their_owners() -> None:
    kept = fused([item(1, "a"), item(2, "b", answer="Odile"), item(3, "c", answer="the Ada")], RULES).items
    assert {(one.answer, owners(one)) for one in kept} == {("Ada", frozenset(("a", "c"))), ("Odile", frozenset(("b",)))}


BEATEN = "Who beat whom in the final?"


@pytest.mark.parametrize(
    ("asked", "answer", "false"),
    [
        ((BEATEN, BEATEN), "Lund beat Madrid", "Madrid beat Lund"),
        (("Which tumour was benign?", "Which tumour was malignant?"), "Bar", "Bar"),
        (("Who admitted Ann Lee?", "Who discharged Ann Lee?"), "Ada", "Ada"),
    ],
)
def test_nobody_speaks_in_others_names_for_the_opposite(asked: tuple[str, str], answer: str, false: str) -> None:
    honest = [item(number, name, asked[0], answer) for number, name in enumerate("abc")]
    kept = fused([*honest, item(0, "evil", asked[1], false)], RULES).items
    assert {(one.question, one.answer, owners(one)) for one in kept} == {
        (asked[0], answer, frozenset("abc")),
        (asked[1], false, frozenset(("evil",))),
    }


def test_one_device_alone_is_left_as_it_is() -> None:
    mine = [item(1, "a"), item(2, "a", near="else")]
    assert fused(mine, RULES).items == tuple(mine)


def test_a_flood_of_one_device_is_cut_to_the_quota() -> None:
    flood = [item(number, "mallory", question=f"Who rang {number}?", answer="Eve") for number in range(50)]
    others = [item(1, "a"), item(2, "b")]
    merging = fused([*flood, *others], RULES)
    assert merging.over_quota == 48
    assert sum(one.origin == "mallory" for one in merging.items) == RULES.quota
    assert {owners(one) for one in merging.items} == {frozenset(("mallory",)), frozenset(("a", "b"))}


STEPS = ("chime", "gong", "horn", "drum", "pipe")


def test_no_chain_of_near_questions_joins_far_ones() -> None:
    vector = unit_vector("rang")
    steps = [
        replace(item(number, "ab"[number % 2], question), embedding=turned(vector, float(np.cos(0.3 * number))))
        for number, question in enumerate(f"Who rang the {what}?" for what in ("bell", *STEPS))
    ]
    sizes = [len(one.hyperedges) for one in fused(steps, RULES).items if one.origin == FUSION]
    assert sizes
    assert max(sizes) <= 3


@pytest.mark.parametrize(("field", "other"), [("question", "-"), ("answer_type", "YESNO"), ("kind", "set")])
def test_far_ones_whose_middle_falls_out_come_apart(field: str, other: str) -> None:
    vector = unit_vector("rang")
    asked = [
        replace(item(number, origin, f"Who rang the {what}?"), embedding=turned(vector, float(np.cos(turn))))
        for number, origin, what, turn in ((1, "a", "bell", 0.3), (2, "b", "chime", 0.0), (3, "c", "gong", 0.6))
    ]
    vectors = {one.question: one.embedding for one in asked} | {"-": unit_vector("else")}
    words = Words(lambda questions: np.stack([vectors[one] for one in questions]), small_models().pipeline.questions)
    assert [len(owners(one)) for one in merge(asked, RULES, words).items] == [3]
    told = {"question": asked[0].question, "answer_type": "PERSON", "kind": "single"} | {field: other}
    between = replace(asked[0], question=told["question"], answer_type=told["answer_type"], kind=told["kind"])
    assert {one.id for one in merge([between, *asked[1:]], RULES, words).items} == {one.id for one in asked}


@pytest.mark.parametrize(
    ("count", "name", "counted"),
    [(16, "d{:02}", 16), (17, "d{:02}", 17), (40, "d{:02}", 40), (300, "device-{:03}", 240), (40, "d{:063}", 32)],
)
def test_owners_of_many_devices_are_counted_as_far_as_references_reach(count: int, name: str, counted: int) -> None:
    members = [item(number, name.format(number)) for number in range(count)]
    members = [replace(one, hyperedges=(one.hyperedges[0].ljust(32, "0"),)) for one in members]  # as opaque ids are
    [one] = fused(members, RULES).items
    assert len(one.hyperedges) == 16
    assert max(map(len, one.hyperedges)) <= 200
    assert len(owners(one)) == counted
    assert owners(one) <= {member.origin for member in members}
    assert references(one) == [(member.origin, member.hyperedges[0]) for member in members[:16]]


def test_an_owner_without_hyperedges_is_named() -> None:
    [one] = fused([replace(item(1, "a"), hyperedges=()), item(2, "b")], RULES).items
    assert owners(one) == {"a", "b"}
    assert references(one) == [("a", ""), ("b", "e2")]


def test_all_stand_behind_a_merged_memory_of_any_kind() -> None:
    long, short = (replace(item(n, name), kind="set") for n, name in enumerate(("a", "b"), 1))
    short = replace(short, question="Who?")  # it speaks for all who say the same
    [merged] = fused([long, short], RULES).items
    assert merged.kind == "set"
    assert merged.question == "Who?"
    assert owners(merged) == {"a", "b"}


statements = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["Ada", "Odile"]), st.sampled_from(["rang", "sang", "left"])),
    max_size=24,
)


@given(statements)
def test_every_statement_within_the_quota_survives_with_its_owner(drawn: list[tuple[str, str, str]]) -> None:
    items = [item(n, origin, answer=answer, near=near) for n, (origin, answer, near) in enumerate(drawn)]
    kept = within_quota(items, RULES)
    said = {(i.answer, i.embedding.tobytes(), i.origin) for i in kept}
    merged = fused(items, RULES)
    assert {(i.answer, i.embedding.tobytes(), name) for i in merged.items for name in owners(i)} == said
    assert len({i.id for i in merged.items}) == len(merged.items)
    assert merged.over_quota == len(items) - len(kept)
    for name in "abc":
        for near in ("rang", "sang", "left"):
            asked = [i for i in kept if i.origin == name and np.array_equal(i.embedding, unit_vector(near))]
            assert len(asked) <= RULES.quota


@given(statements)
def test_the_order_of_arrival_changes_nothing(drawn: list[tuple[str, str, str]]) -> None:
    items = [item(n, origin, answer=answer, near=near) for n, (origin, answer, near) in enumerate(drawn)]
    turned_round = list(reversed(items))
    assert {i.id for i in fused(items, RULES).items} == {i.id for i in fused(turned_round, RULES).items}


@pytest.mark.parametrize(("field", "other"), [("question", "-"), ("answer_type", "YESNO"), ("kind", "set")])
def test_nobody_speaks_for_another_in_words_that_its_vector_does_not_say(field: str, other: str) -> None:
    words = words_of()
    encode = words.encode
    question = "Who commanded the frigate Windhover?"
    [vector] = encode([question])
    honest = replace(item(7, "b", question), embedding=vector)
    told = {"question": question, "answer_type": honest.answer_type, "kind": honest.kind} | {field: other}
    made_up = MemoryItem(
        "a1", told["question"], honest.answer, told["kind"], told["answer_type"], ("e1",), (), vector, "a"
    )
    alone = merge([honest, made_up], RULES, words).items
    assert {one.id: one.question for one in alone} == {honest.id: question, made_up.id: made_up.question}
    also = replace(honest, id="c1", origin="c", question="Who commanded Windhover, the frigate?")
    also = replace(also, embedding=encode([also.question])[0])
    kept = merge([honest, made_up, also], RULES, words).items
    assert sorted(sorted(owners(one)) for one in kept) == [["a"], ["b", "c"]]


@pytest.mark.parametrize("cosine", [0.955, 0.9905])
def test_nobody_speaks_for_another_with_a_vector_that_its_words_do_not_have(cosine: float) -> None:
    words, question = words_of(), "Who commanded the frigate Windhover?"
    [vector] = words.encode([question])
    honest = replace(item(7, "b", question), embedding=vector)
    false = replace(honest, id="a1", origin="a", embedding=turned(vector, cosine))
    assert {one.id for one in merge([honest, false], RULES, words).items} == {honest.id, false.id}
    travelled = replace(honest, id="a1", origin="a", embedding=vector.astype(np.float16).astype(np.float32))
    [both] = merge([honest, travelled], RULES, words).items
    assert owners(both) == {"a", "b"}


def test_anchors_on_which_devices_do_not_agree_are_those_of_the_question() -> None:
    words, question = words_of(), "Who commanded the frigate Windhover?"
    [true] = [item_anchors(analysis, "PERSON") for analysis in words.analyse([question])]
    honest = replace(item(7, "b", question), embedding=words.encode([question])[0], anchors=true)
    for name, anchors in (("a1", ("asks:volcano",)), ("c1", ()), ("d1", true)):
        [both] = merge([honest, replace(honest, id=name, origin=name[0], anchors=anchors)], RULES, words).items
        assert both.anchors == true
