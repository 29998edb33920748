"""Masking with Presidio: what is found by which recogniser, what stays, and that no socket is opened for it."""

import socket
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.addresses import find_addresses
from fedrag_flwr.privacy.analyser import FURTHER_TYPES, PERSONAL_TYPES, PersonalDataAnalyser
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.masks import TypeMasking
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import Fact
from fedrag_flwr.text.pipeline import Pipeline
from tests.privacy.network import watched

MASKED = [
    ("Her MRN is 00482913.", "Her MRN is [MEDICAL_RECORD]."),
    ("The mrn of Lena Marchbanksy is 483217.", "The mrn of [PERSON] is [MEDICAL_RECORD]."),
    ("The insurance number of Lena Marchbanksy is 483217.", "The insurance number of [PERSON] is [INSURANCE]."),
    ("Her MRN, 48213, and MRN123456", "Her MRN, [MEDICAL_RECORD], and [MEDICAL_RECORD]"),
    ("Dr. Page examined Mrs. May in May.", "[PERSON] examined [PERSON] in May."),
    ("Medicare number 1EG4-TE5-MK73 was checked.", "Medicare number [INSURANCE] was checked."),
    ("Insurance policy no. AB-9938201 lapsed.", "Insurance policy no. [INSURANCE] lapsed."),
    ("The pacemaker serial number PM7719203 was read out.", "The pacemaker serial number [DEVICE_ID] was read out."),
    ("IMEI: 490154203237518", "IMEI: [DEVICE_ID]"),
    ("She was born on 12 March 1961 in winter.", "She was born on [DATE_OF_BIRTH] in winter."),
    ("DOB: 04/07/1958", "DOB: [DATE_OF_BIRTH]"),
    ("She lives at 14 Harrow Lane, Apt. 3.", "She lives at [ADDRESS]."),
    ("Send it to Lindenstrasse 12 please.", "Send it to [ADDRESS] please."),
    ("Write to a.b\u200b@example.org now.", "Write to [EMAIL] now."),
    ("call me at (212) 555-0142", "call me at [PHONE]"),
    ("His card is 4532 0151 1283 0366.", "His card is [CREDIT_CARD]."),
    ("[LOPEZ] I feel better. Maria Lopez left.", "[[PERSON]] I feel better. [PERSON] left."),
    ("[MARIA_LOPEZ] saw [PERSON].", "[[PERSON]] saw [PERSON]."),
]
KEPT = [
    "Crohn's disease and Hodgkin lymphoma are treated with care.",
    "The CT showed no PE, and the ICU was full.",
    "The bridge is 96 metres long and weighs 1,250 tonnes.",
    "On 12 March 1961 the dam was opened.",
    "Version 10.2 was released in 2021.",
]
ADDRESSES = [
    ("We met at 221 Baker Street, London.", "221 Baker Street, London"),
    ("It stands at the corner of 12 Mill Road and Quay Street", "the corner of 12 Mill Road and Quay Street"),
    ("PSC 1437, Box 3833\nAPO AA 66791", "PSC 1437, Box 3833\nAPO AA 66791"),
    ("Rua das Flores 50 is closed.", "Rua das Flores 50"),
    ("Post code: SW1A 2AA", "SW1A 2AA"),
    ("He came on 12 December 2020 by boat.", ""),
    ("There were 12 apostles and 144 others.", ""),
]


def presidio(pipeline: Pipeline, public_names: Sequence[str] = (), names: KnownNames | None = None) -> TypeMasking:
    return TypeMasking(pipeline, PERSONAL_TYPES, public_names, names, PersonalDataAnalyser(pipeline))


@pytest.fixture(scope="module")
def masking(pipeline: Pipeline) -> TypeMasking:
    return presidio(pipeline)


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_personal_data_become_their_type(masking: TypeMasking, text: str, expected: str) -> None:
    from fedrag_flwr.privacy.normalise import clean

    [bundle] = masking.operate([Bundle((clean(text),))])
    assert bundle.prose == (expected,)
    assert all(change.masked and change.type in PERSONAL_TYPES for change in bundle.changes)
    assert bundle.changes


@pytest.mark.parametrize("text", KEPT)
def test_clinical_and_common_terms_stay(masking: TypeMasking, text: str) -> None:
    [bundle] = masking.operate([Bundle((text,))])
    assert bundle.prose == (text,)
    assert bundle.changes == ()


def test_an_eponym_after_a_title_is_a_person(masking: TypeMasking) -> None:
    [bundle] = masking.operate([Bundle(("Dr. Parkinson examined her. She has Parkinson's disease.",))])
    assert bundle.prose[0].startswith("[PERSON] examined her.") or "Dr. [PERSON]" in bundle.prose[0]


