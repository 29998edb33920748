"""What the model names is masked, what it says otherwise keeps the text back, and nothing ever comes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import ModelMissingError, SettingError
from fedrag_flwr.models import load_generator
from fedrag_flwr.models.base import Encoder, Generator, Prompt
from fedrag_flwr.privacy import Bundle, make_export_filter
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.model_masking import (
    MODEL_FAILED,
    MODEL_UNCLEAR,
    ModelMasking,
    copy_grammar,
    named,
    parts,
    piece_pattern,
)
from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.rewriting import PLACEHOLDER
from fedrag_flwr.records import Answer, EvidenceUnit, because
from fedrag_flwr.text import SpacyPipeline
from tests.privacy.conftest import Opaque, Saying

TEXT = "[PERSON] keeps the spare key of Gate 9 under the third stone, as Teo said."
ASKED: list[tuple[str, str]] = [
    ("none", TEXT),
    ("Gate 9", "[PERSON] keeps the spare key of [CONFIDENTIAL] under the third stone, as Teo said."),
    ("key\nstone\nTeo", "[PERSON] keeps the spare [CONFIDENTIAL] of Gate 9 under the third [CONFIDENTIAL], as "
     "[CONFIDENTIAL] said."),
    ("TEO", "[PERSON] keeps the spare key of Gate 9 under the third stone, as [CONFIDENTIAL] said."),
    ("9 under the third stone", "[PERSON] keeps the spare key of Gate [CONFIDENTIAL], as Teo said."),
]  # fmt: skip
UNCLEAR = ["", "I cannot tell.", "Gate 9\nGate 10", "PERSON", "[PERSON]", "Gat", "none\nnothing", "..."]

WORDS = ["Teo", "9", "the", "[PERSON]", "Gate", "stone.", "key\n", "(Ada)", "ß", "no-one", "[CONFIDENTIAL]"]
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
lists = st.lists(st.sampled_from([*WORDS, "none", "stone", "Ada)", "9 the"]), min_size=1, max_size=4).map("\n".join)


def masked(text: str, told: str) -> Bundle:
    [bundle] = ModelMasking(lambda: Saying(told)).operate([Bundle(("", text))])
    return bundle


@pytest.mark.parametrize(("told", "expected"), ASKED)
def test_what_the_model_names_is_masked(told: str, expected: str) -> None:
    assert masked(TEXT, told).prose[1] == expected


def test_what_stands_in_brackets_and_is_no_placeholder_is_masked_too() -> None:
    text = "[KOWALSKA] gave [PERSON] the key."
    assert masked(text, "KOWALSKA").prose[1] == "[[CONFIDENTIAL]] gave [PERSON] the key."
    grammar = copy_grammar(text)
    assert grammar is not None
    assert "KOWALSKA" in grammar
    assert '"PERSON"' not in grammar


def test_it_is_masked_wherever_it_stands() -> None:
    bundle = Bundle(("The gate of Teo", "TEO left it open."), ("teo", "gate"))
    [shown] = ModelMasking(lambda: Saying("Teo")).operate([bundle])
    assert shown.prose == ("The gate of [CONFIDENTIAL]", "[CONFIDENTIAL] left it open.")
    assert shown.anchors == ("gate",)
    assert {(change.type, change.rule, change.masked) for change in shown.changes} == {
        ("CONFIDENTIAL", "model-masking", True)
    }


def test_public_names_stay() -> None:
    [shown] = ModelMasking(lambda: Saying("Odile Varro\nTeo"), ["Odile Varro"]).operate([Bundle(("Odile Varro, Teo",))])
    assert shown.prose == ("Odile Varro, [CONFIDENTIAL]",)


@pytest.mark.parametrize("told", UNCLEAR)
def test_what_is_no_list_of_its_pieces_keeps_the_text_back(told: str) -> None:
    assert masked(TEXT, told).refusal == MODEL_UNCLEAR


def test_a_list_that_does_not_end_keeps_the_text_back() -> None:
    [bundle] = ModelMasking(lambda: Saying("Teo", tokens=10_000)).operate([Bundle((TEXT,))])
    assert bundle.refusal == MODEL_UNCLEAR


def _absent() -> Generator:
    raise ModelMissingError("there is no model", where="nowhere.gguf")


@settings(deadline=None)
@given(texts, st.one_of(lists, st.text(max_size=30)))
def test_words_only_go_and_placeholders_stay(text: str, told: str) -> None:
    model = Saying(told)
    [shown] = ModelMasking(lambda: model).operate([Bundle((text,))])
    before = iter(_words(text))
    assert all(word in before for word in _words(shown.prose[0]))  # each is one of those that are left of the text
    assert ("[PERSON]" in shown.prose[0]) == ("[PERSON]" in text)
    if model.heard and not shown.refusal and told.strip() != "none":
        left = PLACEHOLDER.sub("\n", probe(shown.prose[0]))
        assert not any(piece_pattern(line.strip()).search(left) for line in told.split("\n"))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", PLACEHOLDER.sub(" ", text))


@settings(deadline=None)
@given(st.lists(st.sampled_from(["word", "end.", "line\n", "[PERSON]", "1.5", "why?!"]), max_size=400).map(" ".join))
def test_parts_are_the_whole_text_and_short(text: str) -> None:
    cut = list(parts(text))
    assert "".join(cut) == text
    assert all(len(re.findall(r"\w+", part)) <= 120 for part in cut)


# --- the real model -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> Generator:
    return load_generator("smollm2-135m", context_tokens=1024)


COPIED = [
    "My name is Teo Brandt and I live at 9 Weir Close, Port Ferren.",
    'She wrote "C:\\keys" on [PERSON]\'s door,\tthen left; Łódź 4-5.',
    "the of and",
]


@pytest.mark.parametrize("text", COPIED)
def test_whatever_a_model_makes_of_it_the_grammar_lets_it_copy_only(model: Generator, text: str) -> None:
    pieces = named(lambda: model, text)
    assert pieces is not None
    visible = PLACEHOLDER.sub("\n", text)
    assert all(piece in visible for piece in pieces)
    assert pieces == sorted(pieces, key=visible.index)


def test_the_grammar_is_what_forces_it(model: Generator) -> None:
    grammar = copy_grammar("Zorvath Quill")
    [said] = model.complete(Prompt("Say hello.", "Say it now!"), grammar=grammar, max_tokens=24)
    assert said.text in {"none", "Zorvath", "Quill", "Zorvath Quill", "Zorvath\nQuill"}
    assert copy_grammar("[PERSON] [PHONE]") is None


# --- at the export filter ----------------------------------------------------------------------------------------


@pytest.fixture
def guarded(pipeline: SpacyPipeline, encoder: Encoder, opaque: Opaque) -> Callable[..., ExportFilter]:
    """Makes an export filter with the model's filter behind its rules."""
    further = ("model-masking",)
    return partial(
        make_export_filter, encoder=encoder, pipeline=pipeline, opaque=opaque, device="ward", further=further
    )


