"""Entities: surface forms become one, homonyms stay two, amounts join nothing; and which sentence states a relation."""

from collections.abc import Mapping

import numpy as np
import pytest

from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph
from fedrag_flwr.knowledge_graph.resolution import resolve
from fedrag_flwr.knowledge_graph.statements import End, Statement, statements_of
from fedrag_flwr.records import EvidenceTuple, Fact, Passage, Sentence
from fedrag_flwr.sources.base import make_document
from fedrag_flwr.text.tuples import ParseExtractor
from tests.strategies.federation import small_models

MERCURY = {
    "planet": (
        "Mercury (planet)",
        "Mercury is the smallest planet of the solar system. Mercury orbits the Sun in 88 days. "
        "Its surface has craters.",
    ),
    "probe": ("Messenger", "Messenger was a spacecraft. Messenger studied Mercury and mapped its craters."),
    "god": ("Mercury (god)", "Mercury is a Roman god of trade. The Romans built a temple for Mercury."),
    "metal": ("Mercury (metal)", "Mercury is a liquid metal. Mercury dissolves gold."),
}
FORMS = {
    "morrow": ("Ada Morrow", "Ada Morrow was an engineer. Morrow designed the bridge of Linwick."),
    "bridge": ("Linwick Bridge", "The bridge was designed by ADA MORROW. Linwick Bridge carries two tram lines."),
    "nations": ("United Nations", "The United Nations was founded in Norrhall. The UN sends observers to Vessland."),
}


def graph_of(documents: Mapping[str, tuple[str, str]]) -> KnowledgeGraph:
    tools = small_models()
    passages: dict[str, Passage] = {}
    statements: list[Statement] = []
    for parsed in tools.pipeline.parse(make_document(name, *told) for name, told in documents.items()):
        own = {part.passage.id: part.passage for part in parsed}
        passages |= own
        statements += statements_of(ParseExtractor().extract(parsed), own)
    vectors = tools.encoder.encode([f"{one.title}. {one.text}" for one in passages.values()])
    titles = {name: title for name, (title, _) in documents.items()}
    return KnowledgeGraph.of(statements, dict(zip(passages, vectors, strict=True)), titles)


def documents_of(graph: KnowledgeGraph, name: str) -> set[frozenset[str]]:
    """For each entity that a statement calls by a name, the documents that tell it."""
    called = {
        entity
        for one, ends in zip(graph.statements, graph.ends, strict=True)
        for end, entity in zip(one.things, ends, strict=True)
        if end.text == name
    }
    return {frozenset(graph.documents(graph.entities[entity].statements)) for entity in called}


def test_homonyms_stay_apart_and_a_mention_goes_to_the_nearest() -> None:
    graph = graph_of(MERCURY)
    assert documents_of(graph, "Mercury") == {frozenset({"planet", "probe"}), frozenset({"god"}), frozenset({"metal"})}


@pytest.mark.parametrize(
    ("name", "documents"),
    [("Ada Morrow", {"morrow", "bridge"}), ("Morrow", {"morrow", "bridge"}), ("United Nations", {"nations"})],
)
def test_surface_forms_become_one(name: str, documents: set[str]) -> None:
    assert documents_of(graph_of(FORMS), name) == {frozenset(documents)}


def test_the_short_form_is_no_name() -> None:
    graph = graph_of(FORMS)
    names = {one.name for one in graph.entities.values()}
    assert documents_of(graph, "UN") == documents_of(graph, "United Nations")
    assert "United Nations" in names
    assert not {"UN", "Morrow"} & names


def test_amounts_and_times_are_no_entities() -> None:
    graph = graph_of(MERCURY)
    assert not [one for one in graph.entities.values() if any(char.isdigit() for char in one.name)]
    assert any(one.tail.is_literal for one in graph.statements)  # they are told, though


def stated(document: str, text: str, kind: str, tail: str = "thing") -> Statement:
    end = End(text, text.casefold(), kind)
    return Statement(end, "is", End(tail, tail, "CONCEPT"), document, f"{document}#0", f"{document}#0.0", 1.0)


# (type here, type there, cosine of the contexts, whether they are one)
CASES = [
    ("PERSON", "PERSON", 0.9, True),
    ("PERSON", "PERSON", 0.1, False),
    ("PERSON", "GPE", 0.4, False),
    ("PERSON", "GPE", 0.6, True),  # a tagger's slip
    ("PERSON", "NAME", 0.4, True),
    ("GPE", "LOC", 0.4, True),
    ("GPE", "CONCEPT", 0.4, False),
    ("NAME", "CONCEPT", 0.4, True),
    ("CONCEPT", "CONCEPT", 0.2, False),
]


@pytest.mark.parametrize(("here", "there", "cosine", "one"), CASES)
def test_type_and_context_decide(here: str, there: str, cosine: float, one: bool) -> None:
    contexts = {
        "a#0": np.array([1.0, 0.0], dtype=np.float32),
        "b#0": np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32),
    }
    found = resolve([stated("a", "Arden", here), stated("b", "Arden", there)], contexts, {})
    assert (found.of["a", "arden"] == found.of["b", "arden"]) is one


def test_the_order_of_statements_decides_nothing() -> None:
    statements = [stated(f"d{number}", "Arden", kind) for number, kind in enumerate(["GPE", "PERSON", "NAME", "ORG"])]
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(4, 8)).astype(np.float32) + 0.5
    contexts = {f"d{number}#0": vector / np.linalg.norm(vector) for number, vector in enumerate(vectors)}
    assert resolve(statements, contexts, {}).of == resolve(statements[::-1], contexts, {}).of


TEXTS = (
    "The bridge is old.",
    "Varro drew it.",
    "Linwick lies north.",
    "Varro drew Linwick Bridge.",
    "Varro drew more.",
)
PASSAGE = Passage(
    "p",
    "d",
    "Linwick Bridge",
    " ".join(TEXTS),
    tuple(Sentence(f"s{number}", "p", text) for number, text in enumerate(TEXTS)),
)


@pytest.mark.parametrize(
    ("head", "tail", "sentence"),
    [
        ("Varro", "Linwick Bridge", "s3"),  # both ends, though the head alone stands earlier
        ("Odile", "Linwick", "s2"),  # the tail alone, before a sentence with both of others
        ("Varro", "harbour", "s1"),  # the head alone: the first that holds it
        ("Odile", "harbour", "s0"),  # neither
    ],
)
def test_a_statement_names_the_sentence_that_states_it(head: str, tail: str, sentence: str) -> None:
    [stated] = statements_of([EvidenceTuple(head, "drew", tail, "p")], {"p": PASSAGE})
    assert (stated.sentence_id, stated.passage_id, stated.document_id) == (sentence, "p", "d")


@pytest.mark.parametrize(("head", "tail"), [("Varro", "the Varro"), ("", "Varro"), ("Varro", "x" * 500)])
def test_what_says_nothing_of_a_thing_is_left_out(head: str, tail: str) -> None:
    assert not list(statements_of([EvidenceTuple(head, "is", tail, "p")], {"p": PASSAGE}))


def test_types_come_from_the_passage() -> None:
    typed = Passage("p", "d", "Mill", "In 1924.", (Sentence("s", "p", "In 1924.", (Fact("1924", "DATE", "1924"),)),))
    told = EvidenceTuple("Mill", "opened in", "1924", "p", factual=0.5, confidence=0.5)
    [stated] = statements_of([told], {"p": typed})
    assert (stated.tail.type, stated.weight) == ("DATE", 0.25)
    assert [end.text for end in stated.things] == ["Mill"]
