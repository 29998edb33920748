"""Evidence tuples by a model: what is kept of its lines, with which confidences, and what a real one gives."""

import pytest

from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.records import Document, EvidenceTuple
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.model_tuples import MOST, ModelExtractor, PassageReading
from fedrag_flwr.text.pipeline import Pipeline

TITLE = "Odile Varro"
TEXT = (
    "Odile Varro was an engineer born in Lindmoor in 1881. She designed Tarn Bridge. "
    "Reportedly she drew it for the Halden Company. It opened on 24 May 1924 after two years."
)


@pytest.fixture(scope="module")
def parsed(pipeline: Pipeline) -> ParsedPassage:
    ((passage,),) = pipeline.parse([Document("d", TITLE, TEXT, "")])
    assert len(passage.spans) == 4
    return passage


@pytest.fixture(scope="module")
def generator() -> LlamaGenerator:
    return LlamaGenerator(resolve("smollm2-135m"), context_tokens=1_024)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("Odile Varro | was born in | Lindmoor", ("Odile Varro", "was born in", "Lindmoor", 1.0, 1.0, 1.0)),
        ("odile varro | Was | engineer", ("Odile Varro", "was", "engineer", 1.0, 1.0, 0.4)),
        ("Odile Varro | was born in | 1881", ("Odile Varro", "was born in", "1881", 1.0, 1.0, 0.2)),
        ("She | designed | Tarn Bridge", ("Odile Varro", "designed", "Tarn Bridge", 0.7, 0.875, 1.0)),
        ("Odile Varro | drew for | Halden Company", ("Odile Varro", "drew for", "Halden Company", 0.35, 0.75, 1.0)),
        ("Tarn Bridge | may have opened in | 1924", ("Tarn Bridge", "may have opened in", "1924", 0.5, 0.375, 1.0)),
        ("Tarn Bridge | opened on | 24 May", ("Tarn Bridge", "opened on", "24 May", 1.0, 0.375, 1.0)),
    ],
)
def test_lines_become_tuples(parsed: ParsedPassage, line: str, kept: tuple[str, str, str, float, float, float]) -> None:
    head, relation, tail, factual, salience, bridge = kept
    found = PassageReading(parsed, TITLE).tuple_of(line)
    assert isinstance(found, EvidenceTuple)
    assert (found.head, found.relation, found.tail, found.passage_id) == (head, relation, tail, "d#0")
    assert (found.factual, found.salience, found.bridge) == pytest.approx((factual, salience, bridge))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Odile Varro | was born in", "not three parts"),
        ("Odile Varro | | Lindmoor", "not three parts"),
        ("", "not three parts"),
        ("Odile Varro | was born in | Paris", "tail not in the passage"),
        ("Ada Morrow | designed | Tarn Bridge", "head not in the passage"),
        ("Odile Varro | designed | Bridg", "tail not in the passage"),
        ("Odile Varro | designed | !", "tail not in the passage"),
        ("Odile Varro | did not design | Tarn Bridge", "denied"),
        ("Tarn Bridge | is | the Tarn Bridge", "ends are the same"),
        ("She | is | Odile Varro", "ends are the same"),
    ],
)
def test_a_line_that_does_not_fit_is_dropped(parsed: ParsedPassage, line: str, reason: str) -> None:
    assert PassageReading(parsed, TITLE).tuple_of(line) == reason


def test_without_a_title_a_pronoun_mentions_nothing(pipeline: Pipeline) -> None:
    ((passage,),) = pipeline.parse([Document("d", "", "She designed Tarn Bridge.", "")])
    assert PassageReading(passage, "").tuple_of("Ada | designed | Tarn Bridge") == "head not in the passage"


def test_a_real_model_gives_five_tuples_of_the_passage(parsed: ParsedPassage, generator: LlamaGenerator) -> None:
    extractor = ModelExtractor(lambda: generator)
    found = extractor.extract([parsed])
    assert (extractor.cost.llm_calls, extractor.cost.tokens_out > 0) == (1, True)
    assert 0 < len(found) + sum(extractor.dropped.values()) <= MOST
    text = f"{TITLE} {TEXT}".lower()
    for one in found:
        assert one.head.lower() in text
        assert one.tail.lower() in text
        assert all(0.0 <= share <= 1.0 for share in (one.factual, one.salience, one.bridge))
    assert ModelExtractor(lambda: generator).extract([parsed]) == found


def test_a_model_s_tuples_are_bound_to_its_weights(generator: LlamaGenerator) -> None:
    assert "@b179c9523d0e" in ModelExtractor(lambda: generator).id
