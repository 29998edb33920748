from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.hypergraph.base import LearningSettings, Units
from fedrag_flwr.hypergraph.descent import PLATEAU_SHARE, PLATEAU_STEPS, descend
from fedrag_flwr.hypergraph.learn import begin, learn
from tests.hypergraph.samples import cloud, generator, real_sentences


@settings(max_examples=20)
@given(st.integers(3, 80), st.integers(0, 10_000), st.floats(1e-3, 1e4))
def test_the_descent_lemma_holds_at_every_accepted_step(count: int, seed: int, learning_rate: float) -> None:
    setting = LearningSettings(learning_rate=learning_rate)
    groups = [cloud(count, seed=seed), cloud(1 + count // 3, seed=seed + 1, granularity="paragraph")]
    learnt = learn(groups, setting, generator(seed))
    loss, mapping, steps = (np.array(x) for x in (learnt.loss, learnt.gradient_mapping, learnt.step_sizes))
    assert len(loss) == len(mapping) + 1 == len(steps) + 1
    rounding = 4 * np.spacing(loss[0])  # each part's loss is rounded, then their sum
    assert (np.diff(loss) <= -steps / 2 * mapping**2 + rounding).all()  # eq. 20 with L = 1 / step


@settings(max_examples=20)
@given(st.integers(3, 80), st.integers(0, 10_000), st.floats(1e-3, 1e4))
def test_the_descent_lemma_holds_for_each_part_without_rounding(count: int, seed: int, learning_rate: float) -> None:
    setting = LearningSettings(learning_rate=learning_rate)
    (block,) = begin(cloud(count, seed=seed), setting, generator(seed)).blocks
    descent = descend([block.part], [block.rows], setting)
    loss, mapping, steps = (np.array(x) for x in (descent.loss, descent.gradient_mapping, descent.step_sizes))
    assert (np.diff(loss) <= -steps / 2 * mapping**2).all()


def test_parts_descend_as_if_alone_and_the_record_is_of_their_weighted_sum() -> None:
    setting = LearningSettings()
    blocks = [begin(cloud(count, seed=count), setting, generator()).blocks[0] for count in (300, 40)]
    parts = [replace(block.part, share=share) for block, share in zip(blocks, (0.75, 0.25), strict=True)]
    alone = [descend([block.part], [block.rows], setting) for block in blocks]
    both = descend(parts, [block.rows for block in blocks], setting)
    assert all((rows == own.rows[0]).all() for rows, own in zip(both.rows, alone, strict=True))
    lengths = sorted(len(own.step_sizes) for own in alone)
    assert lengths[0] < lengths[1] == len(both.step_sizes) == len(both.loss) - 1
    assert both.loss[0] == pytest.approx(0.75 * alone[0].loss[0] + 0.25 * alone[1].loss[0])
    assert both.loss[-1] == pytest.approx(0.75 * alone[0].loss[-1] + 0.25 * alone[1].loss[-1])
    weighed = [share * own.gradient_mapping[0] for share, own in zip((0.75, 0.25), alone, strict=True)]
    assert both.gradient_mapping[0] == pytest.approx(np.linalg.norm(weighed))
    assert (np.diff(both.loss) <= -np.array(both.step_sizes) / 2 * np.square(both.gradient_mapping) + 1e-15).all()


def test_one_part_that_is_not_the_whole_is_weighed_too() -> None:
    (block,) = begin(cloud(60), LearningSettings(), generator()).blocks
    whole = descend([block.part], [block.rows], LearningSettings())
    third = descend([replace(block.part, share=1 / 3)], [block.rows], LearningSettings())
    assert (third.rows[0] == whole.rows[0]).all()
    assert third.loss == pytest.approx([value / 3 for value in whole.loss])
    assert third.gradient_mapping == pytest.approx([norm / 3 for norm in whole.gradient_mapping])
    assert third.step_sizes == pytest.approx([3 * step for step in whole.step_sizes])


@pytest.mark.parametrize("group", [*(cloud(120, seed=seed) for seed in range(5)), None], ids=[*"abcde", "real"])
def test_the_gradient_mapping_shrinks_as_proposition_1_says(group: Units | None) -> None:
    learnt = learn([group or real_sentences(260)], LearningSettings(), generator())
    squares, steps = np.square(learnt.gradient_mapping), np.array(learnt.step_sizes)
    for done in range(1, len(steps) + 1):
        smoothness = 1.0 / steps[:done].min()
        drop = learnt.loss[0] - learnt.loss[done]  # at most Delta, for the optimum lies lower still
        assert squares[:done].min() <= 2 * smoothness * drop / done * (1 + 1e-9)  # eq. 26
        assert squares[:done].min() <= 2 * drop / steps[:done].sum() * (1 + 1e-9)  # the same with the steps as taken


@settings(max_examples=15)
@given(st.integers(2, 60), st.integers(0, 10_000), st.integers(0, 12))
def test_rows_stay_on_the_simplex(count: int, seed: int, steps: int) -> None:
    setting = LearningSettings(steps=steps)
    (block,) = begin(cloud(count, seed=seed), setting, generator(seed)).blocks
    assert (block.rows > 0).all()
    for rows in (block.rows, *descend([block.part], [block.rows], setting).rows):
        assert (rows >= 0).all()
        assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-9)


def test_no_steps_leave_the_start() -> None:
    setting = LearningSettings(steps=0)
    (block,) = begin(cloud(30), setting, generator()).blocks
    descent = descend([block.part], [block.rows], setting)
    assert descent.rows[0] is block.rows
    assert len(descent.loss) == 1
    assert descent.step_sizes == ()


def test_a_descent_ends_where_steps_bring_little() -> None:
    learnt = learn([cloud(400)], LearningSettings(), generator())
    loss, taken = learnt.loss, len(learnt.step_sizes)
    assert taken < LearningSettings().steps
    brought = [(loss[t - PLATEAU_STEPS] - loss[t]) / (loss[0] - loss[t]) for t in range(PLATEAU_STEPS, taken)]
    assert min(brought) >= PLATEAU_SHARE  # it did not go on after a plateau


def test_more_steps_never_raise_the_loss() -> None:
    finals = [learn([cloud(100)], LearningSettings(steps=steps), generator()).loss[-1] for steps in (0, 1, 5, 20, 300)]
    assert finals == sorted(finals, reverse=True)
