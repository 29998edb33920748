"""Key spaces over evidence tuples: the papers' equations on small cases, and what must hold for any tuples."""

import math

import networkx  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.answer_paths import (
    PAPER,
    PRESETS,
    ConfidenceWeighting,
    DiffusionSettings,
    HyperedgeKeys,
    PathSettings,
    answer_paths,
)
from fedrag_flwr.hypergraph.tuples import TupleTable, VertexSeeds, entities
from fedrag_flwr.records import EvidenceTuple
from simulations.corpora.key_spaces import PairwiseKeys, co_occurrences, pruned
from simulations.corpora.page_rank import PageRank

PASSAGES = ("p0", "p1", "p2")
SHARES = st.floats(0.0, 1.0, allow_subnormal=False)
NAMES = st.sampled_from(["Ada", "ada", "Bell", "Curie", "Dirac", "Euler"])
TUPLES = st.lists(
    st.builds(EvidenceTuple, NAMES, st.just("knows"), NAMES, st.sampled_from(PASSAGES), SHARES, SHARES, SHARES, SHARES),
    max_size=12,
)


def chain() -> TupleTable:
    """Ada -p0- Bell -p1- Curie, and Dirac -p2- Euler apart."""
    return TupleTable.of(
        [
            EvidenceTuple("Ada", "taught", "Bell", "p0", factual=1.0, salience=0.2, bridge=0.5),
            EvidenceTuple("bell", "met", "Curie", "p1", factual=0.5, salience=0.4, bridge=1.0),
            EvidenceTuple("Dirac", "met", "Euler", "p2"),
        ],
        PASSAGES,
    )


def seeds_at(table: TupleTable, **weights: float) -> np.ndarray:
    return np.array([weights.get(name, 0.0) for name in table.vertices])


def test_answer_paths_bind_tuples_that_share_a_bridge_whatever_its_case() -> None:
    edges = answer_paths(chain(), PRESETS["static"])
    assert edges.names == ("bell",)
    vertices = {chain().vertices[column] for column in edges.vertices.nonzero()[1]}
    assert vertices == {"Ada", "Bell", "bell", "Curie"}
    assert {PASSAGES[column] for column in edges.passages.nonzero()[1]} == {"p0", "p1"}
    assert edges.weights.tolist() == [1.0]


def test_an_edge_inherits_mean_confidences_and_the_greatest_bridge() -> None:
    # eq. 4 and 5 by hand: a = (0.5 * mean(1, 0.5) + 0.5 * max(0.5, 1)) / 1 = 0.875, w = 1 + 2 * 0.875
    assert answer_paths(chain(), PRESETS["paper"]).weights == pytest.approx([2.75])
    # 0.2 * 0.75 + 0.4 * 0.3 + 0.4 * 1 = 0.67
    assert answer_paths(chain(), PRESETS["repository"]).weights == pytest.approx([1.67])


def test_a_loop_counts_twice_only_where_asked() -> None:
    table = TupleTable.of(
        [EvidenceTuple("Ada", "is", "ada", "p0", factual=1.0), EvidenceTuple("Ada", "met", "Bell", "p1", factual=0.4)],
        PASSAGES,
    )
    weighting = ConfidenceWeighting(1.0, 0.0, 0.0, 2.0)
    once, twice = (answer_paths(table, PathSettings(weighting, loops)).weights for loops in (False, True))
    assert (once.tolist(), twice.tolist()) == (pytest.approx([1.7]), pytest.approx([1.8]))


def test_one_step_of_diffusion_by_hand() -> None:
    table = TupleTable.of(
        [EvidenceTuple("Ada", "taught", "Bell", "p0"), EvidenceTuple("Bell", "met", "Curie", "p1")], PASSAGES
    )
    edges = answer_paths(table, PRESETS["paper"])  # w = 1 + 2 * (0.5 * 1 + 0.5 * 0) = 2
    keys = HyperedgeKeys("answer-paths", table, edges)
    edge = 2.0 * 1.0 / 3.0
    ada, other = 0.35 + 0.65 * edge, 0.65 * edge
    final = 2.0 * (ada + 2.0 * other) / 3.0
    assert keys.scores(seeds_at(table, Ada=1.0)) == pytest.approx([ada + other + final, 2 * other + final, 0.0])
    assert keys.edge_scores(seeds_at(table, Ada=1.0)) == pytest.approx([final])


def test_co_occurrence_gathers_a_passage() -> None:
    table = TupleTable.of(
        [EvidenceTuple("Ada", "met", "Bell", "p1"), EvidenceTuple("Bell", "met", "Curie", "p1")], PASSAGES
    )
    edges = co_occurrences(table)
    assert (edges.names, edges.vertices.sum(), edges.passages.nonzero()[1].tolist()) == (("p1",), 3, [1])


def test_pruning_keeps_the_heaviest() -> None:
    table = TupleTable.of(
        [
            EvidenceTuple(middle, "joins", end, "p0", bridge=bridge)
            for middle, bridge in (("M", 0.1), ("N", 0.9), ("O", 0.5), ("P", 0.5))
            for end in (f"{middle}1", f"{middle}2")
        ],
        PASSAGES,
    )
    edges = answer_paths(table, PRESETS["paper"])
    assert pruned(edges, 0.5).names == ("n", "o")
    assert pruned(edges, 1.0).names == edges.names
    with pytest.raises(SettingError):
        pruned(edges, 0.0)


