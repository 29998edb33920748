"""Evidence tuples by rule: what sentences give, what they must not give, and their confidences."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import fedrag_flwr.demo
from fedrag_flwr.records import Document, EvidenceTuple
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.tuples import ParseExtractor

Triple = tuple[str, str, str]


def extract(pipeline: Pipeline, text: str, title: str = "") -> list[EvidenceTuple]:
    (passages,) = pipeline.parse([Document("d", title, text, "")])
    return ParseExtractor().extract(passages)


def triples(found: Sequence[EvidenceTuple]) -> set[Triple]:
    return {(one.head, one.relation, one.tail) for one in found}


CASES: list[tuple[str, str, set[Triple]]] = [
    (
        "",
        "Marie Curie discovered polonium in 1898.",
        {("Marie Curie", "discovered", "polonium"), ("Marie Curie", "discovered polonium in", "1898")},
    ),
    ("", "The bridge was designed by Othmar Ammann.", {("bridge", "was designed by", "Othmar Ammann")}),
    ("", "Galileo and Kepler wrote letters.", {("Galileo", "wrote", "letters"), ("Kepler", "wrote", "letters")}),
    (
        "",
        "Oslo, the capital of Norway, lies on a fjord.",
        {("Oslo", "is", "capital"), ("Oslo", "is capital of", "Norway"), ("Oslo", "lies on", "fjord")},
    ),
    (
        "Vertigo",
        "Vertigo is a film directed by Alfred Hitchcock.",
        {("Vertigo", "is", "film"), ("Vertigo", "was directed by", "Alfred Hitchcock")},
    ),
    ("Vertigo", "Vertigo is a film. The film stars James Stewart.", {("Vertigo", "stars", "James Stewart")}),
    (
        "Ada Lovelace",
        "She married William King in 1835.",
        {("Ada Lovelace", "married", "William King"), ("Ada Lovelace", "married King in", "1835")},
    ),
    (
        "Ada Lovelace",
        "Her mother studied mathematics.",
        {("Ada Lovelace", "has", "mother"), ("mother", "studied", "mathematics")},
    ),
    ("", "Rome, Italy, was flooded in 1966.", {("Rome", "in", "Italy")}),
]


@pytest.mark.parametrize(("title", "text", "wanted"), CASES)
def test_what_a_sentence_gives(pipeline: Pipeline, title: str, text: str, wanted: set[Triple]) -> None:
    assert wanted <= triples(extract(pipeline, text, title))


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("", "Marie Curie did not discover radon."),
        ("", "She married William King."),
        ("", "The planet has no moons."),
        ("", "Yes."),
        ("Nobody", "It rained."),
    ],
)
def test_what_gives_nothing(pipeline: Pipeline, title: str, text: str) -> None:
    assert extract(pipeline, text, title) == []


def test_confidences_follow_their_definitions(pipeline: Pipeline) -> None:
    text = "Vertigo is a film. It may have influenced Brian De Palma. Ships carry cargo for 20 days."
    found = {(one.head, one.tail): one for one in extract(pipeline, text, "Vertigo")}
    first, second, third = found["Vertigo", "film"], found["Vertigo", "Brian De Palma"], found["Ships", "20 days"]
    assert (first.factual, first.salience, first.bridge) == (1.0, 1.0, 0.4)
    assert second.factual == pytest.approx(0.35)
    assert second.bridge == 1.0
    assert second.salience == pytest.approx(0.5 + 0.5 * 2 / 3)
    assert third.salience == pytest.approx(0.5 / 3)
    assert third.bridge == pytest.approx(0.4)


@pytest.mark.parametrize(
    "doubt", ["likely", "unlikely", "presumably", "apparently", "seemingly", "probably", "perhaps"]
)
def test_a_clause_of_doubt_is_believed_by_half(pipeline: Pipeline, doubt: str) -> None:
    (found,) = extract(pipeline, f"The stroke was {doubt} caused by warfarin.")
    (stated,) = extract(pipeline, "The stroke was caused by warfarin.")
    assert (found.factual, stated.factual) == (0.5, 1.0)


def test_the_demo_corpus(pipeline: Pipeline) -> None:
    documents = FolderSource(Path(fedrag_flwr.demo.__file__).parent / "corpus" / "missions").read().documents
    for document, passages in zip(documents, pipeline.parse(documents), strict=True):
        found = ParseExtractor().extract(passages)
        ids = {parsed.passage.id: parsed.passage.text.replace("\n", " ") for parsed in passages}
        assert found, document.id
        assert len({(one.passage_id, one.head, one.relation, one.tail) for one in found}) == len(found)
        for one in found:
            assert one.passage_id in ids
            assert one.head
            assert one.tail
            assert one.head != one.tail
            assert all(0.0 <= share <= 1.0 for share in (one.factual, one.salience, one.bridge))
            spoken = set(ids[one.passage_id].split()) | set(document.title.split())
            assert any(word in part for word in one.head.split() for part in spoken)
