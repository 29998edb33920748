"""The answer path that a passage was chosen for, and how it is drawn."""

import pytest
from hypothesis import given, settings

from fedrag_flwr.hypergraph.answer_paths import PRESETS, HyperedgeKeys, PathExplainer, answer_paths
from fedrag_flwr.hypergraph.tuples import TupleTable, VertexSeeds
from fedrag_flwr.path_drawing import chain_of, drawn
from fedrag_flwr.records import ChosenPath, EvidenceTuple, PathStep
from tests.hypergraph.test_key_spaces import NAMES, PASSAGES, TUPLES


def explainer(tuples: list[EvidenceTuple]) -> PathExplainer:
    own = {name: [one for one in tuples if one.passage_id == name] for name in PASSAGES}
    table = TupleTable.of(tuples, PASSAGES)
    keys = HyperedgeKeys("weighted", table, answer_paths(table, PRESETS["paper"]))
    return PathExplainer(keys, VertexSeeds(table.vertices, by_rarity=True), own)


def explained(tuples: list[EvidenceTuple], question: str) -> list[ChosenPath | None]:
    return explainer(tuples).explain(question, PASSAGES)


def test_a_path_leads_from_the_question_over_the_bridge_to_the_passage() -> None:
    tuples = [
        EvidenceTuple("Ada", "taught", "Bell", "p0"),
        EvidenceTuple("Euler", "met", "Bell", "p2"),
        EvidenceTuple("bell", "met", "Curie", "p1"),
        EvidenceTuple("Bell", "knew", "Dirac", "p1", factual=0.5),
    ]
    first, second, third = explained(tuples, "Whom did the pupil of Ada meet?")
    assert second is not None
    assert (second.bridge, second.asked, second.passage_id) == ("bell", ("Ada",), "p1")
    assert second.steps == (PathStep("Ada", "taught", "Bell", "p0"), PathStep("bell", "met", "Curie", "p1"))
    assert first is not None
    assert first.steps[-1] == PathStep("Ada", "taught", "Bell", "p0")
    assert third is not None
    assert third.steps[0].passage_id == "p0"


@pytest.mark.parametrize("question", ["", "Whom did Zuse meet?"])
def test_a_question_that_mentions_nothing_has_no_path(question: str) -> None:
    assert explained([EvidenceTuple("Ada", "met", "Bell", "p0")] * 2, question) == [None, None, None]


@given(TUPLES, NAMES)
@settings(deadline=None)
def test_paths_are_made_of_tuples_that_share_the_bridge(tuples: list[EvidenceTuple], name: str) -> None:
    table = TupleTable.of(tuples, PASSAGES)
    edges = answer_paths(table, PRESETS["paper"])
    seeds = VertexSeeds(table.vertices, by_rarity=True).seeds(name)
    scores = HyperedgeKeys("fresh", table, edges).edge_scores(seeds)
    known = {(one.head, one.relation, one.tail, one.passage_id) for one in tuples}
    for place, path in enumerate(explained(tuples, name)):
        leading = edges.passages.toarray()[:, place] > 0
        best = float(scores[leading].max()) if leading.any() else 0.0
        if path is None:
            assert best <= 0.0
            continue
        assert path.score == pytest.approx(best)
        assert path.steps[-1].passage_id == path.passage_id == PASSAGES[place]
        for step in path.steps:
            assert (step.head, step.relation, step.tail, step.passage_id) in known
            assert path.bridge in (step.head.lower(), step.tail.lower())


TO = PathStep("Ada", "taught", "Bell", "p0")
BACK = PathStep("Dirac", "cited", "Bell", "p2")
FROM = PathStep("bell", "met", "Curie", "p1")


@pytest.mark.parametrize(
    ("steps", "asked", "text"),
    [
        ((TO, FROM), ("Ada",), "[Ada]\n  ▼ taught   p0\n(Bell)\n  ▼ met   p1\nCurie"),
        ((PathStep("Bell", "knew", "Ada", "p0"), FROM), (), "Ada\n  ▲ knew   p0\n(Bell)\n  ▼ met   p1\nCurie"),
        ((TO, BACK), ("BELL",), "Ada\n  ▼ taught   p0\n[(Bell)]\n  ▲ cited   p2\nDirac"),
        ((FROM,), (), "(bell)\n  ▼ met   p1\nCurie"),
        ((TO,), ("Ada",), "(Bell)\n  ▲ taught   p0\n[Ada]"),
    ],
)
def test_a_path_is_drawn_through_its_bridge(steps: tuple[PathStep, ...], asked: tuple[str, ...], text: str) -> None:
    path = ChosenPath("p1", "bell", 1.0, 0.5, asked, steps)
    assert drawn(path) == text
    nodes, links = chain_of(path)
    assert len(nodes) == len(links) + 1
    assert sum(bridge for _, _, bridge in nodes) == 1
