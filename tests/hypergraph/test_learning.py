import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units, content_id, keep_memberships
from fedrag_flwr.hypergraph.learn import begin, learn
from simulations.benchmarks.hypergraph import dense_hard_objective, dense_soft_loss, learn_dense
from tests.hypergraph.samples import cloud, generator, objective_of, real_sentences, units

ROOT = Path(__file__).parents[2]


def check_whole(learnt: Learning, groups: list[Units]) -> None:
    """No unit is lost, and every hyperedge is what it says."""
    for group in groups:
        edges = [edge for edge in learnt.hyperedges if edge.granularity == group.granularity]
        assert {unit for edge in edges for unit in edge.members} == set(group.ids)
        place = {unit: position for position, unit in enumerate(group.ids)}
        for edge in edges:
            assert edge.id == content_id(edge.granularity, edge.members)
            assert len(set(edge.members)) == len(edge.members) == len(edge.weights)
            assert all(0 < weight <= 1 + 1e-9 for weight in edge.weights)
            assert edge.prototype.dtype == np.float32
            rows = group.vectors[[place[unit] for unit in edge.members]]
            assert edge.prototype == pytest.approx(np.average(rows, axis=0, weights=edge.weights), abs=1e-5)  # eq. 5
    assert len({edge.id for edge in learnt.hyperedges}) == len(learnt.hyperedges)


