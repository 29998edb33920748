"""Type masking over real parses and by the token classifier: what goes, what stays, and consistency within a bundle."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.analyser import FURTHER_TYPES, PERSONAL_TYPES
from fedrag_flwr.privacy.classified import find_names
from fedrag_flwr.privacy.erasure import ERASED_TYPES
from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES, OPTIONAL_TYPES
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.masks import DEFAULT_MASK_TYPES, ENTITY_TYPES, TypeMasking, entity_masks
from fedrag_flwr.privacy.normalise import clean, normal_name
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import Found
from fedrag_flwr.privacy.replacement import PLACEHOLDER, PLACEHOLDER_TYPES, placeholder, rewrite
from fedrag_flwr.text.pipeline import Pipeline

CASES = [
    (("Maria Lopez lives in Oslo.",), ("[PERSON] lives in Oslo.",)),
    (("Dr. Kowalczyk-Brandt operated on him.",), ("[PERSON] operated on him.",)),
    (("Call 5551234567office.",), ("Call [PHONE]office.",)),
    (
        ("From host.example/unsubscribe/newsletter/autumn/campaign/for/the/reader/jane.doe@example.org",),
        ("From host.exampl[EMAIL]",),
    ),
    (("my name is tomasz wolny",), ("my name is [PERSON]",)),
    (("Ask Jennifer about it.",), ("Ask [PERSON] about it.",)),
    (("They had three: Rogelio, Sharon and Jessica.",), ("They had three: [PERSON], [PERSON] and [PERSON].",)),
    (("The case of MARIA LOPEZ", "maria lopez won it."), ("The case of [PERSON]", "[PERSON] won it.")),
    (("Maria Lopez sued. Lopez won, and M. Lopez left.",), ("[PERSON] sued. [PERSON] won, and [PERSON] left.",)),
    (("Who treated Maria Lopez?", "MRN 83920-11, then 83920-11"), ("Who treated [PERSON]?", "MRN [ID], then [ID]")),
    (("seen by dr milan on the ward",), ("seen by [PERSON] on the ward",)),
    (("Visit of Rose Smith", "rose smith fell, rose is ill"), ("Visit of [PERSON]", "[PERSON] fell, [PERSON] is ill")),
    (("Rose Smith picked a rose.",), ("[PERSON] picked a rose.",)),
    (("Mail john.smith@example.com.",), ("Mail [EMAIL].",)),
    # Words in brackets are no placeholders.
    (("[MARIA_LOPEZ] I feel better.",), ("[[PERSON]] I feel better.",)),
    (("[LOPEZ] I feel better.", "Maria Lopez was admitted."), ("[[PERSON]] I feel better.", "[PERSON] was admitted.")),
    (("Dr. Jadwiga Kowalska came. [KOWALSKA] saw [PERSON].",), ("[PERSON] came. [[PERSON]] saw [PERSON].",)),
    # Names of two letters are followed as they are written, double ones by halves.
    (("Mrs. Mei Wu was admitted. Wu has type 2 diabetes.",), ("[PERSON] was admitted. [PERSON] has type 2 diabetes.",)),
    (("Mrs. Lan Ng got 5 ng/ml by NG tube: Ng's.",), ("[PERSON] got 5 ng/ml by NG tube: [PERSON]'s.",)),
    (
        ("MRS. MEI WU CAME. WU IS ILL.", "mei wu; wu is ill"),
        ("[PERSON] CAME. [PERSON] IS ILL.", "[PERSON]; [PERSON] is ill"),
    ),
    (("seen by mrs wu. Wu slept.",), ("seen by [PERSON]. [PERSON] slept.",)),
    (("Dr. Anna Kowalczyk-Brandt operated. Brandt saw him.",), ("[PERSON] operated. [PERSON] saw him.",)),
    (("Mr. Day-Lewis slept. Day two: Lewis is well.",), ("[PERSON] slept. Day two: [PERSON] is well.",)),
    (("Dr. Jan Van der Berg met Van der Waals de novo.",), ("[PERSON] met Van der Waals de novo.",)),
    (("Dr. Xiu Li: He left in May. In it was An Al alloy.",), ("[PERSON]: He left in May. In it was An Al alloy.",)),
    # A surname that is an everyday word is one behind a title, and nowhere else.
    (("Mrs. May was admitted. She may leave in May.",), ("[PERSON] was admitted. She may leave in May.",)),
    (("Dr. Page examined her. See the next page.",), ("[PERSON] examined her. See the next page.",)),
    (("Dr. He treated him. He slept.",), ("[PERSON] treated him. He slept.",)),
    (("Mr. Do has cancer.",), ("[PERSON] has cancer.",)),
    (("It was told by Mrs. Good", "Dr. Best's list"), ("It was told by [PERSON]", "[PERSON]'s list")),
    (("Prof. Du and Mr Day came.",), ("[PERSON] and [PERSON] came.",)),
    (("MRS. MAY CAME. SHE MAY LEAVE.",), ("[PERSON] CAME. SHE MAY LEAVE.",)),
    (("dr. page came and turned the page",), ("[PERSON] came and turned the page",)),
    (("They saw the doctor. He left.",), ("They saw the doctor. He left.",)),
    # The family name first, as registers have it.
    (("OKAFOR, PETER - 67M - pneumonia",), ("[PERSON], [PERSON] - 67M - pneumonia",)),
    (("Okafor, Peter was admitted. Okafor slept.",), ("[PERSON], [PERSON] was admitted. [PERSON] slept.",)),
    (("The condition of van den Berg, Jan Peter is angina.",), ("The condition of [PERSON], [PERSON] is angina.",)),
    (("Seen today: OYELARAN Fatima, well.",), ("Seen today: [PERSON], well.",)),
    (("In Oslo, Maria met Peter.",), ("In Oslo, [PERSON] met [PERSON].",)),
    (
        ("Protein, Maria says, matters. The BBC's Maria asked.",),
        ("Protein, [PERSON] says, matters. The BBC's [PERSON] asked.",),
    ),
    (("The king of Spain, Philip, died.",), ("The king of Spain, [PERSON], died.",)),
    (("In New York, Maria met Anna.",), ("In New York, [PERSON] met [PERSON].",)),
    (("Since Christmas, Anna sleeps.",), ("Since Christmas, [PERSON] sleeps.",)),
    (("what helps against pneumonia, maria",), ("what helps against pneumonia, [PERSON]",)),
    # What ends in another line is masked where it stands, and hides nothing else.
    (("MRN: 4483921\n12/03/2024 reviewed, 4483921",), ("MRN: [ID]\n12/03/2024 reviewed, [ID]",)),
    # Marks that do not compose cut no name in two.
    (("Dr. Ad\u00e9b\u1ecd\u0300w\u00e1l\u00e9 saw him.",), ("[PERSON] saw him.",)),
    (("Dr. Lo\u1dc4pe\u20dez saw him. Lopez left.",), ("[PERSON] saw him. [PERSON] left.",)),
    (("Dr. Kowalska came. Kow\u0483alska left.",), ("[PERSON] came. [PERSON] left.",)),
    (
        ("Dr. Kowalska came. Kow\u05b0alska left, Kow\u2065als\U000e0080ka.",),
        ("[PERSON] came. [PERSON] left, [PERSON].",),
    ),
    (("Sarah Lock signed the lease.",), ("[PERSON] signed the lease.",)),
]

KEPT = [
    "Saturn is 1,433,000,000 kilometres from the Sun.",
    "The Space Shuttle flew 135 missions.",
    "The James Webb Space Telescope has 18 mirror segments.",
    "What is the mass of Jupiter?",
    "Hadley Lock will be closed to boats in May.",
    "Who to ring at the Arden Canal Trust",
]


@pytest.mark.parametrize(("texts", "expected"), CASES)
def test_spans_become_their_type(pipeline: Pipeline, texts: tuple[str, ...], expected: tuple[str, ...]) -> None:
    [bundle] = TypeMasking(pipeline).operate([Bundle(tuple(map(clean, texts)))])
    assert bundle.prose == expected


@pytest.mark.parametrize("text", KEPT)
def test_other_text_stays(pipeline: Pipeline, text: str) -> None:
    [bundle] = TypeMasking(pipeline).operate([Bundle((text,))])
    assert bundle.prose == (text,)
    assert bundle.changes == ()


def test_public_names_stay_and_private_namesakes_go(pipeline: Pipeline) -> None:
    masking = TypeMasking(pipeline, public_names=["Neil Armstrong", "# a comment", ""])
    public = "Neil Armstrong walked first. Armstrong spoke."
    both = "Neil Armstrong walked first. Maria Armstrong watched. Armstrong waved."
    unchanged, mixed = masking.operate([Bundle((public,)), Bundle((both,))])
    assert unchanged.prose == (public,)
    assert mixed.prose == ("Neil Armstrong walked first. [PERSON] watched. [PERSON] waved.",)
    [role] = masking.operate([Bundle(("Commander Neil Armstrong walked first.",))])
    assert role.prose == ("Commander Neil Armstrong walked first.",)
    [alone] = masking.operate([Bundle(("Dr. Armstrong called about the scan.",))])
    assert alone.prose == ("[PERSON] called about the scan.",)


def test_a_name_that_is_one_behind_a_title_alone_is_not_looked_for_elsewhere(pipeline: Pipeline) -> None:
    names = KnownNames()
    told = [Bundle((text,)) for text in ("Mrs. May was admitted.", "It opens in May, so may others.")]
    shown = [bundle.prose[0] for bundle in TypeMasking(pipeline, names=names).operate(told)]
    assert shown == ["[PERSON] was admitted.", "It opens in May, so may others."]
    assert len(names) == 0


def test_a_public_name_stays_behind_a_title(pipeline: Pipeline) -> None:
    masking = TypeMasking(pipeline, public_names=["Theresa May"])
    public, private = "Theresa May spoke. Mrs. May left.", "Mrs. May left."
    shown = [bundle.prose[0] for bundle in masking.operate([Bundle((public,)), Bundle((private,))])]
    assert shown == [public, "[PERSON] left."]


def test_anchors_follow_the_prose(pipeline: Pipeline) -> None:
    bundle = Bundle(
        ("Where does Maria Barnes live, mail m.barnes@x.org?", "Oslo"),
        ("maria barne", "barne", "oslo", "m barne x org", "live", "m barnes x org"),
    )
    [masked] = TypeMasking(pipeline).operate([bundle])
    assert masked.anchors == ("oslo", "live")


def test_changes_say_type_and_rule_but_no_text(pipeline: Pipeline) -> None:
    [bundle] = TypeMasking(pipeline).operate([Bundle(("Call Maria Lopez on +44 20 7946 0958.",))])
    assert {(change.type, change.masked) for change in bundle.changes} == {("PERSON", True), ("PHONE", True)}
    assert not any(word in repr(bundle.changes) for word in ("Maria", "Lopez", "7946"))


def test_an_entity_type_can_be_asked_for(pipeline: Pipeline) -> None:
    [bundle] = TypeMasking(pipeline, ("GPE",)).operate([Bundle(("Maria Lopez lives in France.",))])
    assert bundle.prose == ("Maria Lopez lives in [GPE].",)


def test_a_function_word_is_no_name_because_another_text_has_it_as_one() -> None:
    both = Bundle(("Did the US send the letter?", "they told us so"))
    bundle = rewrite(both, entity_masks(Found("US", "GPE", "recogniser")))
    assert bundle.prose == ("Did the [GPE] send the letter?", "they told us so")


def test_a_long_run_of_capitals_takes_no_quadratic_time(pipeline: Pipeline) -> None:
    start = time.process_time()
    [bundle] = TypeMasking(pipeline).operate([Bundle((f"The sample reads {'ACGT' * 4500} in full.",))])
    assert bundle.changes == ()
    assert time.process_time() - start < 3.0  # 12 s where a search begins at each of its letters


def test_every_type_that_is_masked_has_its_placeholder_known() -> None:
    masked = {*ENTITY_TYPES, *DEFAULT_MASK_TYPES, *OPTIONAL_TYPES, *PERSONAL_TYPES, *FURTHER_TYPES, *ERASED_TYPES}
    assert masked == PLACEHOLDER_TYPES
    assert all(PLACEHOLDER.fullmatch(placeholder(kind)) for kind in PLACEHOLDER_TYPES)
    assert not any(PLACEHOLDER.search(f"[{name}]") for name in ("KOWALSKA", "MARIA_LOPEZ", "PERSONS", "person"))


def test_unknown_types_are_refused(pipeline: Pipeline) -> None:
    with pytest.raises(SettingError, match="mask-types"):
        TypeMasking(pipeline, ("PERSON", "SHOE_SIZE"))


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("José", "jose", True),
        ("O’Neil’s", "o'neil", True),
        ("Ma\u200bria", "MARIA", True),
        ("김", "기", False),
        ("が", "か", False),
        ("שָׁלוֹם", "שלום", False),
    ],
)
def test_names_are_equal_beyond_case_accents_and_hidden_characters(one: str, two: str, same: bool) -> None:
    assert (normal_name(one) == normal_name(two)) is same


PIECES = st.sampled_from([text for texts, _ in CASES for text in texts])


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=4).map(" ".join)))
@settings(max_examples=300, deadline=None)
def test_identifier_masking_twice_changes_no_more_and_cleaning_is_stable(text: str) -> None:
    masking = TypeMasking(Pipeline(), IDENTIFIER_TYPES)
    once = masking.operate([Bundle((clean(text),))])[0].prose[0]
    assert clean(once) == once
    assert masking.operate([Bundle((once,))])[0].prose[0] == once
    assert normal_name(normal_name(text)) == normal_name(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Aoife Brennan keeps the keys of the boathouse.", ["Aoife Brennan"]),
        ("ask aoife brennan for the keys of the boathouse", ["aoife brennan"]),
        ("Learn more about lessons, and install Docker with GitLab.", []),
        ("Some tarantulas bite; wear gloves and keep the hose dry.", []),
        ("It was named by Jan van den Berg in 1920.", ["Jan van den Berg"]),
    ],
)
def test_names_are_whole_and_ordinary_words_are_none(text: str, names: list[str]) -> None:
    assert [text[span.start : span.end] for span in find_names(text)] == names


def test_nothing_of_a_text_is_passed_over_whose_characters_are_several_tokens() -> None:
    text = f"{'각하 ' * 140}Aoife Brennan keeps the keys."
    assert [text[span.start : span.end] for span in find_names(text)] == ["Aoife Brennan"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Contact the desk on 9456 1278.", "Contact the desk on [PHONE]."),
        ("Her mobile number: 634 281 907", "Her mobile number: [PHONE]"),
        ("Pay to IBAN GB21 ABCD 3059 2288 4401 73 for the tickets.", "Pay to IBAN [IBAN] for the tickets."),
        ("The probe flew 149597870 km.", "The probe flew 149597870 km."),
    ],
)
def test_numbers_are_found_however_they_are_grouped(pipeline: Pipeline, text: str, masked: str) -> None:
    [bundle] = TypeMasking(pipeline).operate([Bundle((text,))])
    assert bundle.prose == (masked,)
