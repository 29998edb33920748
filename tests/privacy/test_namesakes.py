"""Whom a text does not name pays nothing for it, and nobody whom it names is shown for that."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.ldp import LocalDifferentialPrivacy, _named, _wholes
from fedrag_flwr.privacy.ledger import BudgetLedger, SurrogateMemo
from fedrag_flwr.privacy.masks import entity_masks
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import KNOWN, PERSON, Found
from fedrag_flwr.privacy.randomised_response import RandomisedResponse, entity_digest
from fedrag_flwr.privacy.register import Register
from fedrag_flwr.privacy.replacement import rewrite
from fedrag_flwr.privacy.vocabulary import build_partition
from fedrag_flwr.records import Fact
from fedrag_flwr.text.pipeline import Pipeline

LOPEZ, KOWALSKA = (Fact(f"Maria {name}", PERSON, "") for name in ("Lopez", "Kowalska"))
PUBLIC = (LOPEZ.text, KOWALSKA.text, "Otmar Winter", "Lena Varro", "Jonas Keel", "Henrik Vossabelle")
WARD = Register({"maria": (LOPEZ, KOWALSKA), "lopez": (LOPEZ,), "kowalska": (KOWALSKA,)})
LIMIT = 1.0


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[BudgetLedger]:
    with closing(BudgetLedger(tmp_path / "budget.sqlite", LIMIT)) as opened:
        yield opened


@pytest.fixture
def ldp(pipeline: Pipeline, encoder: Encoder, ledger: BudgetLedger, tmp_path: Path) -> LocalDifferentialPrivacy:
    partition = build_partition([(PERSON, name) for name in PUBLIC], encoder, c=5, seed=7)
    memo = SurrogateMemo(tmp_path / "memo.sqlite")
    return LocalDifferentialPrivacy(
        pipeline, RandomisedResponse(partition, LIMIT, memo, ledger=ledger), frozenset({PERSON})
    )


def _spent(ledger: BudgetLedger) -> dict[str, float]:
    return {fact.text: ledger.spent(entity_digest(fact.text)) for fact in (LOPEZ, KOWALSKA)}


@pytest.mark.parametrize("text", ["Maria Lopez opened the mill.", "Maria Lopez opened the mill. Maria left."])
def test_a_namesake_neither_pays_nor_withholds(ldp: LocalDifferentialPrivacy, ledger: BudgetLedger, text: str) -> None:
    ledger.spend(entity_digest(KOWALSKA.text), "something else", LIMIT / 2)
    [shown] = ldp.operate([WARD.tell(Bundle((text,)))])
    assert shown.refusal == ""
    assert _spent(ledger) == {LOPEZ.text: LIMIT, KOWALSKA.text: LIMIT / 2}


@pytest.mark.parametrize(
    ("text", "paid"),
    [
        ("Maria opened the mill.", {LOPEZ.text, KOWALSKA.text}),  # it may be either
        ("Kowalska opened the mill.", {KOWALSKA.text}),
        ("Maria Lopez met Kowalska.", {LOPEZ.text, KOWALSKA.text}),
        ("Maria Lopez met Maria Kowalska.", {LOPEZ.text, KOWALSKA.text}),
    ],
)
def test_who_may_be_named_pays(ldp: LocalDifferentialPrivacy, ledger: BudgetLedger, text: str, paid: set[str]) -> None:
    ldp.operate([WARD.tell(Bundle((text,)))])
    assert {name for name, spent in _spent(ledger).items() if spent} == paid


_NAMES = ("Maria Lopez", "Maria Kowalska", "Anna Kowalska", "Rose Lopez", "Mei Wu", "Ina Kowalczyk-Brandt", "Ed Brandt")
_WORDS = sorted({part for name in _NAMES for word in name.split() for part in (word, *word.split("-"))})
_WRITTEN = st.sampled_from([*_NAMES, *_WORDS, *map(str.upper, _WORDS), *map(str.lower, _WORDS), "met", "the", "."])
_FORMS = st.lists(
    st.builds(Found, st.sampled_from([*_NAMES, *_WORDS]), st.just(PERSON), st.sampled_from([KNOWN, "recogniser"])),
    max_size=6,
)


@given(st.lists(st.lists(_WRITTEN, max_size=6), min_size=1, max_size=2), _FORMS)
@settings(max_examples=600, deadline=None)
@example([["Rose Lopez", "met", "rose"]], [Found("Rose Lopez", PERSON, KNOWN), Found("Rose Brandt", PERSON, KNOWN)])
@example([["Groß"]], [Found("Anna Groß", PERSON, KNOWN), Found("Anna Gross", PERSON, KNOWN)])
def test_no_name_that_stands_somewhere_is_left_out(texts: list[list[str]], forms: list[Found]) -> None:
    bundle = Bundle(tuple(map(" ".join, texts)), ("maria lopez", "mill"))
    asked = _wholes(forms)
    paid = _named(asked, bundle)
    all_masked, masked = (
        rewrite(bundle, [mask for form in chosen for mask in entity_masks(form)]) for chosen in (asked, paid)
    )
    assert (masked.prose, masked.anchors) == (all_masked.prose, all_masked.anchors)
