"""What one sentence of a device shows to be private is masked in every other text of it."""

import pytest

from fedrag_flwr.privacy.masks import TypeMasking
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.register import Register, read_register
from fedrag_flwr.records import Document, Passage
from fedrag_flwr.text.pipeline import Pipeline

TEXT = (
    "Dr. Jadwiga Tarnovelska opened the mill in 1950. The patient Otmar Winter has MRN 4417-88213. "
    "The Wexham Space Telescope and Mount Orrin lie near it. The tax number of the mill is 31/815/08155. "
    "Mrs. Lan Ng is in room 4, MRN: 482213. Dr. Anna Kowalczyk-Brandt saw her, MRN 7791."
)

CASES = [
    ("Tarnovelska left early.", "[PERSON] left early."),
    ("tarnovelska's lamp", "[PERSON]'s lamp"),
    ("TARNOVELSKA", "[PERSON]"),
    ("4417-88213", "[ID]"),
    ("31/815/08155", "[ID]"),
    ("441788213", "[ID]"),
    ("31815 08155", "[ID]"),
    ("482-213", "[ID]"),
    ("4 82.213", "[ID]"),
    ("They weigh 482 grams and 213 grams.", "They weigh 482 grams and 213 grams."),
    ("In groups of 77, 91 mills turned.", "In groups of 77, 91 mills turned."),  # too short to be looked for in pieces
    ("Ng left early.", "[PERSON] left early."),
    ("[NG_LAN] left early.", "[NG_[PERSON]] left early."),
    ("The NG tube gives 5 ng/ml.", "The NG tube gives 5 ng/ml."),
    ("Brandt left early.", "[PERSON] left early."),
    ("[KOWALCZYK] I left early.", "[[PERSON]] I left early."),
    ("The mill rests in winter.", "The mill rests in winter."),  # an ordinary word that is a name as well
    ("Mount Orrin is near the mill of 1950.", "Mount Orrin is near the mill of 1950."),
]


@pytest.fixture(scope="module")
def passages(pipeline: Pipeline) -> list[Passage]:
    [parsed] = pipeline.parse([Document("mill", "The mill", TEXT, "")])
    return [part.passage for part in parsed]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_is_known_is_masked(pipeline: Pipeline, passages: list[Passage], text: str, expected: str) -> None:
    [told] = TypeMasking(pipeline).operate([read_register(passages).tell(Bundle((text,)))])
    assert told.prose == (expected,)


def test_what_programs_hold_is_no_address(pipeline: Pipeline) -> None:
    text = "In Haskell 98 the line x :: Int gives a type. The loopback address ::1 is used for 2 tests."
    [parsed] = pipeline.parse([Document("code", "Types", text, "")])
    bundle = Bundle(("The ward has 1 bed, opened on 1 May.", "1"))
    [told] = TypeMasking(pipeline).operate([read_register([part.passage for part in parsed]).tell(bundle)])
    assert told.prose == bundle.prose


def test_a_public_name_stays(pipeline: Pipeline, passages: list[Passage]) -> None:
    masking = TypeMasking(pipeline, public_names=["Jadwiga Tarnovelska"])
    [told] = masking.operate([read_register(passages).tell(Bundle(("Jadwiga Tarnovelska left early.",)))])
    assert told.prose == ("Jadwiga Tarnovelska left early.",)


def test_a_text_without_known_words_is_told_nothing(passages: list[Passage]) -> None:
    bundle = Bundle(("The sails turn slowly.",))
    assert read_register(passages).tell(bundle) is bundle
    assert Register().tell(bundle) is bundle


def test_a_word_that_documents_write_in_lower_case_ends_no_name() -> None:
    text = "The water is tested daily. Ali Water Treatment keeps the water clean. Write to Maria Lopez about water."
    spans = read_register([Passage("a#0", "a", "", text, ())]).spans
    assert "water" not in spans
    assert {fact.text for fact in spans["lopez"]} == {"Maria Lopez"}