@pytest.mark.parametrize(
    ("generator", "reason"), [(_absent, MODEL_FAILED), (lambda: Saying("It is all fine."), MODEL_UNCLEAR)]
)
def test_what_the_model_cannot_vouch_for_stays_and_is_counted(
    guarded: Callable[..., ExportFilter], generator: Callable[[], Generator], reason: str
) -> None:
    export = guarded("type-masking", generator=generator)
    unit = EvidenceUnit("record-0001", "The spare key lies under the third stone.", "ward", 0.5, "Keys")
    released = export.release_evidence([unit])
    assert (released.items, released.withheld) == ((), {reason: 1})
    answer = export.release_answer(
        Answer("q", "under the third stone", "cognizer", 0.5, decisions=(because("model", "as record-0001 says"),))
    )
    assert (answer.path, answer.text, answer.explanation) == ("abstained", "", f"withheld: {reason}")
    export.outgoing.write("run", "query.walk", 10)
    assert {(row.kind, row.count, row.withheld) for row in export.outgoing.by_kind()} == {
        ("evidence", 0, 1),
        ("answers", 0, 1),
        ("query.walk", 1, 0),
    }
    assert export.counts[f"evidence withheld {reason}"] == export.counts[f"answers withheld {reason}"] == 1
    assert not any("stone" in key for key in export.counts)
    export.close()


def test_the_model_reads_what_the_rules_left(guarded: Callable[..., ExportFilter]) -> None:
    heard = Saying("the third stone")
    export = guarded("type-masking", generator=lambda: heard)
    unit = EvidenceUnit("record-0001", "Mrs. Ilse Brandwein hid it under the third stone.", "ward", 0.5, "Keys")
    [shown] = export.release_evidence([unit]).items
    assert shown.text.endswith("hid it under [CONFIDENTIAL].")
    assert not any("Brandwein" in prompt.user for prompt in heard.heard)
    assert heard.heard
    assert "type-masking+model-masking" in export.id
    with pytest.raises(SettingError, match="need one"):
        guarded("none")