@pytest.mark.parametrize(("text", "address"), ADDRESSES)
def test_addresses(text: str, address: str) -> None:
    found = [text[span.start : span.end] for span in find_addresses(text)]
    assert found == ([address] if address else [])


def test_what_is_found_once_is_masked_in_the_whole_bundle_and_in_its_anchors(masking: TypeMasking) -> None:
    texts = ("Dr. Ilse Brandwein operated.", "Brandwein left; her chart 8839201 stayed, 8839201.")
    [bundle] = masking.operate([Bundle(texts, ("ilse brandwein", "chart"))])
    assert "brandwein" not in " ".join((*bundle.prose, *bundle.anchors)).lower()
    assert "8839201" not in " ".join(bundle.prose)
    assert bundle.anchors == ("chart",)


def test_names_that_it_finds_are_masked_by_type_masking_later(pipeline: Pipeline) -> None:
    names = KnownNames()
    presidio(pipeline, names=names).operate([Bundle(("Patient: Orsolya Fekete was seen.",))])
    [later] = TypeMasking(pipeline, names=names).operate([Bundle(("Then Fekete went home.",))])
    assert later.prose == ("Then [PERSON] went home.",)


def test_public_names_stay(pipeline: Pipeline) -> None:
    masking = presidio(pipeline, public_names=["Neil Armstrong"])
    [bundle] = masking.operate([Bundle(("Neil Armstrong met Maria Lopez.",))])
    assert bundle.prose == ("Neil Armstrong met [PERSON].",)


def test_unknown_types_are_refused(pipeline: Pipeline) -> None:
    with pytest.raises(SettingError, match="SHOE_SIZE"):
        TypeMasking(pipeline, ("SHOE_SIZE",), analyser=PersonalDataAnalyser(pipeline))


def test_no_socket_is_opened(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    import tldextract

    asking = tldextract.TLDExtract(cache_dir=None)  # one that has loaded no list of domains yet
    monkeypatch.setattr(tldextract.tldextract, "TLD_EXTRACTOR", asking)
    with watched() as events:
        text = "Mail j.doe@clinic.example.org or see https://a.b.co.uk/x of Ann Poe."
        found = PersonalDataAnalyser(pipeline).find(text)
        used = len(events)
        socket.socket().close()  # so that a watch that sees nothing would show
    assert {"EMAIL", "PERSON"} <= {span.type for span in found}
    assert (used, len(events) > used) == (0, True)


def test_who_was_found_in_one_text_is_masked_in_all(pipeline: Pipeline) -> None:
    masking = presidio(pipeline)
    texts = ("The kwiatkowska scan was read.", "Kwiatkowska left.", "Dr. Jadwiga Kwiatkowska examined the ward.")
    shown = [bundle.prose[0] for bundle in masking.operate([Bundle((text,)) for text in texts])]
    assert shown[1] == "[PERSON] left."
    assert "Kwiatkowska" not in " ".join(shown)
    [later] = masking.operate([Bundle(("Then Kwiatkowska returned.",))])
    assert later.prose == ("Then [PERSON] returned.",)


def test_whom_the_device_knows_is_masked(pipeline: Pipeline) -> None:
    known = (Fact("Zorvik", "PERSON", ""),)
    [bundle] = presidio(pipeline).operate([Bundle(("zorvik and Zorvik agreed on it.",), known=known)])
    assert "Zorvik" not in bundle.prose[0]
    [kept] = presidio(pipeline, public_names=["Zorvik"]).operate([Bundle(("Zorvik agreed.",), known=known)])
    assert kept.prose == ("Zorvik agreed.",)


@pytest.fixture(scope="module")
def all_types(pipeline: Pipeline) -> PersonalDataAnalyser:
    return PersonalDataAnalyser(pipeline, (*PERSONAL_TYPES, *FURTHER_TYPES))


PIECES = st.one_of(st.sampled_from([*(text for text, _ in MASKED), "\n", "é", "\u200b"]), st.text(max_size=9))


@settings(max_examples=25, deadline=None)
@given(st.lists(PIECES, max_size=5).map(" ".join))
@example(" ".join(text for text, _ in MASKED))
def test_spans_are_in_order_within_the_text_and_apart(all_types: PersonalDataAnalyser, text: str) -> None:
    from fedrag_flwr.privacy.normalise import clean

    text = clean(text)
    spans = all_types.find(text)
    ends = 0
    for span in spans:
        assert ends <= span.start < span.end <= len(text)
        ends = span.end
    assert len(spans) >= sum(clean(piece) in text for piece in ("IMEI: 490154203237518", "DOB: 04/07/1958"))