@given(TUPLES, st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_pairwise_scores_are_networkx_pagerank(rows: list[EvidenceTuple], seed: int) -> None:
    rows = [row for row in rows if row.confidence > 0.01 and row.head != row.tail]
    table = TupleTable.of(rows, PASSAGES)
    if not rows:
        return
    seeds = np.random.default_rng(seed).random(len(table.vertices))
    graph = networkx.Graph()
    for row in rows:
        before = graph.get_edge_data(row.head, row.tail, {"weight": 0.0})["weight"]
        graph.add_edge(row.head, row.tail, weight=before + row.confidence)
    wanted = networkx.pagerank(
        graph, alpha=0.5, personalization=dict(zip(table.vertices, seeds, strict=True)), tol=1e-12
    )
    scores = PairwiseKeys(table).scores(seeds)
    for number, passage in enumerate(PASSAGES):
        own = [row for row in rows if row.passage_id == passage]
        expected = sum(row.confidence * (wanted[row.head] + wanted[row.tail]) for row in own)
        assert scores[number] == pytest.approx(expected, abs=1e-6)


@given(TUPLES, st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from(sorted(PRESETS)))
@settings(deadline=None)
def test_scores_are_linear_in_seeds_of_tuples(rows: list[EvidenceTuple], seed: int, depth: int, preset: str) -> None:
    table = TupleTable.of(rows, PASSAGES)
    keys = HyperedgeKeys("paths", table, answer_paths(table, PRESETS[preset]), DiffusionSettings(depth=depth))
    first, second = np.random.default_rng(seed).random((2, len(table.vertices)))
    assert keys.scores(first + 2 * second) == pytest.approx(keys.scores(first) + 2 * keys.scores(second))
    assert (keys.scores(first) >= 0.0).all()
    silent = [number for number, name in enumerate(PASSAGES) if all(row.passage_id != name for row in rows)]
    assert not keys.scores(first)[silent].any()


@given(TUPLES)
@settings(deadline=None)
def test_weights_lie_between_one_and_the_boost(rows: list[EvidenceTuple]) -> None:
    edges = answer_paths(TupleTable.of(rows, PASSAGES), PRESETS["paper"])
    assert ((edges.weights >= 1.0 - 1e-12) & (edges.weights <= PAPER.boost + 1e-12)).all()
    assert all(edges.vertices.sum(axis=1) >= 3)


def test_a_walk_without_seeds_goes_nowhere_and_mass_is_kept_otherwise() -> None:
    table = chain()
    keys = PairwiseKeys(table)
    assert not keys.scores(np.zeros(len(table.vertices))).any()
    from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]

    walk = PageRank(csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])))
    assert walk.scores(np.array([1.0, 0.0])) == pytest.approx([2 / 3, 1 / 3], abs=1e-6)
    assert walk.scores(np.array([3.0, 1.0])).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("question", "weights"),
    [
        ("Who taught Grace Hopper at Yale?", {"grace hopper": 1.0, "Yale University": 0.5, "Grace": 1.0}),
        ("who taught grace?", {"grace hopper": 0.5, "Grace": 1.0}),
        ("Where is the école?", {}),
        ("", {}),
    ],
)
def test_seeds(question: str, weights: dict[str, float]) -> None:
    vertices = ("grace hopper", "Yale University", "Grace", "Oslo", "…")
    found = VertexSeeds(vertices).seeds(question)
    assert dict(zip(vertices, found.tolist(), strict=True)) == {**dict.fromkeys(vertices, 0.0), **weights}


def test_a_rare_word_seeds_more_than_a_common_one() -> None:
    vertices = ("the sea", "the moon", "the river", "the sea of the moon")
    plain, rare = (VertexSeeds(vertices, by_rarity=by_rarity).seeds("what is the sea") for by_rarity in (False, True))
    assert plain.tolist() == [1.0, 0.5, 0.5, 0.5]
    the, sea = math.log1p(4 / 4), math.log1p(4 / 2)
    moon, river, of = math.log1p(4 / 2), math.log1p(4 / 1), math.log1p(4 / 1)
    wanted = [1.0, the / (the + moon), the / (the + river), (the + sea) / (the + sea + of + moon)]
    assert rare == pytest.approx(wanted)
    sharp = VertexSeeds(vertices, by_rarity=True, sharpness=3.0).seeds("what is the sea")
    assert sharp == pytest.approx(np.array(wanted) ** 3)


def test_entities_are_runs_of_at_most_five_capitalised_words() -> None:
    assert entities("Did A B C D E F meet Marie Curie?") == {"did a b c d", "e f", "marie curie"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: TupleTable.of([EvidenceTuple("a", "r", "b", "elsewhere")], PASSAGES),
        lambda: TupleTable.of([], ("p", "p")),
        lambda: TupleTable.of([EvidenceTuple("a", "r", "b", "p0", factual=1.1)], PASSAGES),
        lambda: TupleTable.of([EvidenceTuple("a", "r", "b", "p0", bridge=float("nan"))], PASSAGES),
        lambda: ConfidenceWeighting(0.0, 0.0, 0.0, 2.0),
        lambda: ConfidenceWeighting(1.0, 0.0, 0.0, 0.5),
        lambda: DiffusionSettings(depth=0),
        lambda: VertexSeeds((), sharpness=0.5),
    ],
)
def test_bad_input_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(SettingError):
        make()


def test_no_tuples_give_no_scores() -> None:
    table = TupleTable.of([], PASSAGES)
    for keys in (PairwiseKeys(table), HyperedgeKeys("paths", table, answer_paths(table, PRESETS["paper"]))):
        assert keys.scores(np.zeros(0)).tolist() == [0.0, 0.0, 0.0]
