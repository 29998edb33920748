from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.hypergraph import LearningSettings, Units, learn
from fedrag_flwr.hypergraph.descent import PLATEAU_SHARE, PLATEAU_STEPS, descend
from fedrag_flwr.hypergraph.learning import begin
from tests.hypergraph.samples import cloud, generator, real_sentences


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 80), st.integers(0, 10_000), st.floats(1e-3, 1e4))
def test_the_descent_lemma_holds_at_every_accepted_step(count: int, seed: int, learning_rate: float) -> None:
    setting = LearningSettings(learning_rate=learning_rate)
    groups = [cloud(count, seed=seed), cloud(1 + count // 3, seed=seed + 1, granularity="paragraph")]
    learnt = learn(groups, setting, generator(seed))
    loss, mapping, steps = (np.array(x) for x in (learnt.loss, learnt.gradient_mapping, learnt.step_sizes))
    assert len(loss) == len(mapping) + 1 == len(steps) + 1
    assert (np.diff(loss) <= -steps / 2 * mapping**2).all()  # eq. 20 with L = 1 / step


@pytest.mark.parametrize("group", [*(cloud(120, seed=seed) for seed in range(5)), None], ids=[*"abcde", "real"])
def test_the_gradient_mapping_shrinks_as_proposition_1_says(group: Units | None) -> None:
    learnt = learn([group or real_sentences(400)], LearningSettings(), generator())
    squares, steps = np.square(learnt.gradient_mapping), np.array(learnt.step_sizes)
    for done in range(1, len(steps) + 1):
        smoothness = 1.0 / steps[:done].min()
        drop = learnt.loss[0] - learnt.loss[done]  # at most Delta, for the optimum lies lower still
        assert squares[:done].min() <= 2 * smoothness * drop / done * (1 + 1e-9)  # eq. 26
        assert squares[:done].min() <= 2 * drop / steps[:done].sum() * (1 + 1e-9)  # the same with the steps as taken


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 60), st.integers(0, 10_000), st.integers(0, 12))
def test_rows_stay_on_the_simplex(count: int, seed: int, steps: int) -> None:
    setting = LearningSettings(steps=steps)
    start = begin(cloud(count, seed=seed), setting, generator(seed))
    assert (start.rows > 0).all()
    for rows in (start.rows, *descend((start.part,), (start.rows,), setting).rows):
        assert (rows >= 0).all()
        assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-9)


def test_no_steps_leave_the_start() -> None:
    setting = LearningSettings(steps=0)
    start = begin(cloud(30), setting, generator())
    descent = descend((start.part,), (start.rows,), setting)
    assert descent.rows[0] is start.rows
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
