"""Query-focused erasure and model summaries: what stays, what goes, and that nothing masked comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import ModelError, SettingError
from fedrag_flwr.models.base import Encoder, Prompt
from fedrag_flwr.privacy.erasure import SENTENCE, QueryFocusedErasure
from fedrag_flwr.privacy.masks import TypeMasking
from fedrag_flwr.privacy.model_summary import ModelSummary, brings_nothing
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.pipeline import Pipeline
from tests.privacy.conftest import ExportMaker
from tests.scripted import Scripted

TITLE = "Tarn Bridge"
TEXT = (
    "Tarn Bridge was designed by Odile Varro and opened in 1931. Its toll keeper Hanna Brook moved to Lisbon in May "
    "1940. The mayor collected stamps."
)
ASKED = "Who designed Tarn Bridge?"


@pytest.fixture(scope="module")
def erasure(pipeline: Pipeline, encoder: Encoder) -> QueryFocusedErasure:
    return QueryFocusedErasure(pipeline, encoder)


def test_what_the_question_needs_stays_and_the_rest_goes(
    erasure: QueryFocusedErasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedrag_flwr.privacy.erasure.KEEP", 0.8)
    [bundle] = erasure.operate([Bundle((TITLE, TEXT), question=ASKED)])
    assert bundle.prose == (TITLE, "Tarn Bridge was designed by Odile Varro and opened in [YEAR].")
    assert [change.type for change in bundle.changes] == [SENTENCE, SENTENCE, "YEAR"]


def test_a_name_of_an_erased_sentence_is_masked(pipeline: Pipeline, erasure: QueryFocusedErasure) -> None:
    text = "Mrs. Achterberg was admitted on Monday. Asthma of Achterberg is treated with salbutamol."
    [bundle] = erasure.operate([Bundle(("note", text), question="What is asthma treated with?")])
    assert bundle.prose[1].startswith("Asthma of Achterberg")
    [masked] = TypeMasking(pipeline).operate([bundle])
    assert masked.prose[1] == "Asthma of [PERSON] is treated with salbutamol."


def test_without_a_question_nothing_is_erased(erasure: QueryFocusedErasure) -> None:
    assert erasure.operate([Bundle((TITLE, TEXT))]) == [Bundle((TITLE, TEXT))]


LONG = "[PERSON] was admitted in March 2019 with 3 fractures of the left hand. " + "The ward was calm that day. " * 8
SUMMARIES = [
    ("[PERSON] was admitted in March 2019 with 3 fractures.", True),
    ("The patient had 3 fractures of the left hand.", True),
    ("Ilse Brandwein was admitted in March 2019.", False),
    ("ILSE was admitted in March 2019.", False),
    ("[PERSON] was admitted in March 2020.", False),
    ("[PERSON] can be called at 0171 2233.", False),
    ("[PHONE] belongs to [PERSON].", False),
]


@pytest.mark.parametrize(("told", "taken"), SUMMARIES)
def test_a_summary_is_taken_only_where_it_brings_nothing(told: str, taken: bool) -> None:
    masked = Bundle(("Ward 7", LONG), question="What was broken?")
    [bundle] = ModelSummary(Scripted(told)).operate([masked])
    assert bundle.prose[1] == (told if taken else LONG)
    assert [change.masked for change in bundle.changes] == [False]


def test_a_text_that_the_model_cannot_read_leaves_masked_and_the_others_summed_up() -> None:
    told = SUMMARIES[0][0]
    texts = [LONG, "The ward was calm that day. " * 40, LONG]
    bundles = [Bundle(("Ward 7", text), question="What was broken?") for text in texts]

    def said(prompt: Prompt) -> str:
        if len(prompt.user.split()) > 100:
            raise ModelError("the prompt does not fit the context")
        return told

    found = ModelSummary(Scripted(said)).operate(bundles)
    assert [bundle.prose[1] for bundle in found] == [told, texts[1], told]


@given(
    st.lists(st.sampled_from(["Ada", "Brook", "1931", "left", "Hand", "12", "[PERSON]", "[DATE]", "varro"]), max_size=8)
)
def test_whatever_is_taken_has_only_names_and_numbers_of_its_sources(words: list[str]) -> None:
    sources = ("The hand of [PERSON]", "Brook saw 12 swans")
    if brings_nothing(" ".join(words), sources):
        assert {"Ada", "1931", "[DATE]"}.isdisjoint(words)


def test_the_export_filter_runs_the_chain_and_counts_what_was_removed(export_of: ExportMaker) -> None:
    export = export_of("type-masking", device="ward", operators="erasure,presidio")
    text = "The scan of Mrs. Ilse Brandwein (MRN 4482913) showed a fracture. Her dog Bello barked in the garden."
    unit = EvidenceUnit("record-0001", text, "ward", 0.5, "Scan")
    released = export.release_evidence([unit], "What did the scan show?")
    [shown] = released.items
    assert "Brandwein" not in shown.text
    assert "4482913" not in shown.text
    assert "fracture" in shown.text
    assert released.removed["PERSON"] >= 1
    assert released.removed["MEDICAL_RECORD"] == 1
    assert not any("Brandwein" in key or "4482913" in key for key in released.removed)
    assert "erasure+presidio-masking" in export.id


def test_what_is_asked_for_without_words_passes_whole(export_of: ExportMaker, encoder: Encoder) -> None:
    export = export_of("none", device="ward", operators="erasure")
    text = "The scan showed a fracture. A dog barked in the garden."
    unit, asked = EvidenceUnit("record-0001", text, "ward", 0.5, "Scan"), "What did the scan show?"
    [worded] = export.release_evidence([unit], asked).items
    assert worded.text == "The scan showed a fracture."
    [whole] = export.release_evidence([unit], vector=encoder.encode([asked])[0]).items
    assert whole.text == text


def test_unknown_operators_are_refused(export_of: ExportMaker) -> None:
    with pytest.raises(SettingError, match="shredder"):
        export_of("none", device="ward", operators="shredder")