@given(
    st.integers(0, 60),
    st.integers(0, 20),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.2, 0.5, 0.9]),
    st.integers(1, 6),
    st.integers(1, 12),
)
def test_no_unit_is_lost(sentences: int, paragraphs: int, seed: int, mu: float, per_edge: int, width: int) -> None:
    groups = [cloud(paragraphs, seed=seed, granularity="paragraph"), cloud(sentences, seed=seed)]
    setting = LearningSettings(threshold=mu, units_per_edge=per_edge, candidates=width, steps=40)
    learnt = learn(groups, setting, generator(seed))
    check_whole(learnt, groups)
    assert 0 <= learnt.orphans <= sum(len(group.ids) for group in groups)
    assert np.isfinite(learnt.loss).all()
    for group in groups:
        assert np.isfinite(objective_of(learnt, group, setting))
        edges = [edge for edge in learnt.hyperedges if edge.granularity == group.granularity]
        assert len(edges) <= -(-len(group.ids) // per_edge)


def test_many_units_are_learnt_in_blocks_and_none_is_lost() -> None:
    group = cloud(5_000, dimension=24)
    start = begin(group, LearningSettings(), generator())
    assert len(start.blocks) > 2
    assert np.sort(np.concatenate([block.order for block in start.blocks])).tolist() == list(range(5_000))
    assert sum(block.part.share for block in start.blocks) == pytest.approx(1.0)
    learnt = learn([group], LearningSettings(), generator())
    check_whole(learnt, [group])
    block_of = {group.ids[row]: number for number, block in enumerate(start.blocks) for row in block.order}
    assert all(len({block_of[member] for member in edge.members}) == 1 for edge in learnt.hyperedges)
    dealt = learn([group], LearningSettings(grouping="random"), generator())
    assert objective_of(learnt, group, LearningSettings()) < 0.6 * objective_of(dealt, group, LearningSettings())


@pytest.mark.parametrize(("per_edge", "least"), [(4, 200), (100, 50), (1_000, 5)])
def test_a_unit_has_a_choice_however_large_hyperedges_are(per_edge: int, least: int) -> None:
    start = begin(cloud(5_000, dimension=8), LearningSettings(units_per_edge=per_edge), generator())
    assert min(block.entries.edge_count for block in start.blocks) >= least


def test_equal_vectors_in_many_blocks_are_all_kept() -> None:
    group = units(np.repeat(np.eye(3), 1_000, axis=0))
    check_whole(learn([group], LearningSettings(steps=5), generator()), [group])


def test_the_record_is_of_the_weighted_sum_where_one_block_is_left() -> None:
    group = units(np.ones((3_000, 4)))
    (block,) = begin(group, LearningSettings(), generator()).blocks
    assert block.part.share == pytest.approx(1 / 3)  # two blocks of equal seeds came too late to be nearest
    learnt = learn([group], LearningSettings(steps=5), generator())
    assert learnt.loss[0] == pytest.approx(block.part.evaluate(block.rows)[0] / 3)


@pytest.mark.parametrize(("count", "edges"), [(0, 0), (1, 1), (2, 1), (4, 1)])
def test_few_units(count: int, edges: int) -> None:
    learnt = learn([cloud(count)], LearningSettings(), generator())
    check_whole(learnt, [cloud(count)])
    assert len(learnt.hyperedges) == edges
    assert learnt.orphans == 0


def test_no_groups_at_all() -> None:
    assert learn([], LearningSettings(), generator()).hyperedges == ()


@pytest.mark.parametrize(
    "vectors",
    [
        np.ones((30, 8)),
        np.zeros((9, 8)),
        np.concatenate([np.ones((6, 8)), -np.ones((6, 8))]),
        np.tile(np.eye(4), (5, 1)),
    ],
    ids=["one vector", "zeros", "opposites", "four vectors"],
)
def test_duplicates(vectors: np.ndarray) -> None:
    group = units(vectors)
    check_whole(learn([group], LearningSettings(), generator()), [group])


def test_separate_topics_stay_separate() -> None:
    rng = generator(1)
    vectors = np.repeat(np.eye(8), 4, axis=0) + 0.05 * rng.normal(size=(32, 8))
    learnt = learn([units(vectors)], LearningSettings(), rng)
    assert all(len({int(unit[1:]) // 4 for unit in edge.members}) == 1 for edge in learnt.hyperedges)


def test_members_and_hyperedges_are_in_reading_order() -> None:
    learnt = learn([cloud(60)], LearningSettings(), generator())
    assert all(list(edge.members) == sorted(edge.members) for edge in learnt.hyperedges)
    firsts = [edge.members[0] for edge in learnt.hyperedges]
    assert firsts == sorted(firsts)


def test_the_id_knows_members_and_granularity_and_no_order() -> None:
    assert content_id("sentence", ["a", "b"]) == content_id("sentence", ["b", "a"])
    others = [("sentence", ["a"]), ("sentence", ["a,b"]), ("sentence", ['a","b']), ("paragraph", ["a", "b"])]
    assert len({content_id(granularity, members) for granularity, members in others}) == 4  # type: ignore[arg-type]
    assert len(content_id("sentence", ["a"])) == 16


def test_the_same_seed_learns_the_same_within_and_across_processes() -> None:
    code = (
        "from tests.hypergraph.samples import cloud, generator\n"
        "from fedrag_flwr.hypergraph.base import LearningSettings\n"
        "from fedrag_flwr.hypergraph.learn import learn\n"
        "learnt = learn([cloud(200)], LearningSettings(), generator(7))\n"
        "import sys; sys.stdout.write(' '.join(edge.id for edge in learnt.hyperedges) + repr(learnt.loss))"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "random"}
    runs = {
        subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1
    again = [learn([cloud(200)], LearningSettings(), generator(7)) for _ in range(2)]
    assert again[0].loss == again[1].loss
    assert [edge.id for edge in again[0].hyperedges] == [edge.id for edge in again[1].hyperedges]


def test_real_sentences_gather_in_small_hyperedges_and_beat_the_dense_reference() -> None:
    group = real_sentences(260)
    assert len(group.ids) >= 250
    setting = LearningSettings()
    learnt = learn([group], setting, generator())
    check_whole(learnt, [group])
    sizes = np.array([len(edge.members) for edge in learnt.hyperedges])
    assert sizes[(sizes >= 2) & (sizes <= 6)].sum() >= 0.75 * len(group.ids)
    assert sizes.max() <= 12
    assert learnt.orphans <= 0.02 * len(group.ids)
    dense, losses = learn_dense(group, setting, generator())
    assert losses[-1] < losses[0]
    assert objective_of(learnt, group, setting) <= dense_hard_objective(group, dense, setting)
    assert dense_soft_loss(group, dense, setting) == pytest.approx(losses[-1], abs=1e-4)


GOOD = cloud(6, dimension=4)


def spoilt(value: float) -> np.ndarray:
    vectors = GOOD.vectors.copy()
    vectors[2, 1] = value
    return vectors


@pytest.mark.parametrize(
    ("groups", "where"),
    [
        ([Units("sentence", GOOD.ids, spoilt(np.nan))], "sentence units"),
        ([Units("paragraph", GOOD.ids, spoilt(np.inf))], "paragraph units"),
        ([Units("sentence", GOOD.ids[:5], GOOD.vectors)], "sentence units"),
        ([Units("sentence", GOOD.ids, GOOD.vectors[0])], "sentence units"),
    ],
)
def test_unusable_units_are_refused(groups: list[Units], where: str) -> None:
    with pytest.raises(SettingError) as caught:
        learn(groups, LearningSettings(), generator())
    assert caught.value.where == where


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = (
        "import sys, fedrag_flwr.hypergraph\n"
        "sys.exit(' '.join({'torch', 'faiss', 'scipy', 'sentence_transformers'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.stderr.strip() == ""


def test_units_dealt_at_random_are_all_kept_in_groups_of_even_size() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(41, 8)).astype(np.float32)
    group = Units("sentence", tuple(f"s{n}" for n in range(41)), vectors / np.linalg.norm(vectors, axis=1)[:, None])
    settings = LearningSettings(grouping="random", units_per_edge=4)
    dealt, other = (learn([group], settings, np.random.default_rng(seed)) for seed in (1, 2))
    members = [edge.members for edge in dealt.hyperedges]
    assert sorted(member for edge in members for member in edge) == sorted(group.ids)
    assert sorted(map(len, members)) == [1, *[4] * 10]
    assert {*members} != {edge.members for edge in other.hyperedges}
    learnt = learn([group], LearningSettings(), np.random.default_rng(1))
    assert objective_of(dealt, group, settings) > objective_of(learnt, group, settings)


ROWS = np.array([[0.6, 0.4, 0.0], [0.45, 0.45, 0.1], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])


@pytest.mark.parametrize(
    ("threshold", "kept", "orphans"),
    [
        (0.5, [[0], [0], [0], [2]], 3),  # what equals the threshold does not pass it
        (0.49, [[0], [0], [0, 1], [2]], 1),
        (0.3, [[0, 1], [0, 1], [0, 1], [2]], 0),
        (0.0, [[0, 1], [0, 1, 2], [0, 1], [0, 1, 2]], 0),
    ],
)
def test_a_lower_threshold_puts_units_in_several_edges(threshold: float, kept: list[list[int]], orphans: int) -> None:
    mask, counted = keep_memberships(ROWS, threshold)
    assert [np.flatnonzero(row).tolist() for row in mask] == kept
    assert counted == orphans
